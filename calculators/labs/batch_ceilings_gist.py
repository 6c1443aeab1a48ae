"""How the lowest ceiling comes about: all users' throughput over the batch, and the three walls across it."""
from calculators.labs.base import Gist, Shown
from calculators.labs.batch_ceilings_picture import LABELS, PANELS, ceilings, course, figure, plate
from calculators.log_paper import log_paper
from calculators.models.batch_ceilings import LARGEST_BATCH, BatchCeilings
from calculators.models.quantity import say
from calculators.pictures import MEASURE, NARROW, Drawing, Shape, Text
from calculators.ruled import past_words

THROUGHPUT = PANELS[1]


def gist(shown: Shown) -> Gist:
    """Both drawings; what the reader said is a batch."""
    context = shown.inputs["context_tokens"]
    return Gist(*(throughput(shown.result, context, shown.said, width) for width in (MEASURE, NARROW)))


def throughput(result: BatchCeilings, context: int, said: float | None, width: float) -> Drawing:
    """One panel: the line flattens at the ridge, ends at what is admitted, and has a dot at the lowest ceiling."""
    narrow = width == NARROW
    left, right, top = 46, width - 6, LABELS + 26
    values = [each.tokens_per_s for each in result.sweep]
    paper = log_paper((1, LARGEST_BATCH), (min(values), max(values)), left, right, top, 15 if narrow else 17)
    foot = paper.up.start
    shapes: list[Shape] = [
        *paper.grid(2, figure), Text(left, top - 8, "all together, tokens/s", "label"), *paper.foot(2, figure),
        Text((left + right) / 2, foot + 36, f"sequences of {context:,} tokens in the batch", "axis", "middle"),
        *ceilings(result, paper, narrow), *course(result, context, THROUGHPUT, paper, narrow),
    ]
    if said and paper.holds(said):
        x = paper.x(said)
        shapes.append(plate(x, foot - 22, f"you: {say(said, '', 4)}", "pen-text", right))
        shapes.append(past_words(x, top, foot, shapes))
    elif said and said > 0:
        shapes.append(plate(right, foot - 22, f"you: {say(said, '', 4)}, beyond", "pen-text", right))
    title = f"{result.finding} {result.binds_verdict}"
    return Drawing(width, foot + 42, title, tuple(shapes))
