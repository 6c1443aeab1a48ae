"""The picture of one verify step: for each draft the target's shares over the drafter's, and the draw against both."""
from collections.abc import Iterator
from dataclasses import dataclass

from calculators.labs.base import Shown
from calculators.models.rejection import Draft, Judged, Rejection, letter, residual
from calculators.pictures import NARROW, WIDE, Bar, Drawing, Scale, Shape, Text

ROW, HEAD, FOOT = 26, 46, 64
LETTERS_WIDTH = 18


@dataclass(frozen=True, slots=True)
class Picture:
    """What the fragment loops over."""

    wide: Drawing
    narrow: Drawing
    output: str
    rows: tuple[tuple[str, str, str, str], ...]
    tried: tuple[tuple[str, int, float], ...]


def picture(shown: Shown) -> Picture:
    """Both drawings of one step, and the drafts judged so far as rows."""
    result, at, drafts = shown.result, shown.step, shown.inputs["drafts"]
    now = result.steps[at].judged
    last = now.position if now else (-1 if at == 0 else len(drafts))
    per_row = 2
    return Picture(
        wide=panels(result, drafts, last, WIDE, max(len(drafts), 3)),
        narrow=panels(result, drafts, last, NARROW, per_row),
        output=" ".join(letter(token) for token in result.steps[at].output),
        tried=tuple((name, count, share)
                    for (name, count), share in zip(result.tried.items(), drafts[0].target, strict=True)),
        rows=tuple((letter(each.token), f"{each.probability:.4f}", f"{drafts[each.position].uniform:.4g}",
                    "accepted" if each.accepted else f"refused, {letter(each.recovered)} instead")
                   for each in result.judged[: last + 1] if each.reached),
    )


def panels(result: Rejection, drafts: tuple[Draft, ...], last: int, width: float, across: int) -> Drawing:
    """A panel a draft; those not judged yet show their shares and no verdict."""
    panel = (width + 24) / across
    tall = HEAD + ROW * len(result.vocabulary) + FOOT
    complete = last + 1 >= len(result.output)  # the last draft judged, or with all accepted the bonus
    shapes: list[Shape] = []
    for each, draft in zip(result.judged, drafts, strict=True):
        x, y = panel * (each.position % across), tall * (each.position // across)
        shapes += shares(draft, each, complete or each.position <= last, x, y, panel - 24)
    title = result.finding if complete else f"{last + 1} of {len(drafts)} drafts judged."
    return Drawing(width, tall * -(-len(drafts) // across), title, tuple(shapes))


def shares(draft: Draft, each: Judged, judged: bool, x: float, y: float, width: float) -> Iterator[Shape]:
    """One draft: a pair of bars a token, and under them its chance against the draw."""
    yield Text(x, y + 15, f"{each.position + 1}", "name")
    yield Text(x + 16, y + 15, "padding" if each.token < 0 else f"draft {letter(each.token)}", "strong")
    yield Text(x, y + 34, "drafter over target", "axis")
    scale = Scale(0, 1, x + LETTERS_WIDTH, x + width - 44)
    drafted = draft.draft or [1.0 if place == draft.token else 0.0 for place in range(len(draft.target))]
    left = residual(draft.token, draft.target, draft.draft)
    for place, share in enumerate(draft.target):
        top = y + HEAD + ROW * place
        chosen = place == draft.token
        yield Text(x, top + 15, letter(place), "strong" if chosen else "label")
        yield Bar(scale.start, top + 1, round(max(scale(drafted[place]) - scale.start, 0.5), 2), 7, "hollow")
        covered = share - left[place]
        yield Bar(scale.start, top + 10, round(max(scale(covered) - scale.start, 0.5), 2), 9,
                  "present" if chosen else "other")
        if left[place] > 0:
            yield Bar(scale(covered), top + 10, round(max(scale(share) - scale(covered), 0.5), 2), 9, "guessed",
                      pattern="estimated")
        yield Text(round(x + width, 2), top + 17, f"{share:.3f}", "axis", "end")
    yield from verdict(draft, each, judged, x, y + HEAD + ROW * len(draft.target))


def verdict(draft: Draft, each: Judged, judged: bool, x: float, y: float) -> Iterator[Shape]:
    """Whether the draft was taken; nothing of it before its step."""
    if not judged:
        yield Text(x, y + 18, "not judged yet", "label")
    elif not each.reached:
        yield Text(x, y + 18, "dropped", "label")
    else:
        yield Text(x, y + 18, f"{each.probability:.3f} against {draft.uniform:.3f}", "value")
        yield Text(x, y + 38, "accepted" if each.accepted else f"refused, {letter(each.recovered)} instead",
                   "strong" if each.accepted else "limit-text")
