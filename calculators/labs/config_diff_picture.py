"""The config-diff lab's pictures: changes as bars from a middle line, those that cost to its left."""
from collections.abc import Iterator, Sequence

from calculators.labs.base import Shown
from calculators.labs.engine_loop_picture import Derivation, Picture
from calculators.labs.kv_size_parts import Part, Row, Swatch, Table, both, sides
from calculators.models.config_diff import Change, ConfigDiff, Picks
from calculators.models.config_keys import DEPENDS, HELPS, HURTS, NOTHING
from calculators.models.upgrade_evidence import UpgradeEvidence
from calculators.pictures import NARROW, WIDE, Bar, Drawing, Shape, Text, line
from calculators.ruled import LETTER

MOST_ROWS, MOST_LISTED = 16, 60
SAYS = {HURTS: "can cost", HELPS: "helps", DEPENDS: "either way", NOTHING: "nothing"}
LOOKS = {HURTS: "present", HELPS: "other", DEPENDS: "hollow"}
LEGEND = {HURTS: Swatch("present", "can cost throughput"), DEPENDS: Swatch("hollow", "either way"),
          HELPS: Swatch("other", "helps")}


def diff(shown: Shown) -> Picture:
    """Every change that reaches a mechanism, the most suspect first."""
    result: ConfigDiff = shown.result
    drawn = [each for each in result.changes if each.direction != NOTHING][:MOST_ROWS]
    more = len(result.changes) - result.without_effect - len(drawn)
    return Picture(
        parts=(Part(heading(result), *(bars(drawn, True, result.finding, width) for width, _ in sides()),
                    f"and {more:,} more in the table" if more else "the length is the weight, 1 to 3",
                    legend=legend(drawn)),),
        derivations=(), words=f"{result.verdict} {result.cache_verdict}", tables=(table(result.changes),),
    )


def legend(changes: Sequence[Change]) -> tuple[Swatch, ...]:
    """What stands for which direction, as far as it is drawn."""
    return tuple(swatch for direction, swatch in LEGEND.items() if any(each.direction == direction for each in changes))


def heading(result: ConfigDiff) -> str:
    if result.before_version and result.after_version:
        return f"{result.before_version} against {result.after_version}"
    return "Before against after"


def picks(shown: Shown) -> Picture:
    """The changes by name alone, then judged."""
    run: Picks = shown.result
    judged = run.steps[shown.step].judged
    title = run.finding if judged else f"{len(run.asked)} settings differ; which of them can cost throughput?"
    note = ("the length is the weight, 1 to 3" if judged else
            "say 1 for each that can cost throughput, 0 for the others")
    return Picture(
        parts=(Part("Judged" if judged else heading(run.diff),
                    *(bars(list(run.asked), judged, title, width) for width, _ in sides()), note,
                    legend=legend(run.asked) if judged else ()),),
        derivations=(), words=run.diff.verdict if judged else "",
        tables=(table(run.diff.changes) if judged else Table(
            "What differs", ("setting", "before", "after"),
            tuple((each.name, each.was or "absent", each.now or "absent") for each in run.asked)),),
    )


def table(changes: tuple[Change, ...]) -> Table:
    return Table(
        "Every change, the most suspect first", ("setting", "before", "after", "works", "weight", "reaches",
                                                 "compile cache"),
        tuple((each.name, each.was or "absent", each.now or "absent", SAYS[each.direction], f"{each.weight}",
               each.mechanism, "another key" if each.recompiles else "the same") for each in changes[:MOST_LISTED]),
    )


def bars(changes: list[Change], judged: bool, title: str, width: float) -> Drawing:
    """A row a change: its name, its bar from the middle line (none before it is judged), both values."""
    if width == NARROW:
        return stacked(changes, judged, title)
    longest = max((len(each.words) for each in changes), default=0)
    unit, pitch, top = min(max(int((WIDE - 350 - LETTER * longest) / 6), 38), 70), 30, 34
    middle = 326 + 3 * unit
    foot = top + pitch * max(len(changes), 1)
    first = middle + 3 * unit + 24
    shapes: list[Shape] = [
        Text(302, 16, "setting", "axis", "end"), Text(first, 16, "before → after", "axis"),
        *scale(middle, unit, top, foot), *sides_named(middle, 16, judged),
    ]
    for place, each in enumerate(changes):
        y = top + pitch * place
        shapes.append(Text(302, y + 19, cut(each.name, 300), "strong", "end"))
        if judged:
            shapes.append(bar(each, middle, unit, y + 5, 18))
        shapes.append(Text(first, y + 19, cut(each.words, WIDE - first), "value"))
    if not changes:
        shapes.append(Text(first, top + 19, "nothing that reaches a mechanism", "label"))
    return Drawing(WIDE, foot + 6, title, tuple(shapes))


def stacked(changes: list[Change], judged: bool, title: str) -> Drawing:
    """The same for a phone: the values under the name, the bar beside it."""
    middle, unit, pitch, top = 282, 20, 46, 26
    foot = top + pitch * max(len(changes), 1)
    shapes: list[Shape] = [*scale(middle, unit, top, foot), *sides_named(middle, 14, judged)]
    for place, each in enumerate(changes):
        y = top + pitch * place
        shapes += [Text(0, y + 16, cut(each.name, 214), "strong"), Text(0, y + 34, cut(each.words, 214), "label")]
        if judged:
            shapes.append(bar(each, middle, unit, y + 8, 18))
    if not changes:
        shapes.append(Text(0, top + 16, "nothing that reaches a mechanism", "label"))
    return Drawing(NARROW, foot + 4, title, tuple(shapes))


def scale(middle: float, unit: float, top: float, foot: float) -> Iterator[Shape]:
    """Columns of one weight each, and the middle line."""
    for weight in range(-3, 4):
        x = middle + weight * unit
        yield line(x, top - 4, x, foot, "edge" if weight == 0 else "grid")


def sides_named(middle: float, y: float, judged: bool) -> Iterator[Text]:
    """What lies left and right of the middle line, once it is judged."""
    if not judged:
        yield Text(middle, y, "not shown yet", "label", "middle")
        return
    yield Text(middle - 8, y, "costs", "axis", "end")
    yield Text(middle + 8, y, "helps", "axis")


def bar(each: Change, middle: float, unit: float, y: float, height: float) -> Bar:
    """A change's bar: left of the middle what costs, right what helps, over both what may do either."""
    length = each.weight * unit
    start = middle if each.direction == HELPS else middle - length
    return Bar(start, y, 2 * length if each.direction == DEPENDS else length, height, LOOKS[each.direction])


def cut(words: str, room: float) -> str:
    """The words, or as many of their letters as there is room for."""
    most = int(room / LETTER)
    return words if len(words) <= most else f"{words[: max(most - 1, 1)]}…"


def evidence(shown: Shown) -> Picture:
    """The drop in standard errors by runs, and decode before and after the pool shrank."""
    result: UpgradeEvidence = shown.result
    runs = tuple(Row(f"{each.runs_each:,} run{'s' * (each.runs_each != 1)} each", (each.errors,),
                     (f"{each.errors:,.3g}, each ±{each.error_percent:.3g}%",), each.present)
                 for each in result.by_runs)
    pools = tuple(Row(name, (rate,), (f"{rate:,.0f} tokens/s at {count:,} sequences",), name == "after")
                  for name, rate, count in (("before", result.before_tokens_per_s, result.before_sequences),
                                            ("after", result.after_tokens_per_s, result.after_sequences)))
    return Picture(
        parts=(
            Part(f"A drop of {shown.inputs['drop_percent']:g}%", *both("Standard errors by runs", ("standard errors",),
                                                                     runs, WIDE),
                 "three and more are no chance"),
            Part("What the pool explains", *both("Decode at the largest batch", ("decode where the pool binds",), pools,
                                                 WIDE), f"{result.loss_percent:+.3g}%".replace("-", "−")),
        ),
        derivations=(Derivation("Said out loud", result.lines),), words=result.verdict,
        tables=(Table("By runs on each side", ("runs", "standard error, %", "the drop in errors"),
                      tuple((f"{each.runs_each:,}", f"{each.error_percent:.3g}", f"{each.errors:,.3g}")
                            for each in result.by_runs)),),
    )


def thumbnail(result: ConfigDiff) -> Drawing:
    """The bars of the first changes at 216 by 64."""
    shapes: list[Shape] = [line(108, 1, 108, 63, "edge")]
    drawn = [each for each in result.changes if each.direction != NOTHING][:6]
    shapes += [bar(each, 108, 34, 2 + 10 * place, 7) for place, each in enumerate(drawn)]
    return Drawing(216, 64, result.finding, tuple(shapes))
