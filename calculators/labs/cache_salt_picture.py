"""The pictures of salts: copies against the pool with what they hit, and what a timing probe sees block by block."""
from collections.abc import Iterator

from calculators.labs.base import Shown
from calculators.labs.engine_loop_picture import Derivation, Picture
from calculators.labs.kv_size_parts import Part, Swatch, Table
from calculators.models.cache_salt import AtCopies, CacheSalt, Guess, TimingProbe
from calculators.pictures import NARROW, WIDE, Bar, Drawing, Scale, Shape, Text, line, thousands, wall_beside
from calculators.ruled import columns, round_unit

ROW = 30


def tenants(shown: Shown) -> Picture:
    """Both drawings of the copies, and all counts in a table."""
    result, inputs = shown.result, shown.inputs
    drawings = [copies(result, inputs["shared_tokens"], inputs["pool_tokens"], width) for width in (WIDE, NARROW)]
    return Picture(
        parts=(Part(
            "Copies of the shared prefix against the pool", *drawings, "one row a number of salts; hits of all prompt "
            "tokens at the right", legend=(Swatch("present", "the policy looked at"), Swatch("other", "others")),
        ),),
        derivations=(Derivation("Said out loud", result.lines),),
        words=f"{result.finding} A tenant asking every {inputs['own_every_s']:g} s finds its prefix with probability "
              f"{result.own_hit:.2f}. The salt goes into the first block’s key and by the chain into all others: one "
              "prompt has one salt, so a shared beginning and a private rest can’t go together.",
        tables=(Table(
            "Hits by number of copies", ("copies", "an untouched block stays", "prefix found", "tokens hit"),
            tuple((thousands(each.copies), f"{each.residence_s:,.3g} s", f"{each.prefix_hit:.2f}",
                   f"{each.token_hit_rate:.0%}") for each in result.at_copies),
        ),),
    )


def copies(result: CacheSalt, shared: int, pool: int, width: float) -> Drawing:
    """A bar a number of copies, in tokens, with the wall where the pool ends."""
    narrow = width == NARROW
    left, right, top = (58, width - 56, 34) if narrow else (120, width - 150, 34)
    scale = Scale(0, 2 * pool, left, right)
    foot = top + ROW * len(result.at_copies)
    shapes: list[Shape] = [Text(left - 10, 14, "copies", "axis", "end"),
                           Text(width, 14, "hit" if narrow else "tokens hit", "axis", "end"),
                           *columns(scale, round_unit(2 * pool, 8), top - 6, foot, 2, most=3 if narrow else 5,
                                    said=lambda value: f"{value / 1e3:,.4g}k" if value else "0"),
                           Text(right, foot + 36, "tokens of all copies", "axis", "end")]
    for number, each in enumerate(result.at_copies):
        shapes += copy_row(each, each.copies * shared, scale, top + ROW * number, width)
    shapes += [*wall_beside(scale(pool), top - 8, foot),
               Text(scale(pool), top - 14, f"pool {thousands(pool)}", "limit-text", "middle")]
    return Drawing(width, foot + 42, result.finding, tuple(shapes))


def copy_row(each: AtCopies, tokens: int, scale: Scale, y: float, width: float) -> Iterator[Shape]:
    """One number of copies; a bar that would leave the paper ends in a dashed piece."""
    weight = "strong" if each.present else "value"
    yield Text(scale.start - 10, y + 15, thousands(each.copies), weight, "end")
    end = scale(min(tokens, scale.high))
    yield Bar(scale.start, y, round(max(end - scale.start, 1), 2), 20, "present" if each.present else "other")
    if tokens > scale.high:
        yield Bar(round(end, 2), y, 14, 20, "never")
    yield Text(width, y + 15, f"{each.token_hit_rate:.0%}", weight, "end")


def timing(shown: Shown) -> Picture:
    """Both drawings of the guesses, and their times in a table."""
    result = shown.result
    drawings = [guessed(result, width) for width in (WIDE, NARROW)]
    return Picture(
        parts=(Part(
            "Time to the first token of each guess", *drawings,
            f"a row is one block of the secret, each mark {mean_of(shown.inputs['probes'])}",
            legend=(Swatch("present", "the victim’s block"), Swatch("hollow", "another guess")),
            words=salted_words(result),
        ),),
        derivations=(Derivation("Said out loud", result.lines),),
        words=f"{result.finding} A look leaves the guess itself in the cache: to look again, its blocks must have been "
              "evicted, or it has to wait for another victim. Averaging beats any noise that is added, but later; "
              "a cached-token count in the answer needs no averaging at all.",
        tables=(Table(
            "Mean time of each guess, ms", ("block", "the right guess", "fastest wrong one", "told apart"),
            tuple(told(number, row) for number, row in enumerate(result.blocks, start=1)),
        ),),
    )


def mean_of(looks: int) -> str:
    """What a mark is the mean of."""
    return "one look" if looks == 1 else f"the mean of {thousands(looks)} looks"


def salted_words(result: TimingProbe) -> str:
    """What a salt changes, in a sentence."""
    if result.salted:
        return "With a salt of its own the probe never hits the victim’s blocks: the fastest guess is chance."
    return "Whoever hits more computes less, and answers sooner by one block’s prefill."


def told(number: int, row: tuple[Guess, ...]) -> tuple[str, ...]:
    """One block of the secret as words."""
    right = next(guess for guess in row if guess.right)
    other = min(guess.seen_ms for guess in row if not guess.right)
    return str(number), f"{right.seen_ms:.2f}", f"{other:.2f}", "yes" if right.fastest else "no"


def guessed(result: TimingProbe, width: float) -> Drawing:
    """A row a block of the secret, a mark a guess, on one scale of ms."""
    narrow = width == NARROW
    left, right, top, pitch = (10, width - 14, 30, 62) if narrow else (110, width - 40, 12, 52)
    times = [guess.seen_ms for row in result.blocks for guess in row]
    low, high = min(times), max(times)
    pad = max((high - low) * 0.06, result.block_ms * 0.2)
    scale = Scale(low - pad, high + pad, left, right)
    foot = top + pitch * len(result.blocks)
    unit = round_unit(scale.high - scale.low, 10 if narrow else 20)
    shapes: list[Shape] = [*columns(scale, unit, top - 6, foot, 2, most=4 if narrow else 10),
                           Text(right, foot + 36, "time to the first token, ms", "axis", "end")]
    for number, row in enumerate(result.blocks, start=1):
        y = top + pitch * (number - 1) + (12 if narrow else 8)
        name = f"block {number}"
        shapes += [Text(left if narrow else 0, y - 4 if narrow else y + 17, name, "name"),
                   line(left, y + 12, right, y + 12, "rule")]
        for guess in sorted(row, key=lambda guess: guess.right):
            css = "present" if guess.right else "hollow"
            shapes.append(Bar(round(scale(guess.seen_ms) - 4, 2), y + (3 if guess.right else 7), 8,
                              18 if guess.right else 10, css))
    return Drawing(width, foot + 42, result.finding, tuple(shapes))
