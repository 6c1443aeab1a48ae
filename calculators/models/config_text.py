"""Start-up configurations read from text: the engine's own log line, flags, pairs; flattened to a value by setting."""
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple
from zlib import crc32

from calculators.models import serve_command
from calculators.models.base import Refusal

LONGEST_LINE, LONGEST_COMMAND, MOST_LINES = 20_000, 4_000, 10_000
MOST_SETTINGS = 600  # of one configuration
MOST_NESTED = 8
LONGEST_VALUE = 60  # characters; a longer list is told by its length and a checksum
MOST_FAULTS = 12
JOINED = 400  # lines that one mapping may stand on
BACKSLASH = "\\"
PAIR = re.compile(r"\s*-?\s*([A-Za-z_][A-Za-z0-9_.-]{0,80})\s*[=:]\s*(\S.*)?")
THOUSANDS = re.compile(r"[1-9][0-9]{0,2}(,\s?[0-9]{3})+")
LISTED = re.compile(r"^\s*- (?=['\"]?--[A-Za-z])")  # a flag as an item of a YAML list
SEPARATOR = re.compile(r"\s*([-=*#_~])\1{2,}.{0,40}")
LOGGED = re.compile(r"\b(DEBUG|INFO|WARNING|ERROR|CRITICAL)\b")
ENGINE = re.compile(r"LLM engine \(v([0-9][^)]{0,60})\) with config: ?")
SERVER = re.compile(r"API server version v?([0-9][0-9A-Za-z.+]{0,60})")
RANK = re.compile(r"EngineCore_DP([0-9]+)")
COLOURS = re.compile(r"\x1b\[[0-9;]*m")
GIVEN = re.compile(r"\bargs: ?(?=\{|Namespace\()")  # what was asked for, as the server logs it
COMMAND = re.compile(
    r"\s*(\$ )?([A-Za-z_][A-Za-z0-9_]*=\S* +)*(\S*vllm serve\b|python\S* -m vllm\.entrypoints|docker run\b|--?[A-Za-z])"
)
GOES_ON = re.compile(r"[A-Za-z_]*=[^,\n]{0,200}, [A-Za-z_]+=")  # the middle of an engine line
NAMED = re.compile(r"[A-Za-z_][A-Za-z0-9_.]*\((.*)\)", re.DOTALL)
ENUM = re.compile(r"<[A-Za-z_]+\.([A-Za-z0-9_]+)(: .*)?>")
MEMBER = re.compile(r"[A-Z][A-Za-z]+\.([A-Z][A-Z0-9_]*)")
OPEN, CLOSE = "([{", ")]}"
# What other lines of a log say, by setting.
SAID = {
    "kv_tokens": re.compile(r"KV cache size: ([0-9][0-9,]{0,14}) tokens"),
    "available_kv_gib": re.compile(r"Available KV cache memory: (-?[0-9]+\.?[0-9]*) GiB"),
    "graphs_gib": re.compile(r"Graph capturing finished in .{1,20} took (-?[0-9]+\.?[0-9]*) GiB"),
    "max_num_batched_tokens": re.compile(r"Chunked prefill is enabled with max_num_batched_tokens=([0-9]{1,9})"),
    "attention_backend": re.compile(r"Using ([A-Za-z0-9_ ]{2,40}?) (?:attention )?backend (?:out of|on V1)"),
    "model_runner": re.compile(r"Using (V2) Model Runner|using the (V1) model runner"),
    "async_scheduling": re.compile(r"Async(?:hronous)? scheduling (?:is|will be) (enabled|disabled)"),
    "cudagraph_mode": re.compile(r"is not supported.{1,200}; setting cudagraph_mode=([A-Z_]{4,30})"),
}
AHEAD = ("max_num_batched_tokens", "async_scheduling")  # said before the engine's line
CONFIGS = ("compilation_config.", "kernel_config.", "scheduler_config.", "cache_config.", "parallel_config.",
           "attention_config.", "lora_config.", "model_config.")
NOW_CALLED = {
    "max_seq_len": "max_model_len", "chunked_prefill_enabled": "enable_chunked_prefill", "level": "mode",
    "max_capture_size": "max_cudagraph_capture_size", "max_capture": "max_cudagraph_capture_size",
    "capture_sizes": "cudagraph_capture_sizes", "cuda_graph_sizes": "cudagraph_capture_sizes",
    "attention": "attention_backend", "runner": "model_runner", "reserve_full_isl": "scheduler_reserve_full_isl",
    "decoding_config.backend": "structured_outputs_config.backend", "backend_for_attention": "attention_backend",
    "decoding_config.guided_decoding_backend": "structured_outputs_config.backend", "model_tag": "model",
    "VLLM_MEMORY_PROFILER_ESTIMATE_CUDAGRAPHS": "graph_memory_estimate",
}
SPELLED = {"true": "True", "false": "False", "null": "None", "on": "True", "off": "False"}
MODES = {"0": "NONE", "1": "STOCK_TORCH_COMPILE", "2": "DYNAMO_TRACE_ONCE", "3": "VLLM_COMPILE"}


class Setting(NamedTuple):
    """One setting by the engine's present name for it, its value as text."""

    name: str
    value: str


class Config(NamedTuple):
    """One configuration: a value by setting, and whether flags or the engine's own line gave it."""

    settings: dict[str, str]
    of_flags: bool
    of_engine: bool


class Read(NamedTuple):
    """The configurations of a text, and a sentence for each line that can't be read."""

    configs: tuple[Config, ...]
    faults: tuple[str, ...]


@dataclass(slots=True)
class Draft:
    """A configuration while it is read, and which kinds of line it was given by."""

    settings: dict[str, str] = field(default_factory=dict)
    kinds: set[str] = field(default_factory=set)
    rank: str = ""  # of the data-parallel engine whose line was read


class Reader:
    """Goes through the lines once; `at` is the next."""

    def __init__(self, text: str) -> None:
        lines = COLOURS.sub("", text).splitlines()
        self.lines = [LISTED.sub("", line) for line in lines[:MOST_LINES]]
        self.at = 0
        self.drafts = [Draft()]
        self.faults = [f"Only the first {MOST_LINES:,} lines were read."] if len(lines) > MOST_LINES else []
        self.parted = False
        self.ahead: dict[str, str] = {}  # what a log said ahead of the engine line it belongs to

    def run(self) -> Read:
        while self.at < len(self.lines) and not (len(self.drafts) > 2 and self.drafts[2].settings):
            line = self.lines[self.at]
            self.at += 1
            if len(line) > LONGEST_LINE:
                self.say(f"longer than {LONGEST_LINE:,} characters; only those were read.")
            self.line(line[:LONGEST_LINE])
        self.drafts[-1].settings |= self.ahead
        configs = tuple(Config(renamed(draft.settings), "command" in draft.kinds, "engine" in draft.kinds)
                        for draft in self.drafts if draft.settings)
        if len(configs) > 2:
            self.say("a third configuration begins; the first two are compared, and the rest is not read.")
        more = len(self.faults) - MOST_FAULTS
        tail = (f"And {more:,} lines more.",) if more > 0 else ()
        return Read(configs[:2], (*self.faults[:MOST_FAULTS], *tail))

    def line(self, line: str) -> None:
        """Take one line, and those that belong to it, for what it is."""
        if not line.strip():
            self.parted = True
        elif SEPARATOR.fullmatch(line):
            self.begin()
        elif found := ENGINE.search(line):
            self.engine(found[1], line[found.end():], line[: found.start()])
        elif found := SERVER.search(line):
            self.into("server", "engine").settings.setdefault("version", found[1])
        elif found := GIVEN.search(line):
            self.nested("given", line[found.end():])
        elif LOGGED.search(line):
            self.logged(line)
        elif COMMAND.match(line) or "vllm serve " in line:
            self.command(line)
        elif line.lstrip().startswith("{"):
            self.nested("json", line.strip())
        elif PAIR.fullmatch(line):
            self.pairs(line)
        elif not self.logged(line):
            self.say(f"“{line.strip()[:50]}” is no setting that can be read.")
        if line.strip():
            self.parted = False

    def say(self, what: str) -> None:
        self.faults.append(f"Line {self.at}: {what}")

    def begin(self) -> Draft:
        """A new configuration, unless the present one is still empty."""
        if self.drafts[-1].settings:
            self.drafts.append(Draft())
        return self.drafts[-1]

    def into(self, kind: str, *others: str) -> Draft:
        """The configuration that a line of this kind belongs to: the next one, if the present has one already."""
        draft = self.begin() if self.drafts[-1].kinds & {kind, *others} else self.drafts[-1]
        draft.kinds.add(kind)
        return draft

    def joined(self, text: str) -> str:
        """The text with the lines after it, while it has open brackets; a terminal breaks long lines, JSON is laid out.
        """
        most = self.at + JOINED
        while self.at < min(len(self.lines), most) and len(text) < LONGEST_LINE:
            following = self.lines[self.at]
            goes_on = unclosed(text) or text.rstrip().endswith(",") or GOES_ON.match(following)
            if not goes_on or not following.strip() or LOGGED.search(following):
                break
            text += self.lines[self.at]
            self.at += 1
        return text

    def engine(self, version: str, text: str, before: str) -> None:
        """The engine's own line; that of another data-parallel rank of the same start is passed over."""
        started, text = self.at, self.joined(text)
        rank = found[1] if (found := RANK.search(before)) else ""
        if "engine" in self.drafts[-1].kinds and rank != self.drafts[-1].rank:
            return
        draft = self.into("engine")
        draft.rank = rank
        draft.settings |= self.ahead
        self.ahead = {}
        entries, closed = parts(text)
        draft.settings["version"] = version
        if not closed:
            self.faults.append(f"Line {started}: it breaks off before its brackets close; what stands before is read.")
        for part in entries:
            name, equals, value = part.partition("=")
            if equals and re.fullmatch(r"\s*[A-Za-z_][A-Za-z0-9_]*\s*", name):
                flatten(name.strip(), value, draft.settings)
            else:
                self.faults.append(f"Line {started}: “{part.strip()[:40]}” is no setting.")

    def nested(self, kind: str, text: str) -> None:
        """A mapping in braces, as Python or JSON writes it."""
        draft = self.into(kind, "engine") if kind == "given" else self.into(kind)
        started, text = self.at, self.joined(text).strip().rstrip(",")
        if not parts(text)[1]:
            self.faults.append(f"Line {started}: its braces do not close; what stands before is read.")
        flatten("", text, draft.settings)

    def command(self, line: str) -> None:
        """A `vllm serve` command or a list of flags, to the end of its lines."""
        first, block = self.at, [line]
        while self.at < len(self.lines) and (
            block[-1].rstrip().endswith("\\") or re.match(r"\s*--?[A-Za-z]", self.lines[self.at])
        ):
            block.append(self.lines[self.at])
            self.at += 1
        if line.lstrip().startswith("-"):  # a bare list needs no backslashes to be one
            block = [f"{one.rstrip().removesuffix(BACKSLASH)} {BACKSLASH}" for one in block]
        text = "\n".join(block)
        if len(text) > LONGEST_COMMAND:
            self.faults.append(f"Line {first}: of this command only {LONGEST_COMMAND:,} characters are read.")
        read = serve_command.read("\n" * (first - 1) + text[:LONGEST_COMMAND])
        draft = self.into("command")
        self.faults += [sentence if sentence.startswith("Line ") else f"Line {first}: {sentence}"
                        for sentence in read.faults]
        self.faults += [f"Line {one.line}: {one.why}" for one in read.unknown]
        if read.model:
            draft.settings["model"] = read.model
        for name, value in read.values.items():
            flatten(name, repr(value), draft.settings)
        draft.settings |= {name: value for name, value in read.env.items() if name.startswith("VLLM_")}

    def pairs(self, line: str) -> None:
        """name=value, or several with commas between."""
        draft = self.into("pairs") if self.parted and "pairs" in self.drafts[-1].kinds else self.drafts[-1]
        draft.kinds.add("pairs")
        for part in re.split(r"[;,]\s*(?=[A-Za-z_][A-Za-z0-9_.]*\s*=)", line):
            found = PAIR.fullmatch(part)
            if found and found[2]:
                flatten(found[1].replace("-", "_"), found[2].strip().rstrip(",;"), draft.settings)
            elif not part.rstrip().endswith(":"):  # such is a heading
                self.say(f"“{part.strip()[:40]}” has no value.")

    def logged(self, line: str) -> bool:
        """What else a log says; False when none of it."""
        for name, form in SAID.items():
            if found := form.search(line):
                value = next(filter(None, found.groups()))
                value = {"enabled": "True", "disabled": "False"}.get(value, plain(value))
                settings = self.drafts[-1].settings
                if name == "cudagraph_mode":  # it falls back from what the engine's line says
                    settings.pop("compilation_config.cudagraph_mode", None)
                ahead = name in AHEAD and "engine" in self.drafts[-1].kinds
                (self.ahead if ahead else settings).setdefault(name, value)
                return True
        return bool(LOGGED.search(line))


def read(text: str) -> Read:
    """The first two configurations of a text: engine lines with what else a log says, commands, flags, pairs, JSON.

    One follows the other; a line of dashes parts any two. Lines of a log without settings are passed over.
    """
    return Reader(text).run()


def unclosed(text: str) -> bool:
    """Whether more brackets open than close, those in quotes counted too."""
    return sum(map(text.count, OPEN)) > sum(map(text.count, CLOSE))


def parts(text: str) -> tuple[list[str], bool]:
    """The text split at commas that stand in no bracket and no quotes, and whether all of those close."""
    found, start, depth, quote, at = [], 0, [], "", 0
    while at < len(text):
        letter = text[at]
        if quote:
            at += letter == "\\"
            quote = "" if letter == quote else quote
        elif letter in "'\"" and (at == 0 or not text[at - 1].isalnum()):
            quote = letter
        elif letter in OPEN or (letter == "<" and text[at + 1: at + 2].isalpha()):
            depth.append(letter)
        elif depth and (letter in CLOSE or (letter == ">" and depth[-1] == "<")):
            depth.pop()
        elif letter == "," and not depth:
            found.append(text[start:at])
            start = at + 1
        at += 1
    if text[start:].strip():
        found.append(text[start:])
    return found, not depth and not quote


def flatten(name: str, text: str, into: dict[str, str], depth: int = 0) -> None:
    """Add a value, or each of a mapping's or a config object's under its dotted name."""
    text = text.strip()
    named = NAMED.fullmatch(text)
    if depth < MOST_NESTED and len(into) < MOST_SETTINGS and (named or (text[:1] == "{" and len(text) > 2)):
        whole = named or text[-1:] == "}"
        entries = parts(named[1] if named else text[1:-1] if whole else text[1:])[0]
        entries = entries if whole else entries[:-1]  # the last one is broken off
        pairs_ = [split_pair(entry, "=" if named else ":") for entry in entries]
        if pairs_ and all(pairs_):
            for key, value in pairs_:
                flatten(f"{name}.{key}" if name else key, value, into, depth + 1)
            return
    if name and len(into) < MOST_SETTINGS:
        into[name] = plain(text)


def split_pair(entry: str, sign: str) -> tuple[str, str] | None:
    """The key, without quotes, and the text of its value; None where there is none."""
    key, found, value = entry.strip().partition(sign)
    key = key.strip().strip("'\"")
    if not found or not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_.+-]{0,80}", key):
        return None
    return key, value


def plain(text: str) -> str:
    """A value as it is compared: without quotes and the names of enums, lists of numbers as ranges."""
    text = text.strip()
    if found := ENUM.fullmatch(text):
        return found[1]
    if text[:1] in "'\"" and text[-1:] == text[:1] and len(text) > 1:
        text = text[1:-1]
    if text[:1] == "[" and text[-1:] == "]":
        return listed([plain(part) for part in parts(text[1:-1])[0]])
    text = SPELLED.get(text, text.removeprefix("torch."))
    if found := MEMBER.fullmatch(text):
        return found[1].lower()
    if THOUSANDS.fullmatch(text):
        return re.sub(r",\s*", "", text)
    text = ", ".join(" ".join(part.split()) for part in text.replace(";", ",").split(","))
    return text if len(text) <= 2 * LONGEST_VALUE else f"{text[:LONGEST_VALUE]}… ({crc32(text.encode()):08x})"


def listed(items: list[str]) -> str:
    """A list as one word: numbers as ranges, a long one by its length and checksum; "[]" for an empty one."""
    if items and all(re.fullmatch(r"[0-9]{1,9}", item) for item in items):
        return "[" + " ".join(ranges(sorted({int(item) for item in items}))) + "]"
    text = "[" + " ".join(items) + "]"
    return text if len(text) <= LONGEST_VALUE else f"[{len(items)} names {crc32(text.encode()):08x}]"


def ranges(numbers: list[int]) -> Iterator[str]:
    """Rising numbers, those at equal steps as first-last/step: "1", "2", "4", "8-256/8"."""
    while numbers:
        step, count = (numbers[1] - numbers[0] if len(numbers) > 1 else 0), 1
        while count < len(numbers) and numbers[count] - numbers[count - 1] == step:
            count += 1
        if count >= 4:
            yield f"{numbers[0]}-{numbers[count - 1]}/{step}"
            numbers = numbers[count:]
        else:
            yield f"{numbers.pop(0)}"


def renamed(settings: dict[str, str]) -> dict[str, str]:
    """The same under the engine's present names, older switches told by what took their place."""
    found: dict[str, str] = {}
    for name, value in settings.items():
        for prefix in CONFIGS:
            name = name.removeprefix(prefix)
        name = NOW_CALLED.get(name, name)
        if name == "mode":
            value = MODES.get(value, value)
        if found.get(name) in (None, "None", ""):
            found[name] = value
    full, used = found.pop("full_cuda_graph", None), found.pop("use_cudagraph", None)
    if found.get("cudagraph_mode") in (None, "None", "") and (full or used):
        found["cudagraph_mode"] = "FULL" if full == "True" else "PIECEWISE" if used == "True" else "NONE"
    if found.get("graph_memory_estimate") in ("0", "1"):
        found["graph_memory_estimate"] = "True" if found["graph_memory_estimate"] == "1" else "False"
    return {name: value or "''" for name, value in found.items()}


def parse_settings(text: str) -> tuple[Setting, ...]:
    """Settings as a form holds them, "name=value; name=value" or one a line.

    Raises Refusal with a sentence for what is not one.
    """
    found: dict[str, str] = {}
    for part in filter(None, (part.strip() for part in re.split(r"[;\n]", text))):
        pair = split_pair(part.removeprefix("--"), "=")
        if pair is None or not pair[1].strip():
            raise Refusal(f"“{part[:40]}” is no setting; write name=value, with ; between.")
        flatten(pair[0].replace("-", "_"), pair[1], found)
    if not found:
        raise Refusal("No setting is in it; write name=value, with ; between.")
    return tuple(Setting(name, value) for name, value in renamed(found).items())


def format_settings(settings: tuple[Setting, ...]) -> str:
    """The text that parse_settings reads."""
    return "; ".join(f"{name}={value}" for name, value in settings)


def version_of(settings: dict[str, Any]) -> tuple[int, int] | None:
    """(0, 33) of "0.33.0" or "v0.33.1.dev4"; None without one."""
    found = re.match(r"v?([0-9]{1,3})\.([0-9]{1,3})", settings.get("version", ""))
    return (int(found[1]), int(found[2])) if found else None
