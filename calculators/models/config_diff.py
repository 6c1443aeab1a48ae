"""Two start-up configurations side by side: what differs, what of it can cost throughput, and what compiles anew."""
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple
from urllib.parse import quote_plus

from calculators.models import config_text
from calculators.models.base import Refusal
from calculators.models.config_keys import (
    ABSENT,
    ALSO_MOVED,
    DEFAULTS,
    DEPENDS,
    HELPS,
    HURTS,
    KEYS,
    MECHANISMS,
    NOTHING,
    OFF,
    Judged,
    Moved,
    key_of,
    number,
)
from calculators.models.config_text import Setting, format_settings, plain, version_of
from calculators.models.serve_flags import BY_DEST

LONGEST_SIDE = 2_400  # characters of one configuration
ROOM = 3_600  # characters that it may take in an address
NEWEST_KNOWN = (0, 33)
MOST_SAID = 12  # changes that the reader is asked about
MEASURED = ("kv_tokens", "available_kv_gib", "graphs_gib")  # what came of a start, and can't be set
NEVER_NEW = ("speculative_config", "kv_transfer_config")  # every release tells of these when they are used
ORDER = {HURTS: 0, DEPENDS: 1, HELPS: 2, NOTHING: 3}
RELEASE = "version"
USUAL = (*OFF, "1", "auto", "[]", "{}", "''", "inductor", "fcfs")
ONE = "Only one configuration can be read in it; paste the other one below it, with a line of --- between."
NONE = "No configuration can be read in it. It takes engine lines, vllm serve commands, flags, or name=value."


@dataclass(frozen=True, slots=True)
class Change:
    """One setting that differs: both values ("" where one has none), what it reaches, and which way it works.

    `by_default` says that a value is the release's default and not in the text.
    """

    name: str
    was: str
    now: str
    mechanism: str
    direction: str
    weight: int
    why: str
    by_default: bool
    recompiles: bool

    @property
    def words(self) -> str:
        """"0.9 → 0.92"."""
        return f"{self.was or 'absent'} → {self.now or 'absent'}"


@dataclass(frozen=True, slots=True)
class ConfigDiff:
    """Every change, the most suspect first; suspects are those that cost throughput, from the weight asked for on.

    `recompiled_by` are what moves the compile cache's key, `moved_defaults` the defaults that moved between the
    releases, `also_moved` what depends on the GPU or a library besides.
    """

    before_version: str
    after_version: str
    changes: tuple[Change, ...]
    suspects: tuple[str, ...]
    hurting: int
    depending: int
    helping: int
    without_effect: int
    recompiled_by: tuple[str, ...]
    moved_defaults: tuple[str, ...]
    also_moved: tuple[str, ...]
    finding: str
    verdict: str
    cache_verdict: str


class Pick(NamedTuple):
    """The changes before the reader has judged them, and after."""

    judged: bool


@dataclass(frozen=True, slots=True)
class Picks:
    """The comparison in two steps: the changes in the order of their names, then each with its judgement."""

    steps: tuple[Pick, ...]
    diff: ConfigDiff
    asked: tuple[Change, ...]
    finding: str


class Pasted(NamedTuple):
    """What a pasted text comes down to: both configurations as the form holds them, and a sentence for each fault."""

    values: dict[str, Any]
    faults: tuple[str, ...]


def solve(*, before: tuple[Setting, ...], after: tuple[Setting, ...], least_weight: int = 1) -> ConfigDiff:
    """Compare two configurations; where a release is told, its defaults stand for what moved and isn't given.

    Weights and directions are rules: they rank what to test alone, one setting at a time, and prove nothing.
    Source of defaults and names: vllm 0.33.0, config/*.py, engine/arg_utils.py, envs.py.
    """
    first, second = dict(before), dict(after)
    filled = {"before": defaults_of(version_of(first), second | first),
              "after": defaults_of(version_of(second), first | second)}
    names = sorted((first.keys() | second.keys() | filled["before"].keys() | filled["after"].keys()) - {RELEASE})
    changes = []
    for name in names:
        was = first.get(name, filled["before"].get(name, ABSENT))
        now = second.get(name, filled["after"].get(name, ABSENT))
        told = name in first or name in second
        if was != now and (told or ABSENT not in (was, now)):
            filled_in = (name not in first and was != ABSENT) or (name not in second and now != ABSENT)
            changes.append(change(name, was, now, filled_in))
    changes.sort(key=lambda each: (ORDER[each.direction], -each.weight, each.name))
    suspects = tuple(each.name for each in changes if each.direction == HURTS and each.weight >= least_weight)
    counts = {direction: sum(each.direction == direction for each in changes) for direction in ORDER}
    versions = first.get(RELEASE, ""), second.get(RELEASE, "")
    releases = tuple(filter(None, (version_of(first), version_of(second))))
    recompiled = tuple(each.name for each in changes if each.recompiles)
    recompiled = (RELEASE, *recompiled) if versions[0] != versions[1] else recompiled
    moved = tuple(f"{each.name}: {each.was} → {each.now}" for each in moved_between(first, second))
    return ConfigDiff(
        before_version=versions[0], after_version=versions[1], changes=tuple(changes), suspects=suspects,
        hurting=len(suspects), depending=counts[DEPENDS], helping=counts[HELPS], without_effect=counts[NOTHING],
        recompiled_by=recompiled, moved_defaults=moved,
        also_moved=ALSO_MOVED if NEWEST_KNOWN in releases and min(releases) < NEWEST_KNOWN else (),
        finding=f"{len(changes):,} settings differ: {counts[HURTS]:,} can cost throughput, {counts[DEPENDS]:,} either "
                f"way, {counts[HELPS]:,} help, {counts[NOTHING]:,} change nothing.",
        verdict=verdict(suspects, counts, first, second), cache_verdict=cache_verdict(recompiled),
    )


def simulate(*, before: tuple[Setting, ...], after: tuple[Setting, ...], least_weight: int = 1) -> Picks:
    """The same comparison, its changes first without a judgement, for the reader to pick the suspects."""
    diff = solve(before=before, after=after, least_weight=least_weight)
    asked = sorted((each for each in diff.changes if each.direction != NOTHING), key=lambda each: each.name)
    return Picks(steps=(Pick(False), Pick(True)), diff=diff, asked=tuple(asked[:MOST_SAID]), finding=diff.finding)


def change(name: str, was: str, now: str, by_default: bool) -> Change:
    """One change judged by its setting's own rule."""
    key = key_of(name)
    judged = key.judge(was, now)
    if judged.direction == DEPENDS and ABSENT in (was, now) and (was or now) in USUAL:
        judged = Judged(NOTHING, 0, "One of the two alone tells it, at its usual value.")
    return Change(name, was, now, key.mechanism, judged.direction, judged.weight, judged.why, by_default,
                  key.recompiles and (number(was) is None or number(was) != number(now)))


def defaults_of(version: tuple[int, int] | None, given: Mapping[str, str]) -> dict[str, str]:
    """Defaults of a release for what is known to have moved; of what is fixed by eager mode, none.

    `given` are the settings of both sides, the own ones where both tell one.
    """
    if version is None:
        return {}
    found = {moved.name: value for moved in DEFAULTS if (value := moved.at(version)) is not None}
    if given.get("enforce_eager") == "True":
        found.pop("cudagraph_mode", None)
    return found


def moved_between(first: Mapping[str, str], second: Mapping[str, str]) -> tuple[Moved, ...]:
    """The defaults that differ between the releases of both; none where a release isn't told."""
    old, new = version_of(dict(first)), version_of(dict(second))
    if old is None or new is None:
        return ()
    low, high = min(old, new), max(old, new)
    return tuple(moved for moved in DEFAULTS if low < moved.since <= high)


def verdict(suspects: tuple[str, ...], counts: Mapping[str, int], first: Mapping[str, str],
            second: Mapping[str, str]) -> str:
    """What to test first, and the traps of these two."""
    settable = [name for name in suspects if name not in MEASURED]
    if settable:
        others = f", then {', '.join(settable[1:6])}" if len(settable) > 1 else ""
        said = [f"Test first {settable[0]}{others}: one at a time, the new side set to the old value."]
    elif suspects:
        said = [f"{suspects[0]} is what came of it, not a setting; ask what else changed."]
    elif counts[DEPENDS]:
        said = ["Nothing that differs must cost throughput; what works either way is to be measured, one at a time."]
    else:
        said = ["Nothing that differs costs throughput. Then suspect what no configuration shows (torch, FlashInfer, "
                "NCCL, the driver), and bisect."]
    names = set(suspects)
    if {"model_runner", "async_scheduling"} <= names and version_of(dict(second)) == version_of(dict(first)):
        said.append("Runner and overlap went together: one feature put the engine back on the old runner. Take the "
                    "feature out, or pin the release; forcing the new runner is refused.")
    if "graph_memory_estimate" in names:
        said.append("The pool is smaller because graphs are inside the budget now. A lower utilization, “as before”, "
                    "would shrink it twice; the start-up log names the one that gives the old pool.")
    if "kv_tokens" not in first or "kv_tokens" not in second:
        said.append("The log’s KV cache size is not in both: no other line flags as many regressions, so compare it "
                    "first.")
    return " ".join(said)


def cache_verdict(recompiled: tuple[str, ...]) -> str:
    """Whether the first start after the change compiles anew."""
    if not recompiled:
        return "The compile cache’s key stays: what was compiled is found again."
    listed = ", ".join(recompiled[:6]) + (f" and {len(recompiled) - 6} more" if len(recompiled) > 6 else "")
    return f"The compile cache’s key moves, by {listed}: the first start compiles anew, so don’t time that run."


def read_pasted(text: str) -> Pasted:
    """Both configurations of a text, without what they have in common, short enough for an address."""
    read = config_text.read(text)
    if len(read.configs) < 2:
        return Pasted({}, (*read.faults, ONE if read.configs else NONE))
    first, second = (config.settings for config in read.configs)
    if all(config.of_flags and not config.of_engine for config in read.configs):
        first, second = with_defaults(first, second), with_defaults(second, first)
    alike = {name for name in first if second.get(name) == first[name] and name != RELEASE}
    if all(config.of_engine for config in read.configs) and first.get(RELEASE) != second.get(RELEASE):
        alike |= {name for name in first.keys() ^ second.keys() if newly_told(name, first.get(name) or second[name])}
    sides, faults = {}, list(read.faults)
    for name, settings in (("before", first), ("after", second)):
        kept, left = fitting({key: value for key, value in settings.items() if key not in alike})
        sides[name] = format_settings(kept) or format_settings(tuple(map(Setting._make, list(settings.items())[:1])))
        if left:
            faults.append(f"{len(left)} settings of the {'first' if name == 'before' else 'second'} are left out, for "
                          f"the address would be too long: {', '.join(left[:8])}.")
    return Pasted(sides, tuple(faults))


def with_defaults(settings: dict[str, str], other: dict[str, str]) -> dict[str, str]:
    """The settings of a command, and for each that only the other one gives the parser's default, where it has one."""
    flags = {name: BY_DEST[name].default for name in other.keys() - settings.keys() if name in BY_DEST}
    return settings | {name: plain(str(value)) for name, value in flags.items() if value not in (None, "")}


def newly_told(name: str, value: str) -> bool:
    """Whether a setting that one release's line has and the other's has not tells nothing: each prints its own."""
    if name == RELEASE or name.startswith(NEVER_NEW):
        return False
    return name not in KEYS or KEYS[name].judge(ABSENT, value).direction in (DEPENDS, NOTHING)


def fitting(settings: Mapping[str, str]) -> tuple[tuple[Setting, ...], list[str]]:
    """The settings that fit on one side, the weightiest kept, and the names of those that count and don't fit."""
    ranked = sorted(settings.items(), key=lambda each: -rank(each[0]))
    kept: list[Setting] = []
    left, room = [], LONGEST_SIDE
    for name, value in ranked:
        size = in_address(f"{name}={value}; ")
        if size <= room:
            kept.append(Setting(name, value))
            room -= size
        elif rank(name) > 1:
            left.append(name)
    return tuple(kept), left


def rank(name: str) -> int:
    """How early a setting is kept: the release, then what is known, then the rest, at last what reaches nothing."""
    mechanism = key_of(name).mechanism
    return 4 if name == RELEASE else 3 if mechanism in MECHANISMS else 1 if mechanism == "cosmetic" else 2


def parse_side(text: str) -> tuple[Setting, ...]:
    """One side of the form.

    Raises Refusal with a sentence.
    """
    if "with config:" in text or "vllm serve" in text:
        raise Refusal("A log line or a command goes into the box below, with the other one; here stand name=value.")
    if in_address(text) > ROOM:
        raise Refusal("That is too long for an address; leave out what both have in common.")
    return config_text.parse_settings(text)


def in_address(text: str) -> int:
    """The characters that a text takes in an address."""
    return len(quote_plus(text, safe=":/@,!~"))
