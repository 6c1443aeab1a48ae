"""The picture of long replies: the burst that falls apart, the same pool at two ages, and what to promise."""
from calculators.labs.base import Shown
from calculators.labs.kv_size_parts import HALF, Part, Picture, Row, Swatch, Table, both, sides
from calculators.models.long_replies import Fall, LongReplies
from calculators.pictures import NARROW, Bar, Drawing, Scale, Shape, Text, line, polyline, thousands

COLUMN = 4  # units that a column of the burst is wide
MOST_BARS = 60
ROUND = (1, 2, 5)


def picture(shown: Shown) -> Picture:
    """Both drawings of each part; what the reader said is a number of sequences."""
    result, said = shown.result, shown.said
    (wide, wide_unit), (narrow, narrow_unit) = (fallen(result, said, width, small) for width, small in sides())
    ages = tuple(by_age(result, width) for width in (1_080, NARROW))
    speed = both("Speed of a user and of all, by replies at once", ("each user, tokens/s", "all, tokens/s"),
                 speed_rows(result), HALF)
    return Picture(
        main=Part(
            "A burst, decode step by decode step", wide, narrow,
            f"{result.burst.admitted:,} admitted at once; nobody comes back before a reply ends",
            wide_unit, narrow_unit, (Swatch("s-running", "still running"),)
            + ((Swatch("s-preempted", "preempted, streams nothing", "preempted"),) if result.burst.preemptions else ()),
            f"{result.burst_verdict} The prompts take {result.burst.prefill_steps:.0f} full steps, "
            f"{result.burst.prefill_s:.1f} s; then all grow {result.burst.blocks_per_step:,.4g} blocks a step.",
        ),
        side=Part("What to promise", *speed, words=f"{result.speed_verdict} However many, all together stay below "
                  f"{result.limit_tokens_per_s:,.0f} tokens/s."),
        below=Part(
            "The same pool, twice", *ages,
            note=f"a bar is {replies_of(bar_of(result))}, as tall as it is long by then",
            legend=(Swatch("s-decoding", "KV it holds"),), words=AGE_WORDS,
        ),
        tables=tables(result),
    )


AGE_WORDS = (
    "Staggered, replies are of every age and hold half their growth on average. In phase they all come to their full "
    "length, so the pool takes about half as many."
)


def replies_of(count: int) -> str:
    return "one reply" if count == 1 else f"{count:,} replies"


def fallen(result: LongReplies, said: float | None, width: float, narrow: bool) -> tuple[Drawing, str]:
    """Who still runs over the decode steps of the burst, and what one column of the grid is."""
    burst, output = result.burst, result.output_tokens
    left = 40 if narrow else 72
    clock = Scale(0, output, left, width - (8 if narrow else 14))
    count = Scale(0, burst.admitted, 250 if narrow else 312, 46)
    foot, top = count(0), count(burst.admitted)
    step = next(n * 10**power for power in range(8) for n in ROUND if output / (n * 10**power) <= (5 if narrow else 12))
    shapes: list[Shape] = []
    for tick in range(0, output + 1, step):
        shapes += [line(clock(tick), top, clock(tick), foot, "grid"),
                   Text(clock(tick), foot + 16, f"{tick:,}", "axis", "end" if clock(tick) > width - 18 else "middle")]
    if burst.preemptions:
        first = clock(burst.falls[1].step)
        shapes.append(Bar(first, top, round(clock.end - first, 2), round(foot - top, 2), "s-gap", pattern="preempted"))
    for x, running in columns(burst.falls, clock):
        y = count(running)
        shapes.append(Bar(x, y, round(min(COLUMN, clock.end - x), 2), round(foot - y, 2), "s-running s-gap"))
    shapes.append(polyline(outline(burst.falls, clock, count), "stepped"))
    shapes += words(result, clock, count, narrow)
    if said and 0 < said <= burst.admitted:
        y = count(said)
        shapes += [line(left, y, clock.end, y, "pen"),
                   Text((left + clock.end) / 2, y - 6, f"your {said:,.4g}", "pen-text halo", "middle")]
    return Drawing(width, foot + 24, result.finding, tuple(shapes)), f"One column is {step:,} steps."


def columns(falls: tuple[Fall, ...], clock: Scale) -> list[tuple[float, int]]:
    """(x, running) of columns that are COLUMN wide, each with who runs at its start."""
    made, place, x = [], 0, clock.start
    while x < clock.end - 0.5:
        step = clock.low + (x - clock.start) / (clock.end - clock.start) * (clock.high - clock.low)
        while place + 1 < len(falls) and falls[place + 1].step <= step:
            place += 1
        made.append((round(x, 2), falls[place].running))
        x += COLUMN
    return made


def outline(falls: tuple[Fall, ...], clock: Scale, count: Scale) -> list[tuple[float, float]]:
    """The stepped line over who still runs, a point at each fall that can be told apart."""
    points = [(clock(0), count(falls[0].running))]
    for fall in falls[1:]:
        x, y = clock(fall.step), count(fall.running)
        if x - points[-1][0] < 1 and fall is not falls[-1]:
            continue
        points += [(x, points[-1][1]), (x, y)]
    return [*points, (clock.end, count(falls[-1].running))]


def words(result: LongReplies, clock: Scale, count: Scale, narrow: bool) -> list[Shape]:
    """The figures that stand on the burst: admitted, the first preemption, who is left."""
    burst = result.burst
    shapes: list[Shape] = [
        Text(clock.start - 8, count(burst.admitted) + 5, f"{burst.admitted:,}", "value", "end"),
        Text(clock.start - 8, count(0) + 4, "0", "axis", "end"),
        Text(clock.start, 12, "replies running" if narrow else "replies running, over decode steps", "label"),
    ]
    if burst.first_preemption_step:
        x, y = clock(burst.first_preemption_step), count(burst.admitted)
        text = f"first preemption at step {burst.first_preemption_step:,}"
        width = len(text) * 9
        shapes += [line(x, y - 8, x, y + 2, "ink"),
                   Text(x + 6, y - 8, text, "strong") if x + width < clock.end
                   else Text(clock.end, y - 8, text, "strong", "end")]
        left = count(burst.survivors)
        shapes.append(Text(clock.end, min(left - 8, count(0) - 22), f"{burst.survivors:,} left", "strong halo", "end"))
    return shapes


def bar_of(result: LongReplies) -> int:
    """How many replies a bar of the pool stands for."""
    return -(-max(int(result.staggered_sequences), 1) // MOST_BARS)


def by_age(result: LongReplies, width: float) -> Drawing:
    """The pool as bars of replies: staggered ones of every age beside those in phase, on one scale."""
    narrow = width <= NARROW
    gap = 0 if narrow else 60
    half = width if narrow else (width - gap) / 2
    high = 96
    shapes: list[Shape] = []
    held = ((result.staggered_sequences, "staggered", True), (result.burst_sequences, "in phase", False))
    most = max(int(result.staggered_sequences), 1)
    every = bar_of(result)
    for place, (count, name, staggered) in enumerate(held):
        left, top = (0, (high + 46) * place) if narrow else ((half + gap) * place, 0)
        whole = max(int(count), 1)
        pitch = half / -(-most // every)
        scale = Scale(0, result.final_context, 0, high)
        for bar in range(-(-whole // every)):
            age = (bar * every + every / 2) / whole
            tall = scale(result.prompt_tokens + min(age, 1) * result.output_tokens if staggered
                         else result.final_context)
            x = left + bar * pitch
            shapes.append(Bar(round(x + 1, 2), round(top + 24 + high - tall, 2), round(max(pitch - 1.5, 0.6), 2), tall,
                              "s-decoding"))
        shapes.append(line(left, top + 24 + high, left + half, top + 24 + high, "edge"))
        mean = result.mean_context if staggered else result.final_context
        shapes += [Text(left, top + 14, f"{whole:,} {name}", "name"),
                   Text(left + half, top + 14, f"{mean:,.6g} tokens each{' on average' * staggered}", "label", "end")]
    drawn = (high + 46) * 2 - 12 if narrow else high + 34
    return Drawing(width, drawn, f"{int(result.staggered_sequences):,} replies staggered and "
                   f"{int(result.burst_sequences):,} in phase fill the same pool", tuple(shapes))


def speed_rows(result: LongReplies) -> tuple[Row, ...]:
    """A user's speed and everybody's, by replies at once."""
    return tuple(
        Row(f"{row.sequences:,}", (row.user_tokens_per_s, row.tokens_per_s),
            (f"{row.user_tokens_per_s:,.0f}", f"{row.tokens_per_s:,.0f}"), row.present)
        for row in result.batches
    )


def tables(result: LongReplies) -> tuple[Table, ...]:
    """The same numbers as words."""
    burst = result.burst
    every = -(-len(burst.falls) // 12)
    shown = [fall for place, fall in enumerate(burst.falls) if place % every == 0 or fall is burst.falls[-1]]
    return (
        Table(
            "Speed at the mean context", ("replies at once", "gap, ms", "each user, tokens/s", "all, tokens/s",
                                          "one reply, s"),
            tuple(
                (f"{row.sequences:,}{'' if row.fits else ' (more than the pool holds)'}", f"{row.itl_ms:.1f}",
                 f"{row.user_tokens_per_s:,.0f}", f"{row.tokens_per_s:,.0f}", f"{row.reply_s:,.0f}")
                for row in result.batches
            ),
        ),
        Table(
            f"The burst{', one fall in ' + str(every) if every > 1 else ''}",
            ("decode step", "running", "blocks each"),
            tuple((thousands(fall.step), thousands(fall.running), thousands(fall.blocks_each)) for fall in shown),
        ),
        Table(
            "A preempted reply computed again", ("tokens", "GPU time, ms"),
            tuple((thousands(row.tokens), f"{row.takes_ms:.0f}") for row in result.recomputes),
        ),
    )
