"""The engine loop's picture: a lane for each of CPU and GPU, with what crosses between them; waiting and overlapped."""
from collections.abc import Iterator
from dataclasses import dataclass

from calculators.labs.base import Shown
from calculators.labs.kv_size_parts import Part, Swatch, Table, sides
from calculators.models.base import Line
from calculators.models.engine_loop import CPU, GPU, WORKER, EngineLoop, Mode, Span
from calculators.models.mask_overlap import MaskOverlap
from calculators.pictures import Bar, Drawing, Path, Scale, Shape, Text, line
from calculators.ruled import columns, figures, round_unit, width_of

MOST_DRAWN = 6  # steps
LANE, BETWEEN, TOP = 32, 32, 8
NAMES = 52
LETTERS = {"schedule": "S", "launch": "L", "output": "O", "mask": "M", "wait": "", "forward": "", "sample": ""}
LOOKS = {
    "schedule": ("solid", "on-ink"), "launch": ("solid", "on-ink"), "output": ("hollow", "strong"),
    "mask": ("pale", "strong"), "wait": ("s-waiting", "label"), "forward": ("s-running", "on-running"),
    "sample": ("s-decoding", "on-wash"),
}


@dataclass(frozen=True, slots=True)
class Derivation:
    """Lines to be said aloud under a heading."""

    heading: str
    lines: tuple[Line, ...]


@dataclass(frozen=True, slots=True)
class Picture:
    """What the fragment loops over: parts, derivations side by side, a last sentence, and the same in tables."""

    parts: tuple[Part, ...]
    derivations: tuple[Derivation, ...]
    words: str
    tables: tuple[Table, ...]


def picture(shown: Shown) -> Picture:
    """Both loops on one scale, and their arithmetic side by side."""
    result: EngineLoop = shown.result
    parts = loops((("Synchronous", "schedule, wait, read out, again", result.sync),
                   ("Asynchronous", overlap_note(shown), result.overlapped)), shown.inputs["n_steps"])
    return Picture(
        parts=parts,
        derivations=(Derivation("Sync, said out loud", result.sync_lines),
                     Derivation("Async, said out loud", result.overlapped_lines)),
        words=f"{result.sync.period_ms:.4g} against {result.overlapped.period_ms:.4g} ms is {result.gain:.2f}×. "
              f"{result.verdict} Twice is the most that overlap can give, where s + o equals g; past that the CPU sets "
              "the pace.",
        tables=(span_table("Synchronous", result.sync), span_table("Asynchronous", result.overlapped)),
    )


def overlap_note(shown: Shown) -> str:
    """What is to be seen in the overlapped lanes."""
    hidden = shown.inputs["hidden_sync"]
    if hidden == "before":
        return "the read waits for the step before; what is left of S after it, the GPU waits for"
    if hidden == "after":
        return "the read waits for the step's own forward; only sampling still overlaps"
    if hidden == "read-back":
        return "tokens are read back before anything else is done: nothing overlaps"
    if shown.inputs["mask_ms"]:
        return "a forward may start, and its sampling waits for the mask that the step before makes possible"
    return "step 2 is scheduled before the tokens of step 1 exist"


def mask_picture(shown: Shown) -> Picture:
    """The lanes with masks, overlapped and waiting, and the fill against the forward by batch."""
    result: MaskOverlap = shown.result
    parts = loops((("Asynchronous", "the mask of a step needs the tokens of the one before", result.overlapped),
                   ("Synchronous", "the mask is filled while the forward runs", result.sync)), 4)
    return Picture(
        parts=parts, derivations=(Derivation("Said out loud", result.lines),), words=result.verdict,
        tables=(
            Table(
                "On an 8B and an H100, 1,024 tokens of context",
                ("structured requests", "drafts", "forward, ms", "fill, ms", "over the forward, ms"),
                tuple((f"{row.requests:,}", f"{row.drafts}", f"{row.forward_ms:.2f}", f"{row.fill_ms:.2f}",
                       f"{row.stall_ms:.2f}") for row in result.cases),
            ),
            span_table("Asynchronous", result.overlapped),
        ),
    )


def loops(ways: tuple[tuple[str, str, Mode], ...], steps: int) -> tuple[Part, ...]:
    """A part for each way to run the loop, all on one scale; the first steps of a long run."""
    drawn = [drawn_spans(mode, steps) for _, _, mode in ways]
    longest = max(span.end_ms for spans in drawn for span in spans)
    units = [round_unit(longest * 1.12, 34), round_unit(longest * 1.04, 7)]
    kinds = {span.what for spans in drawn for span in spans if span.what != "sample" or both_parts(spans)}
    said = [f"One square is {figures(units[0])} ms.", f"One column is {figures(units[1])} ms."]
    some = "" if steps <= MOST_DRAWN else f"; the first {MOST_DRAWN} of {steps:,} steps"
    return tuple(
        Part(
            heading, *(lanes(spans, mode, steps, longest, unit, width, narrow)
                       for (width, narrow), unit in zip(sides(), units, strict=True)),
            note + some, *(each if place == len(ways) - 1 else "" for each in said),
            legend=legend(kinds) if place == len(ways) - 1 else (),
        )
        for place, ((heading, note, mode), spans) in enumerate(zip(ways, drawn, strict=True))
    )


def drawn_spans(mode: Mode, steps: int) -> tuple[Span, ...]:
    return mode.spans if steps <= MOST_DRAWN else tuple(span for span in mode.spans if span.number <= MOST_DRAWN)


def legend(kinds: set[str]) -> tuple[Swatch, ...]:
    named = (
        (("schedule",), "solid", "S schedule and launch", ""), (("output",), "hollow", "O read out", ""),
        (("mask",), "pale", "M grammar mask", ""), (("wait",), "s-waiting", "CPU blocked", ""),
        (("forward",), "s-running", "GPU works", ""), (("sample",), "s-decoding", "GPU samples", ""),
        (("forward", "sample"), "s-gap", "GPU idle", "idle"),
    )
    return tuple(Swatch(css, says, pattern) for whats, css, says, pattern in named if kinds & set(whats))


def lanes(spans: tuple[Span, ...], mode: Mode, steps: int, longest: float, unit: float, width: float,
          narrow: bool) -> Drawing:
    """CPU above, GPU below, arrows between; the end as a heavy line with its time."""
    names = [CPU, GPU] if not any(span.lane == WORKER for span in spans) else [CPU, WORKER, GPU]
    scale = Scale(0, longest * (1.04 if narrow else 1.12), NAMES, width - (6 if narrow else 24))
    tops = {name: TOP + place * (LANE + BETWEEN) for place, name in enumerate(names)}
    foot = tops[GPU] + LANE
    end = max(span.end_ms for span in spans)
    shapes: list[Shape] = [*columns(scale, unit, TOP, foot, every=1 if narrow else 5, most=7 if narrow else 12)]
    shapes += [line(NAMES, y, scale.end, y, "grid") for top in tops.values() for y in (top, top + LANE)]
    shapes += [Text(0, top + 21, name, "strong") for name, top in tops.items()]
    shapes += gaps([span for span in spans if span.lane == GPU], scale, tops[GPU], end)
    for span in spans:
        shapes += bar(span, scale, tops[span.lane], both_parts(spans), narrow)
    shapes += crossings(spans, scale, tops)
    if steps <= MOST_DRAWN:
        x = scale(end)
        after = x + 10 + 84 < width or narrow and x + 64 < width
        place = (x + 8, "start") if after else (x - 8, "end")
        shapes += [line(x, TOP - 6, x, foot + 4, "ink"),
                   Text(place[0], TOP + 22 if after else TOP + LANE + 21, f"{end:,.4g} ms",
                        "strong halo" if narrow else "end halo", place[1])]
        if not narrow and after:
            shapes.append(Text(x + 10, TOP + LANE + 18, f"GPU busy {mode.busy_percent:.1f}%", "label halo"))
    title = f"{len({span.number for span in spans})} steps end at {end:,.4g} ms; the GPU is busy " \
            f"{mode.busy_percent:.1f}% of {mode.total_ms:,.4g} ms."
    return Drawing(width, foot + 24, title, tuple(shapes))


def both_parts(spans: tuple[Span, ...]) -> bool:
    """Whether sampling does not follow its forward at once, so that the two are to be told apart."""
    ends = {span.number: span.end_ms for span in spans if span.what == "forward"}
    return any(span.what == "sample" and span.start_ms > ends.get(span.number, span.start_ms) for span in spans)


def bar(span: Span, scale: Scale, top: float, apart: bool, narrow: bool) -> Iterator[Shape]:
    """One span; its words where they fit."""
    x, w = scale(span.start_ms), round(scale(span.end_ms) - scale(span.start_ms), 2)
    css, text_css = LOOKS[span.what]
    if span.what == "sample" and not apart:
        css, text_css = LOOKS["forward"]
    words = f"{LETTERS[span.what]}{span.number}"
    if span.lane == GPU:
        whole = f"step {span.number}"
        words = "" if span.what == "sample" else whole if not narrow and width_of(whole) + 4 < w else f"{span.number}"
    elif span.what == "wait":
        words = ""
    high, low = (LANE / 2, LANE / 4) if span.what == "wait" else (LANE, 0)
    text = words if width_of(words) + 4 < w else ""
    yield Bar(x, top + low, w, high, css, text, text_css)
    if span.lane == GPU and span.what == "forward" and span.number > 1:
        yield line(x, top, x, top + LANE, "plate-line")


def gaps(spans: list[Span], scale: Scale, top: float, end: float) -> Iterator[Shape]:
    """The GPU's idle times up to the end."""
    free = 0.0
    for span in [*sorted(spans, key=lambda each: each.start_ms), None]:
        start = end if span is None else span.start_ms
        if start > free:
            x = scale(free)
            yield Bar(x, top, round(scale(start) - x, 2), LANE, "s-gap", pattern="idle")
        free = end if span is None else max(span.end_ms, free)


def crossings(spans: tuple[Span, ...], scale: Scale, tops: dict[str, float]) -> Iterator[Shape]:
    """Thin down: launched, dashed where it waits in the queue. Bold up: the tokens came back."""
    low, gpu = max(top for name, top in tops.items() if name != GPU) + LANE, tops[GPU]
    back = max(tops[CPU], 0) + LANE
    for span in spans:
        if span.what == "forward":
            launched = max((each.end_ms for each in spans if each.what in ("schedule", "launch")
                            and each.number == span.number and each.end_ms <= span.start_ms), default=span.start_ms)
            x1, x2 = scale(launched), scale(span.start_ms)
            if x2 - x1 < 2:
                yield Path(f"M{x1:g} {low:g}V{gpu:g}m-3.5 -5l3.5 5l3.5 -5", "arrow")
            else:
                middle = low + BETWEEN / 2
                yield Path(f"M{x1:g} {low:g}V{middle:g}H{x2 + 3:g}V{gpu:g}", "arrow leader")
                yield Path(f"M{x2 - 0.5:g} {gpu - 5:g}l3.5 5l3.5 -5", "arrow")
        elif span.what == "output":
            done = max(each.end_ms for each in spans if each.lane == GPU and each.number == span.number)
            x = scale(done)
            yield Path(f"M{x - 1:g} {gpu:g}V{back:g}m-3.5 5l3.5 -5l3.5 5", "ink thin")


def span_table(caption: str, mode: Mode) -> Table:
    """The first steps' spans as rows."""
    return Table(
        f"{caption}, the first steps", ("step", "what", "from, ms", "to, ms"),
        tuple((f"{span.number}", f"{span.lane} {span.what}", f"{span.start_ms:.2f}", f"{span.end_ms:.2f}")
              for span in mode.spans if span.number <= MOST_DRAWN),
    )


def thumbnail(result: EngineLoop) -> Drawing:
    """Both loops at 216 by 64, without figures."""
    scale = Scale(0, result.sync.total_ms, 2, 214)
    shapes: list[Shape] = []
    for place, mode in enumerate((result.sync, result.overlapped)):
        tops = {CPU: 2 + 34 * place, GPU: 16 + 34 * place}
        spans = [span for span in mode.spans if span.lane in tops]
        shapes += gaps_small([span for span in spans if span.lane == GPU], scale, tops[GPU], mode.total_ms)
        for span in spans:
            css = LOOKS["forward" if span.lane == GPU else span.what][0]
            x = scale(span.start_ms)
            shapes.append(Bar(x, tops[span.lane], round(scale(span.end_ms) - x, 2), 11, css))
        shapes.append(line(scale(mode.total_ms), tops[CPU] - 1, scale(mode.total_ms), tops[GPU] + 12, "ink"))
    return Drawing(216, 64, "The loop that waits, and the loop that overlaps.", tuple(shapes))


def gaps_small(spans: list[Span], scale: Scale, top: float, end: float) -> Iterator[Shape]:
    for shape in gaps(spans, scale, top, end):
        yield Bar(shape.x, shape.y, shape.w, 11, shape.css, pattern=shape.pattern)
