"""Every flag of `vllm serve` in 0.33.0: its names, what its value is, its default. The table is serve_flags.json."""
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from difflib import SequenceMatcher, get_close_matches
from functools import lru_cache
from pathlib import Path
from typing import Any

CANDIDATES = 8  # by letters, from which whole words choose
ALIKE, WORDS_COUNT = 0.75, 0.4  # from which likeness on a spelling is named, and what words in common add to it
# What a flag takes: nothing (FLAG), nothing and has an opposite (SWITCH), or a value of some kind.
FLAG, SWITCH = "flag", "switch"
INT, FLOAT, SIZE, LENGTH = "int", "float", "size", "length"  # SIZE takes 8K, LENGTH that and auto
TEXT, NAME = "text", "name"  # a NAME may be written in capitals and with dashes
JSON, CONFIG, JSON_OR_TEXT = "json", "config", "json_or_text"  # a CONFIG has known keys
LORA = "lora"  # name=path, or JSON
SEVERAL, MAYBE, REPEATED = "+", "?", "append"

GONE: dict[str, str] = {
    "--swap-space": "There is no swapping to CPU memory any more; for a CPU tier take --kv-offloading-size.",
    "--preemption-mode": "There is no swapping any more; what is preempted is recomputed.",
    "--num-scheduler-steps": "Asynchronous scheduling, which is on by itself, took its place.",
    "--guided-decoding-backend": "Write --structured-outputs-config.backend.",
    "--enable-reasoning": "--reasoning-parser alone does it.",
    "--task": "Write --runner, or --convert.",
    "--cuda-graph-sizes": "Write --cudagraph-capture-sizes.",
    "--full-cuda-graph": "Write --compilation-config.cudagraph_mode.",
    "--max-seq-len-to-capture": "Write --max-cudagraph-capture-size.",
    "--device": "The platform is found; there is nothing to choose.",
    "--use-v2-block-manager": "There is one block manager.",
    "--speculative-model": "Write --speculative-config.",
    "--worker-use-ray": "Write --distributed-executor-backend ray.",
    "--rope-scaling": "Write --hf-overrides.",
    "--max-long-partial-prefills": "--long-prefill-token-threshold is what is left of it.",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Flag:
    """One flag. `names` begins with the long one to write; `off` are the ways to switch it off.

    `many` is SEVERAL for one or more values, MAYBE for one or none, REPEATED where the flag itself comes again.
    `optional` values may be written None. `keys` are those of a JSON value: for each its choices, its own keys, the
    name of its type, or None where anything goes. A default of None is filled in later. `section` is vLLM's config
    class.
    """

    names: tuple[str, ...]
    kind: str
    default: Any
    section: str
    off: tuple[str, ...] = ()
    many: str = ""
    optional: bool = False
    choices: tuple[Any, ...] = ()
    keys: Mapping[str, Any] | None = None

    @property
    def name(self) -> str:
        return self.names[0]

    @property
    def dest(self) -> str:
        """The engine's own name for it: "tensor_parallel_size"."""
        return self.name.removeprefix("--").replace("-", "_")

    @property
    def takes_value(self) -> bool:
        return self.kind not in (FLAG, SWITCH)

    @property
    def negative(self) -> str:
        """How it is switched off, "" where it can't be."""
        return next((name for name in self.off if not name.startswith("--no-") or len(self.off) == 1), "")


TABLE = json.loads(Path(__file__).with_suffix(".json").read_text())
VERSION: str = TABLE["version"]
# Values that the engine looks up after parsing, by the name of the flag or key.
VALUES: dict[str, tuple[str, ...]] = {name: tuple(values) for name, values in TABLE["values"].items()}
FLAGS: tuple[Flag, ...] = tuple(
    Flag(**row | {name: tuple(row[name]) for name in ("names", "off", "choices") if name in row})
    for row in TABLE["flags"]
)
BY_NAME: dict[str, Flag] = {name: flag for flag in FLAGS for name in (*flag.names, *flag.off)}
BY_DEST: dict[str, Flag] = {flag.dest: flag for flag in FLAGS}
LONG_NAMES = [name for name in BY_NAME if name.startswith("--")]


def flag_called(name: str) -> Flag | None:
    """The flag of exactly that name, short or long, on or off; underscores count as dashes in a long one."""
    return BY_NAME.get(dashed(name))


def flags_begun(name: str) -> tuple[str, ...]:
    """The names that begin so, one for each flag; the parser takes an abbreviation of which there is only one."""
    begun = {BY_NAME[other].dest: other for other in BY_NAME if other.startswith(dashed(name))}
    return tuple(begun.values())


def dashed(name: str) -> str:
    return name.replace("_", "-") if name.startswith("--") else name


@lru_cache(maxsize=1_024)
def nearest(name: str) -> str:
    """The flag whose spelling is nearest, "" when none is near: a short name's long one, a key of a JSON flag, else the
    one with the most letters and words in common.
    """
    bare = name.lstrip("-")
    if short := BY_NAME.get(f"-{bare}"):
        return short.name
    key = bare.replace("-", "_")
    if owner := next((flag for flag in FLAGS if key in (flag.keys or ())), None):
        return f"{owner.name}.{key}"
    written = dashed(f"--{bare}")
    close = get_close_matches(written, LONG_NAMES, n=CANDIDATES, cutoff=0.5)
    best = max(close, key=lambda other: likeness(written, other), default="")
    return best if best and likeness(written, best) >= ALIKE else ""


def likeness(one: str, other: str) -> float:
    """How alike two flags are: the share of letters in common, and less of whole words."""
    words, others = set(one.strip("-").split("-")), set(other.strip("-").split("-"))
    return SequenceMatcher(None, one, other).ratio() + WORDS_COUNT * len(words & others) / len(words | others)


def nearest_of(written: str, words: Iterable[str]) -> str:
    """The word whose spelling is nearest, "" when none is near."""
    return next(iter(get_close_matches(written, list(words), n=1, cutoff=0.6)), "")
