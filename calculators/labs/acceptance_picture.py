"""The pictures of the acceptance lab: drafts that survive to each position by window, and the ledger of tokens."""
from collections.abc import Iterator
from dataclasses import dataclass

from calculators.labs.base import Shown
from calculators.models.acceptance import Acceptance, Window
from calculators.pictures import NARROW, WIDE, Bar, Drawing, Scale, Shape, Text, line
from calculators.ruled import width_of

ROW, HEAD = 26, 52
MOST_ACROSS = 4  # windows side by side


@dataclass(frozen=True, slots=True)
class Picture:
    """What the fragment loops over: each drawing wide and narrow, and the windows as rows of a table."""

    wide: Drawing
    narrow: Drawing
    ledger_wide: Drawing
    ledger_narrow: Drawing
    rows: tuple[tuple[Window, str, str], ...]


def picture(shown: Shown) -> Picture:
    """Both drawings of each picture."""
    result = shown.result
    return Picture(
        wide=windows(result, WIDE, min(len(result.windows), MOST_ACROSS)), narrow=windows(result, NARROW, 1),
        ledger_wide=ledger(result.window, WIDE), ledger_narrow=ledger(result.window, NARROW),
        rows=tuple((each, shares(each.unconditional, 4), shares(each.conditional)) for each in result.windows),
    )


def shares(values: tuple[float, ...], places: int = 3) -> str:
    """Shares in a row: "0.763  0.656"."""
    return "  ".join(share_text(value, places) for value in values)


def share_text(value: float, places: int) -> str:
    """A share rounded as on paper, halves up: 0.7625 is "0.763"."""
    return f"{value + 1e-9:.{places}f}"


def windows(result: Acceptance, width: float, across: int) -> Drawing:
    """A panel a window: all drafts as a hollow bar, and how many of them were accepted up to each position."""
    panel = (width + 28) / max(across, 3 if width == WIDE else 1)
    tall = HEAD + ROW * (result.positions + 1) + 24
    shapes: list[Shape] = []
    for place, window in enumerate(result.windows):
        shapes += survival(window, panel * (place % across), tall * (place // across), panel - 28)
    rows = -(-len(result.windows) // across)
    return Drawing(width, tall * rows - 12, result.finding, tuple(shapes))


def survival(window: Window, x: float, y: float, width: float) -> Iterator[Shape]:
    """One window: its name and rate, then a bar a position with its share of all drafts and of those that came so far.
    """
    yield Text(x, y + 15, window.name, "name")
    if not window.valid:
        yield Text(x, y + 36, "not a window", "limit-text")
        yield Text(x, y + 62, window.fault.partition(":")[0], "label")
        yield Text(x, y + 82, f"{window.accepted:,} / {window.draft_tokens:,}".replace("-", "−"), "label")
        yield Text(x, y + 102, f"= {window.raw_rate:.2%}: a number from garbage", "label")
        return
    yield Text(x, y + 36, f"{window.rate:.2%} of drafted, {window.mean_length:.3f} a step", "value")
    names, values = 46, 108
    scale = Scale(0, 1, x + names, x + width - values)
    for at, share in enumerate((1.0, *window.unconditional)):
        top = y + HEAD + ROW * at
        yield Text(x, top + 14, "drafts" if at == 0 else f"pos {at}", "label")
        yield Bar(scale.start, top, round(max(scale(share) - scale.start, 0.5), 2), 18, "solid" if at else "hollow")
        said = f"{share_text(share, 4)} ({share_text(window.conditional[at - 1], 3)})" if at else f"{window.drafts:,}"
        yield Text(round(scale.end + 8, 2), top + 14, said, "value")


def ledger(window: Window, width: float) -> Drawing:
    """What was counted, above what was generated: what is over was accepted and then cut at a stop."""
    longest = max(window.counted_tokens, window.generation_tokens, 1)
    scale = Scale(0, longest, 0, width)
    parts = (("steps", window.drafts, "solid"), ("accepted", window.accepted, "hollow"),
             ("first tokens", window.finished, "other"))
    sum_of = " + ".join(f"{tokens:,} {name}" if width == WIDE else f"{tokens:,}" for name, tokens, _ in parts)
    shapes: list[Shape] = [Text(0, 14, f"counted: {sum_of} = {window.counted_tokens:,}", "value")]
    start = 0
    for name, tokens, look in parts:
        x, long = scale(start), round(max(scale(tokens), 0.5), 2)
        words = f"{name} {tokens:,}"
        shapes.append(Bar(min(x, width - 0.5), 22, long, 28, look, words if width_of(words) + 8 < long else "",
                          "on-ink" if look == "solid" else "value"))
        start += tokens
    generated = scale(window.generation_tokens)
    shapes += [Text(0, 74, f"generated: {window.generation_tokens:,}", "value"),
               Bar(0, 82, round(max(generated, 0.5), 2), 28, "present")]
    if window.cut > 0:
        shapes.append(Bar(generated, 82, round(max(scale(window.counted_tokens) - generated, 0.5), 2), 28, "never"))
    end, said = scale(window.counted_tokens), f"cut at a stop: {window.cut:,}, {window.cut_per_request:.2f} a request"
    shapes += [line(end, 18, end, 114, "edge"), Text(width, 132, said, "value", "end")]
    title = f"{window.counted_tokens:,} tokens counted, {window.generation_tokens:,} generated, {window.cut:,} cut."
    return Drawing(width, 138, title, tuple(shapes))


def thumbnail(result: Acceptance) -> Drawing:
    """The first valid window's bars."""
    shapes: list[Shape] = [Bar(1, 4, 213, 11, "hollow")]
    shapes += [Bar(1, 20 + 15 * at, round(213 * share, 2), 11, "solid")
               for at, share in enumerate(result.window.unconditional[:3])]
    return Drawing(216, 64, result.finding, tuple(shapes))
