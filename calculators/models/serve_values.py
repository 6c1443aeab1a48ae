"""Values on a command line: read as vLLM's parser reads them, and written so that a shell and the parser take them."""
import json
import re
from collections.abc import Mapping
from typing import Any

from calculators.models.base import Refusal
from calculators.models.serve_flags import (
    CONFIG,
    FLOAT,
    INT,
    JSON,
    JSON_OR_TEXT,
    LENGTH,
    LORA,
    NAME,
    SIZE,
    Flag,
    nearest_of,
)

# What a key of a JSON value takes, by its type, as loosely as the engine's classes do.
KEY_IS = {"int": "a whole number", "float": "a number", "switch": "true or false", "text": "a text in quotes",
          "list": "a list", "object": "an object"}
TRUTHS = ("true", "false", "on", "off", "yes", "no", "t", "f", "y", "n", "1", "0", "1.0", "0.0")
KEY_TAKES = {
    "int": lambda held: numeric(held) and float(held) == int(float(held)),
    "float": lambda held: numeric(held),
    "switch": lambda held: str(held).lower() in TRUTHS,
    "text": lambda held: isinstance(held, str),
    "list": lambda held: isinstance(held, list),
    "object": lambda held: isinstance(held, dict),
}
DECIMAL = {"k": 10**3, "m": 10**6, "g": 10**9, "t": 10**12}
BINARY = {"K": 2**10, "M": 2**20, "G": 2**30, "T": 2**40}
AUTO = -1  # of a length: as long as fits
MOST_DIGITS = 30
DEEPEST = 20
PLAIN = re.compile(r"[A-Za-z0-9_@%+=:,./-]+")
SUFFIXED = re.compile(r"([0-9]+(?:\.[0-9]+)?)([kKmMgGtT])")


def value_of(flag: Flag, text: str) -> Any:
    """What the parser makes of a flag's text; raises Refusal with what it takes instead."""
    if flag.optional and text in ("", "None"):
        return None
    if "$" in text and flag.kind in (INT, FLOAT, SIZE, LENGTH):
        raise Refusal(f"{flag.name}: the shell fills in {said(text)}; put its value there.")
    value = made(flag, text)
    if flag.choices and value not in flag.choices:
        near = nearest_of(str(value), map(str, flag.choices))
        takes = f"did you mean {near}?" if near else f"it takes {listed(flag.choices)}."
        raise Refusal(f"{flag.name} does not take {said(text)}; {takes}")
    return value


def made(flag: Flag, text: str) -> Any:
    """The text as a value of the flag's kind."""
    kind = flag.kind
    if kind == INT:
        return whole(flag.name, text)
    if kind == FLOAT:
        return number(flag.name, text)
    if kind == SIZE:
        return size(flag.name, text)
    if kind == LENGTH:
        return AUTO if text.strip().lower() in ("-1", "auto") else size(flag.name, text)
    if kind == NAME:
        return text.lower().replace("-", "_")
    if kind == CONFIG:
        value = document(flag.name, SUFFIXED.sub(expanded, text) if '"' not in text else expanded_outside(text))
        if not isinstance(value, dict):
            raise Refusal(f"{flag.name} takes a JSON object, as in {flag.name} '{{…}}', or its keys after a dot.")
        check_keys(flag.name, flag.keys or {}, value)
        return value
    if kind == LORA and ("=" not in text or "," in text) and not isinstance(document(flag.name, text), dict):
        raise Refusal(f"{flag.name} takes name=path, or a JSON object.")
    if kind == JSON or (kind == JSON_OR_TEXT and re.fullmatch(r"(?s)\s*\{.*\}\s*", text)):
        return document(flag.name, text)
    return "" if flag.name == "--reasoning-parser" and text.lower() == "none" else text


def numeric(held: Any) -> bool:
    """Whether JSON's value is a finite number, or a text of one."""
    try:
        return isinstance(held, int | float | str) and abs(float(held)) < 1e300
    except (ValueError, OverflowError):
        return False


def whole(name: str, text: str) -> int:
    bare = text.strip()
    if not re.fullmatch(rf"[+-]?[0-9_]{{1,{MOST_DIGITS}}}", bare) or not bare.strip("+-_"):
        raise Refusal(f"{name} takes a whole number, not {said(text)}.")
    return int(bare.replace("_", ""))


def number(name: str, text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = float("nan")
    if not abs(value) < 1e300:
        raise Refusal(f"{name} takes a number, not {said(text)}.")
    return value


def size(name: str, text: str) -> int:
    """8,192 of "8K", 8,000 of "8k", and plain numbers as they are."""
    found = SUFFIXED.fullmatch(text.strip())
    if found is None or len(found[1]) > MOST_DIGITS:
        try:
            return whole(name, text)
        except Refusal:
            raise Refusal(f"{name} takes a whole number, 8K (8,192) or 8k (8,000), not {said(text)}.") from None
    figure, suffix = found.groups()
    if suffix in DECIMAL:
        return int(float(figure) * DECIMAL[suffix])
    if "." in figure:
        raise Refusal(f"{name}: {said(text)} has decimals before a binary {suffix}; {figure}{suffix.lower()} is taken.")
    return int(figure) * BINARY[suffix]


def in_thousands(flag: Flag, text: str) -> bool:
    """Whether a flag's size is typed with a small letter, which counts in thousands."""
    found = SUFFIXED.fullmatch(text)
    return flag.kind in (SIZE, LENGTH) and found is not None and found[2] in DECIMAL


def document(name: str, text: str) -> Any:
    """The JSON of a text; raises Refusal for one that is none, or is nested beyond use."""
    try:
        value = json.loads(text, parse_constant=lambda word: word)
        if depth(value) > DEEPEST:
            raise RecursionError
        return value
    except RecursionError:
        raise Refusal(f"{name}: {said(text)} is nested more than {DEEPEST} deep.") from None
    except ValueError:
        hint = " JSON wants double quotes inside, and single ones around it for the shell." if "'" in text else ""
        raise Refusal(f"{name}: {said(text)} is no JSON.{hint}") from None


def depth(value: Any) -> int:
    """How deep lists and objects lie in each other."""
    layer, deep = [value], 0
    while layer := [inner for held in layer if isinstance(held, dict | list)
                    for inner in (held.values() if isinstance(held, dict) else held)]:
        deep += 1
    return deep


def expanded(found: re.Match[str]) -> str:
    try:
        return str(size("", found[0]))
    except Refusal:
        return found[0]


def expanded_outside(text: str) -> str:
    """A JSON text whose bare 80m and 8K are written out; strings stay as they are."""
    parts = re.split(r'("(?:[^"\\]|\\.)*")', text)
    return "".join(part if at % 2 else re.sub(rf"\b{SUFFIXED.pattern}\b", expanded, part)
                   for at, part in enumerate(parts))


def check_keys(name: str, keys: Mapping[str, Any], value: Mapping[str, Any]) -> None:
    """Raise Refusal for a key or a choice that the engine's config class does not know."""
    for key, held in value.items():
        if key not in keys:
            near = nearest_of(key, keys)
            raise Refusal(f"{name} has no key {said(key)}" + (f"; did you mean {near}?" if near else "."))
        check_key(f"{name}.{key}", keys[key], held)


def check_key(name: str, known: Any, held: Any) -> None:
    """Raise Refusal for a value that a key does not take; null is left to the engine."""
    if isinstance(known, dict) and isinstance(held, dict):
        check_keys(name, known, held)
    elif isinstance(known, dict) and held is not None:
        raise Refusal(f"{name} takes an object, not {said(json.dumps(held))}.")
    elif isinstance(known, list) and held is not None and held not in known:
        raise Refusal(f"{name} does not take {said(json.dumps(held))}; it takes {listed(known)}.")
    elif isinstance(known, str) and held is not None and not KEY_TAKES[known](held):
        raise Refusal(f"{name} takes {KEY_IS[known]}, not {said(json.dumps(held))}.")


def listed(choices: Any) -> str:
    """"fcfs or priority"; of many the first dozen."""
    words = [str(choice) for choice in choices if choice is not None]
    if len(words) > 12:
        return f"one of {len(words)}: {', '.join(words[:12])}, …"
    return " or ".join(filter(None, (", ".join(words[:-1]), words[-1])))


def said(text: str) -> str:
    """A text as a sentence quotes it, shortened."""
    return f"“{text if len(text) <= 60 else text[:59] + '…'}”"


def written(value: Any) -> str:
    """A value as one word of a shell command; JSON in single quotes, with none inside."""
    if isinstance(value, dict | list):
        return "'" + json.dumps(value, separators=(",", ":"), ensure_ascii=False).replace("'", "\\u0027") + "'"
    text = str(value)
    if PLAIN.fullmatch(text):
        return text
    return "'" + text.replace("'", "'\"'\"'") + "'"
