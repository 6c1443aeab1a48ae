"""A typed number with its unit: "1k", "31.5 GiB", "~500ms" read against the unit that is asked for."""
import math
import re
from dataclasses import dataclass

from calculators.models.base import Refusal

LONGEST = 60  # characters; a number with its unit is shorter
LARGEST = 1e30


@dataclass(frozen=True, slots=True)
class Unit:
    """A unit by name; units of one kind convert into each other: 1 unit = `factor` of the kind's base unit."""

    name: str
    kind: str
    factor: float = 1.0


@dataclass(frozen=True, slots=True)
class Quantity:
    """What was read: the value in the expected unit, and the sentence that says so ("read as 250 ms = 0.25 s")."""

    value: float
    unit: str
    reading: str


def named(kind: str, units: dict[str, tuple[str, float]]) -> dict[str, Unit]:
    """Units by each of their spellings, from {name: (other spellings, factor)}."""
    return {
        spelling: Unit(name, kind, factor)
        for name, (others, factor) in units.items()
        for spelling in (name.lower(), *others.split())
    }


TIMES = {
    "ns": ("", 1e-9),
    "µs": ("us mus usec microseconds", 1e-6),
    "ms": ("msec msecs millisecond milliseconds", 1e-3),
    "s": ("sec secs second seconds", 1.0),
    "min": ("mins minute minutes", 60.0),
    "h": ("hr hrs hour hours", 3600.0),
}
SIZES = {
    "bytes": ("b byte", 1.0),
    **{f"{prefix}B": ("", 1000.0**power) for power, prefix in enumerate("KMGTP", 1)},
    **{f"{prefix}iB": ("", 1024.0**power) for power, prefix in enumerate("KMGTP", 1)},
    **{f"{prefix}bit": (f"{prefix}bits".lower(), 1000.0**power / 8) for power, prefix in enumerate("KMGTP", 1)},
}
WORK = {
    "FLOP": ("flops", 1.0),
    **{f"{prefix}FLOP": (f"{prefix}flops".lower(), 1000.0**power) for power, prefix in enumerate("KMGTP", 1)},
}
COUNTS = {
    "tokens": "token tok toks",
    "sequences": "sequence seq seqs",
    "requests": "request req reqs",
    "blocks": "block",
    "steps": "step",
    "prompts": "prompt",
    "users": "user",
    "layers": "layer",
    "GPUs": "gpu",
    "replicas": "replica",
    "ranks": "rank",
    "experts": "expert",
}
RATIOS = {"×": ("x times fold", 1.0), "%": ("percent pct", 0.01), "": ("", 1.0)}
SHORTHANDS = {"rps": "requests/s", "qps": "requests/s", "tps": "tokens/s", "mbps": "mbit/s", "gbps": "gbit/s"}
UNITS = {
    **named("a time", TIMES),
    **named("a size", SIZES),
    **named("a number of operations", WORK),
    **named("a ratio", RATIOS),
}
for noun, others in COUNTS.items():
    UNITS |= named(f"a number of {noun}", {noun: (others, 1.0)})
MULTIPLIERS = {"k": 1e3, "K": 1e3, "M": 1e6, "G": 1e9, "T": 1e12}
MULTIPLIERS |= {"thousand": 1e3, "million": 1e6, "bn": 1e9, "billion": 1e9}
FORMS = {"a time": "7.5 s, 500 ms", "a size": "31.5 GiB, 32 GB"}
SMALLER = {1: "1,200 bytes, 1.2 kB", 1_000: "96 kB, 0.1 MB", 1_024: "96 KiB, 0.1 MiB", 1_000_000: "480 MB, 0.5 GB",
           1_048_576: "480 MiB, 0.5 GiB"}  # of sizes, by what the unit asked for has of bytes
SAMPLES = {"a time": 250.0, "a size": 31.5, "a ratio": 4.0}

TYPED_ALIKE = str.maketrans(
    {"\u00a0": " ", "\u2009": " ", "\u202f": " ", "\t": " ", "−": "-", "–": "-", "µ": "u", "μ": "u"}
    | {"×": "x", "·": "*", "’": "'", "≈": "~"}
)
SUPERSCRIPTS = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹⁻⁺", "0123456789-+")
ABOUT = re.compile(r"^(?:(?:~|=|\babout\b|\baround\b|\broughly\b|\bapprox\b\.?|\bca?\b\.?)\s*)+", re.IGNORECASE)
NUMBER = re.compile(
    r"(?P<sign>[+-]?)\s*(?P<digits>\.?[0-9](?:[0-9.,_']|[ ](?=[0-9]))*)"
    r"(?:(?P<e>e[+-]?[0-9]{1,4})|\s*(?:[x*]\s*(?P<base>[0-9]{1,4})\s*)?(?:\^|\*\*)\s*(?P<power>[+-]?[0-9]{1,4}))?"
    r"(?:\s*/\s*(?P<under>[0-9]+(?:\.[0-9]+)?))?\s*",
    re.IGNORECASE,
)
GROUPED = re.compile(r"[1-9][0-9]{0,2}(?P<gap>[, _'])[0-9]{3}(?:(?P=gap)[0-9]{3})*(?:\.[0-9]*)?")


def read(text: str, unit: str) -> Quantity:
    """The one number in `text`, in `unit`; a number without a unit is in `unit` already.

    Raises Refusal with a sentence that says what can be read, when it is no number, several, or of another kind.
    """
    expected = unit_of(unit) or Unit(unit, f"a number of {unit}")
    text = (text or "").strip()
    if not text:
        raise Refusal(f"Type a number, such as {sample(expected)}.")
    if len(text) > LONGEST:
        raise Refusal(f"That is too long to be one number; it takes one with its unit, such as {sample(expected)}.")
    number, multiplier, written = split(text, expected)
    typed = typed_unit(written, expected)
    value = number * multiplier * (1.0 if typed.factor == expected.factor else typed.factor / expected.factor)
    if not math.isfinite(value) or abs(value) > LARGEST:
        raise Refusal(f"That is too large to be meant; this asks for {expected.kind}, such as {sample(expected)}.")
    value = float(f"{value:.12g}") + 0.0  # no trace of the conversion, and no minus zero
    reading = f"read as {say(number * multiplier, typed.name, 12)}"
    if typed.factor != expected.factor:
        reading += f" = {say(value, expected.name, 4)}"
    return Quantity(value, expected.name, reading)


def say(value: float, unit: str, digits: int = 3) -> str:
    """A value with its unit, to `digits` significant figures, though no digit before the point is dropped."""
    if value == 0 or not math.isfinite(value):
        text = f"{value:g}"
    elif not 1e-4 <= abs(value) < 1e15:
        text = f"{value:.{digits - 1}e}"
    else:
        decimals = max(digits - 1 - math.floor(math.log10(abs(value))), 0)
        text = f"{value:,.{decimals}f}"
        text = text.rstrip("0").rstrip(".") if decimals else text
    text = f"−{text[1:]}" if text.startswith("-") else text
    return f"{text}{unit}" if unit in ("", "%", "×") else f"{text} {unit}"


def span(seconds: float) -> str:
    """A time to three figures, in ms below a second: "83 ms", "3.07 s"."""
    return say(seconds * 1e3, "ms") if seconds < 0.9995 else say(seconds, "s")


def unit_of(text: str) -> Unit | None:
    """The unit that is written so, rates ("tokens/s", "GB per s") included; None for an unknown one."""
    spelled = " ".join(text.translate(TYPED_ALIKE).lower().rstrip(".").split())
    spelled = SHORTHANDS.get(spelled, spelled)
    over, slash, under = re.sub(r"\s+per\s+|\s*/\s*", "/", spelled).partition("/")
    if not slash:
        return UNITS.get(over)
    upper, lower = UNITS.get(over), UNITS.get(under)
    if not (upper and lower and over and under):
        return None
    one = lower.name.removesuffix("s") if lower.name in COUNTS else lower.name
    kind = f"a rate ({bare(upper.kind)} per {bare(lower.kind)})"
    return Unit(f"{upper.name}/{one}", kind, upper.factor / lower.factor)


def bare(kind: str) -> str:
    """The kind as a noun alone: "tokens" for "a number of tokens", "time" for "a time"."""
    return kind.removeprefix("a number of ").removeprefix("a ")


def converted(value: float, unit: str, other: str) -> float | None:
    """A value in another unit of the same kind; None when the two are of different kinds."""
    given, wanted = unit_of(unit), unit_of(other)
    if given is None or wanted is None:
        return value if unit == other else None
    return value * given.factor / wanted.factor if given.kind == wanted.kind else None


def sample(unit: Unit) -> str:
    """What could be typed for a unit, as an example in a sentence."""
    number = SAMPLES.get(unit.kind, 1000.0)
    return say(number if unit.kind != "a time" or unit.factor < 1 else number / 100, unit.name)


def forms_of(unit: str) -> str:
    """Two or three ways to write a value in this unit, of which each can be read: "7.5 s, 500 ms"."""
    expected = unit_of(unit) or Unit(unit, f"a number of {unit}")
    if expected.kind == "a size" and expected.factor in SMALLER:
        return SMALLER[expected.factor]
    if expected.kind in FORMS:
        return FORMS[expected.kind]
    if expected.kind == "a ratio":
        return f"3.9{expected.name}, 39/10"
    if "size per time" in expected.kind:
        return "25 GB/s, 900 MB/s"
    return f"1,200 {expected.name}, 1.2k, 1.2e3"


def split(text: str, expected: Unit) -> tuple[float, float, str]:
    """The number, its multiplier (k, M, …) and the unit as written, from one trimmed text."""
    plain = re.sub(r"(?<=[0-9])[⁰¹²³⁴⁵⁶⁷⁸⁹⁻⁺]+", lambda found: "^" + found[0].translate(SUPERSCRIPTS), text)
    plain = ABOUT.sub("", plain.translate(TYPED_ALIKE))
    found = NUMBER.match(plain)
    if not found:
        raise Refusal(f"“{text}” can't be read as a number; this asks for {expected.kind}, such as {sample(expected)}.")
    rest = plain[found.end():].strip()
    if re.search(r"[0-9]", rest):
        raise Refusal(f"“{text}” holds more than one number; it takes one, such as {sample(expected)}.")
    multiplier = re.match(r"(thousand|million|billion|bn|[kKMGT])(?![A-Za-z])\s*", rest)
    if not multiplier:
        return number_of(found, text), 1.0, rest
    unit = rest[multiplier.end():]
    if not unit and expected.kind == "a size":
        letter = multiplier[1].upper()
        raise Refusal(f"“{text}” could be {letter}B or {letter}iB, which differ; write which one.")
    return number_of(found, text), MULTIPLIERS[multiplier[1]], unit


def number_of(found: re.Match[str], text: str) -> float:
    """The value of a matched number, its exponent or power and its fraction included."""
    digits = found["digits"].strip()
    if GROUPED.fullmatch(digits):
        digits = re.sub(r"[, _']", "", digits)
    if not re.fullmatch(r"[0-9]+\.?[0-9]*|\.[0-9]+", digits):
        raise Refusal(why_not(digits, text))
    try:
        value = float(digits + (found["e"] or ""))
        if found["base"]:
            value *= float(found["base"]) ** int(found["power"])
        elif found["power"]:
            value **= int(found["power"])
        value = value / float(found["under"]) if found["under"] else value
    except (OverflowError, ZeroDivisionError):
        raise Refusal(f"“{text}” is not a finite number.") from None
    return -value if found["sign"] == "-" else value


def why_not(digits: str, text: str) -> str:
    """The sentence for digits that are grouped in a way that can't be read, or can be read in two."""
    if "." in digits and "," in digits:
        return f"“{text}” can be read in two ways; a comma groups thousands and a point starts decimals, as in 1,000.5."
    if re.fullmatch(r"[0-9]+,[0-9]*", digits):
        return f"In “{text}” the comma does not group thousands (1,000); a decimal takes a point, as in 1.5."
    if " " in digits:
        return f"“{text}” holds more than one number; it takes one."
    return f"“{text}” can't be read as a number; write it as 1000, 1,000 or 1.5."


def typed_unit(written: str, expected: Unit) -> Unit:
    """The unit that was typed, which must be of the expected kind; nothing typed is the expected unit."""
    if not written:
        return expected
    if unit_of(expected.name) is None and written.lower().rstrip("s") == expected.name.lower().rstrip("s"):
        return expected  # a noun that no table holds, in the singular or the plural
    if written == "B" and expected.kind.startswith("a number of "):
        return Unit("billion " + expected.name, expected.kind, 1e9)
    if written.startswith("/"):
        written = expected.name.partition("/")[0] + written  # "50/s" where requests/s is asked for
    unit = unit_of(written)
    asks = f"this asks for {expected.kind}, such as {sample(expected)}."
    if unit is None:
        raise Refusal(f"“{written}” is no unit known here; {asks}")
    if unit.kind != expected.kind:
        what = "That" if unit.name in COUNTS else unit.name
        raise Refusal(f"{what} is {unit.kind}; {asks}")
    return unit
