"""How many long replies a pool holds: what one keeps over its life, its mean, and what is left to each of the reader's.
"""
from calculators.beside import Words, beside
from calculators.labs.base import Gist, Shown
from calculators.models.long_replies import LongReplies
from calculators.models.quantity import say
from calculators.pictures import MEASURE, NARROW, Drawing, Path, Scale, Shape, Text, line, thousands
from calculators.ruled import round_unit, rows

FURTHEST = 1.4  # times the full length: a share beyond is named and not drawn


def gist(shown: Shown) -> Gist:
    """Both drawings; what the reader said is a number of sequences."""
    return Gist(*(life(shown.result, shown.said, width) for width in (MEASURE, NARROW)))


def life(result: LongReplies, said: float | None, width: float) -> Drawing:
    """Tokens held over the decode steps of a reply; each level of them is a number of replies that fit."""
    narrow = width == NARROW
    left, right, top, foot = (50, NARROW - 112, 34, 180) if narrow else (56, MEASURE - 196, 34, 220)
    prompt, output = result.prompt_tokens, result.output_tokens
    share = result.pool_tokens / said if said and said > 0 else None
    drawn = share if share and share <= FURTHEST * result.final_context else None
    high = max(result.final_context, drawn or 0)
    clock, up = Scale(0, output, left, right), Scale(0, high, foot, top)
    shapes: list[Shape] = [
        Text(0, 12, "tokens of KV that one reply holds", "axis"), *rows(up, round_unit(high, 5), left, right),
        Text((left + right) / 2, foot + 35, "decode steps of its life", "axis", "middle"),
        Path(f"M{left:g} {foot:g}V{up(prompt):g}L{right:g} {up(prompt + output):g}V{foot:g}Z", "pale"),
        line(left, up(prompt), right, up(prompt + output), "ink"),
    ]
    for step in range(0, output + 1, max(round(round_unit(output, 4 if narrow else 8)), 1)):
        shapes.append(Text(clock(step), foot + 17, thousands(step), "axis", "middle"))
    levels = ((result.mean_context, result.staggered_sequences, "of every age"),
              (result.final_context, result.burst_sequences, "all at the end"))
    named = []
    for tokens, fit, when in levels:
        strong = abs(fit - result.held) <= 1
        shapes.append(line(left, up(tokens), right + 8, up(tokens), "formula" if strong else "never"))
        named.append(Words(up(tokens), (f"{int(fit):,} fit, {when}",) if not narrow else (f"{int(fit):,} fit,", when),
                           "strong" if strong else "label"))
    if share:
        words = (f"you: {say(said, '', 4)},", f"{say(share, '')} each") + (() if drawn else ("far above this",))
        named.append(Words(up(drawn) if drawn else 0, words, "pen-text"))
    if drawn:
        shapes.append(line(left, up(drawn), right + 8, up(drawn), "pen"))
    shapes += beside(right + 14, named, 8, foot)
    title = (f"{result.finding} One holds {prompt:,} to {prompt + output:,} tokens over its life, "
             f"{say(result.mean_context, '', 5)} on average.")
    return Drawing(width, foot + 42, title, tuple(shapes))
