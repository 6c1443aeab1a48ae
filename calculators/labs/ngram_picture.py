"""The pictures of the n-gram lab: the text with the match in it, the draft beside what came out, and all steps."""
from collections.abc import Iterator
from dataclasses import dataclass

from calculators.labs.base import Shown
from calculators.models.ngram import Ngram, Step
from calculators.models.recompute_or_move import in_bytes
from calculators.pictures import NARROW, WIDE, Bar, Drawing, Shape, Text, line
from calculators.ruled import LETTER

LINE, CELL = 28, 22  # height of a line of text and of the box round a word
GAP = 4
UNIT = 9  # height of one token in the strip of steps
MOST_COLUMN = 44


@dataclass(frozen=True, slots=True)
class Picture:
    """What the fragment loops over."""

    text_wide: Drawing
    text_narrow: Drawing
    steps_wide: Drawing
    steps_narrow: Drawing
    sentence: str
    rows: tuple[Step, ...]
    history: str


def picture(shown: Shown) -> Picture:
    """The drawings of one step, wide and narrow, and the steps up to it."""
    result, at = shown.result, shown.step
    step = result.steps[at]
    return Picture(
        text_wide=text(result, step, WIDE, 84), text_narrow=text(result, step, NARROW, 0),
        steps_wide=strip(result, at, shown.inputs["num_speculative_tokens"], WIDE),
        steps_narrow=strip(result, at, shown.inputs["num_speculative_tokens"], NARROW),
        sentence=sentence(step), rows=result.steps[: at + 1], history=in_bytes(result.history_bytes),
    )


@dataclass(frozen=True, slots=True)
class Word:
    """A token's place in the flowing text."""

    x: float
    y: float
    w: float
    text: str


def flow(words: tuple[str, ...], left: float, right: float, top: float) -> list[Word]:
    """Words in lines from `left` to `right`; one that is too long is cut."""
    placed, x, y = [], left, top
    for word in words:
        said = word if len(word) <= 14 else word[:13] + "…"
        width = round(LETTER * len(said) + 9, 2)
        if x + width > right and x > left:
            x, y = left, y + LINE
        placed.append(Word(round(x, 2), y, width, said))
        x += width + GAP
    return placed


def text(result: Ngram, step: Step, width: float, names: float) -> Drawing:
    """The context before the step with the match and the text's end, then what the step gave and the draft it tried."""
    below = 0 if names else 20  # a name stands over its words where there is no room beside them
    prompt = flow(result.prompt, names, width, below + 2)
    top = prompt[-1].y + LINE + 14 + below
    output = flow(result.output, names, width, top)
    foot = output[-1].y + LINE + 16 + below
    shapes: list[Shape] = [Text(0, 16, "prompt", "name"), Text(0, top + 16 - below, "output", "name")]
    context, fresh = step.context_tokens, step.context_tokens + len(step.emitted)
    match = step.match
    for place, word in enumerate((*prompt, *output)):
        if place >= fresh:
            break
        if place >= context:
            look, css = "result", "strong"
        elif match.n and (match.at <= place < match.follows or place >= context - match.n):
            look, css = "solid", "on-ink"
        elif match.follows <= place < match.follows + step.matched_tokens:
            look, css = "hollow", "value"
        else:
            look, css = "", "label"
        if look:
            shapes.append(Bar(word.x, word.y, word.w, CELL, look))
        shapes.append(Text(round(word.x + word.w / 2, 2), word.y + 16, word.text, css, "middle"))
    shapes.append(Text(0, foot + 16 - below, "draft", "name"))
    shapes += drafted(step, names, width, foot)
    lowest = max((flow(each.draft, names, width, foot)[-1].y for each in result.steps if each.draft), default=foot)
    return Drawing(width, lowest + LINE + 4, sentence(step), tuple(shapes))


def drafted(step: Step, left: float, right: float, top: float) -> Iterator[Shape]:
    """The draft: solid as far as the target agrees, hollow and dashed from the first miss on."""
    if not step.draft:
        yield Text(left, top + 16, "nothing drafted" if step.step else "the prefill gives the first token", "label")
    for place, word in enumerate(flow(step.draft, left, right, top)):
        taken = place < step.accepted
        look, css = ("solid", "on-ink") if taken else ("never", "label")
        yield Bar(word.x, word.y, word.w, CELL, look, word.text, css)


def strip(result: Ngram, at: int, k: int, width: float) -> Drawing:
    """A column a step: the drafts verified, solid where accepted, under the token that the target always gives."""
    names, top = 22, 8
    foot = top + UNIT * (k + 1) + 4
    steps = len(result.steps) - 1
    column = min((width - names - 2) / max(steps, 1), MOST_COLUMN)
    shapes: list[Shape] = []
    for tokens in range(0, k + 2, 2 if k > 5 else 1):
        y = foot - UNIT * tokens
        shapes += [line(names, y, round(names + column * steps, 2), y, "grid")]
        if tokens in (0, k + 1) or (k <= 5 and tokens % 2 == 0 and tokens < k):
            shapes.append(Text(names - 6, y + 4, str(tokens), "axis", "end"))
    every = next(n for n in (1, 2, 5, 10, 20, 50) if n * column >= 22)
    for step in result.steps[1:]:
        x, wide = round(names + column * (step.step - 1), 2), round(max(column - 2, 1), 2)
        if step.step % every == 0:
            shapes.append(Text(round(x + wide / 2, 2), foot + 16, str(step.step), "now" if step.step == at else "axis",
                               "middle"))
        if step.step > at:
            continue
        for place in range(len(step.draft)):
            look = "solid" if place < step.accepted else "never"
            shapes.append(Bar(x, foot - UNIT * (place + 1), wide, UNIT - 1, look))
        if len(step.emitted) > step.accepted:
            shapes.append(Bar(x, foot - UNIT * (step.accepted + 1), wide, UNIT - 1, "present"))
    title = f"Up to step {at}: {sum(len(s.emitted) for s in result.steps[: at + 1]):,} tokens out."
    return Drawing(width, foot + 22, title, tuple(shapes))


def sentence(step: Step) -> str:
    """What the step did, in words."""
    if step.step == 0:
        return f"The prefill of {step.context_tokens:,} tokens gives the first token, {step.emitted[0]}."
    if step.match.n:
        where = f"The last {step.match.n} tokens" if step.match.n > 1 else "The last token"
        found = f"{where} stand{'s' if step.match.n == 1 else ''} at {step.match.at + 1:,}"
        follows = f"{step.matched_tokens} that followed {'are' if step.matched_tokens != 1 else 'is'} drafted"
        found += f"; the {follows}"
    else:
        found = "No end of the text of that length occurs earlier"
    filler = f", {step.filler} repeat the last token" if step.filler else ""
    bonus = len(step.emitted) - step.accepted
    own = f" The target adds {step.emitted[-1]}." if bonus else " The output ends in the draft."
    return f"{found}{filler}; {step.accepted} of {len(step.draft)} accepted.{own}"


def thumbnail(result: Ngram) -> Drawing:
    """All steps as columns."""
    steps = result.steps[1:]
    column, unit = 214 / len(steps), 10
    shapes: list[Shape] = []
    for step in steps:
        x, wide = round(1 + column * (step.step - 1), 2), round(max(column - 2, 1), 2)
        shapes += [Bar(x, 60 - unit * (place + 1), wide, unit - 1, "solid" if place < step.accepted else "never")
                   for place in range(min(len(step.draft), 5))]
        if step.accepted < 5:
            shapes.append(Bar(x, 60 - unit * (step.accepted + 1), wide, unit - 1, "present"))
    return Drawing(216, 64, result.finding, tuple(shapes))
