"""The lora lab's pictures: a lane a tenant, waiting or running; what adapters cost a step; admission step by step."""
from collections.abc import Iterator
from itertools import groupby

from calculators.labs.base import Shown
from calculators.labs.engine_loop_picture import Derivation, Picture
from calculators.labs.kv_size_parts import Part, Row, Swatch, Table, both, sides
from calculators.models.lora import Lora, Served, Stretch
from calculators.models.lora_steps import Admissions
from calculators.models.quantity import say, span
from calculators.pictures import NARROW, WIDE, Bar, Drawing, Scale, Shape, Text, line
from calculators.ruled import columns, past_words, round_unit, width_of

MOST_LANES, MOST_COLUMNS, LANE = 8, 20, 26
STATES = (Swatch("s-running", "runs"), Swatch("s-waiting", "all its requests wait"))


def tenants(shown: Shown) -> Picture:
    """The run as set over the run with a slot for each, on one clock; what adapters add to a step; what slots take."""
    result: Lora = shown.result
    count, cap = shown.inputs["tenants"], shown.inputs["max_loras"]
    longest = max(result.served.makespan_s, result.in_one_batch.makespan_s)
    said = shown.said if isinstance(shown.said, int | float) else None
    as_set = Part(f"max_loras {cap:,}", *(lanes(result.served, longest, width, said) for width, _ in sides()),
                  "a lane a tenant, with how many of its requests run", legend=legend(result.served))
    each = Part(f"max_loras {count:,}: a slot for each",
                *(lanes(result.in_one_batch, longest, width, None) for width, _ in sides()), "on the same clock",
                legend=legend(result.in_one_batch))
    return Picture(
        parts=(as_set, *([each] if cap < count else []), reads(result, count, cap), slots(result, shown.inputs)),
        derivations=(Derivation("Said out loud", result.lines),), words=f"{result.verdict} {result.slots_verdict}",
        tables=(
            Table("Tenants, as set",
                  ("tenant", "mean wait, s", "done after, s", "requests", "longest wait, s", "passed over", "starved"),
                  tuple((each.name, f"{each.mean_wait_s:,.2f}", f"{each.done_s:,.2f}", f"{each.requests:,}",
                         f"{each.longest_wait_s:,.2f}", f"{each.passed_over:,}", "yes" if each.starved else "no")
                        for each in result.served.tenants)),
            Table(f"{cap:,} slots by max_lora_rank", ("rank", "GB", "KV tokens", "an adapter, MB"),
                  tuple((f"{each.slot_rank}", f"{each.all_bytes / 1e9:,.2f}", f"{each.kv_tokens:,}",
                         f"{each.adapter_bytes / 1e6:,.1f}") for each in result.by_rank)),
        ),
    )


def legend(served: Served) -> tuple[Swatch, ...]:
    """What stands for running, and for waiting where anybody drawn does."""
    waits = any(not each.running for tenant in served.tenants[:MOST_LANES] for each in tenant.stretches)
    return STATES if waits else STATES[:1]


def lanes(served: Served, longest_s: float, width: float, said_s: float | None) -> Drawing:
    """One lane for each of the first tenants, to the time at which all are done."""
    narrow = width == NARROW
    drawn = served.tenants[:MOST_LANES]
    left, right = 26, width - (8 if narrow else 14)
    guessed = bool(said_s and 0 < said_s <= longest_s)
    scale, top = Scale(0, longest_s, left, right), 46 if guessed else 30
    foot = top + LANE * len(drawn)
    unit = round_unit(longest_s, 10 if narrow else 30)
    every, most = (2, 4) if narrow else (5, 10)
    shapes: list[Shape] = [*columns(scale, unit, top - 4, foot, every=every, most=most)]
    for place, tenant in enumerate(drawn):
        y = top + LANE * place
        shapes.append(Text(left - 10, y + 17, tenant.name, "strong", "end"))
        shapes += lane(tenant.stretches, y + 2, scale)
    end = scale(served.makespan_s)
    shapes.append(line(end, 22, end, foot + 3, "ink"))
    words = say(served.makespan_s, "s", 4)
    room = width_of(words) * 1.3
    shapes.append(Text(max(end, left + room), 18, words, "end", "end"))
    if guessed:
        x = scale(said_s)
        shapes += [Text(min(x, width - 14), top - 11, "you", "pen-text halo", "middle"),
                   past_words(x, top - 6, foot, shapes)]
    more = len(served.tenants) - len(drawn)
    shapes.append(Text(right, foot + 34, "seconds", "axis", "end"))
    if more:
        shapes.append(Text(left, foot + 34, f"and {more:,} more tenants", "label"))
    title = (f"With max_loras {served.max_loras:,} {len(served.tenants):,} tenants are done after "
             f"{span(served.makespan_s)}, {served.tokens_per_s:,.0f} tokens/s")
    return Drawing(width, foot + 42, title, tuple(shapes))


def lane(stretches: tuple[Stretch, ...], y: float, scale: Scale) -> Iterator[Shape]:
    """A tenant's time: solid while any of its requests runs, hollow while it only waits."""
    for runs, group in groupby(stretches, key=lambda each: each.running > 0):
        pieces = list(group)
        for piece in joined(pieces):
            x, w = scale(piece[0].starts_s), round(scale(piece[-1].ends_s) - scale(piece[0].starts_s), 2)
            if not runs:
                yield Bar(x, y + 4, w, 14, "s-waiting")
                continue
            yield Bar(x, y, w, 22, "s-running")
            counts = [each.running for each in piece]
            words = f"{min(counts)}" if min(counts) == max(counts) else f"{min(counts)} to {max(counts)}"
            if width_of(words) + 8 < w:
                yield Text(round(x + w / 2, 2), y + 16, words, "on-running", "middle")


def joined(pieces: list[Stretch]) -> Iterator[list[Stretch]]:
    """Stretches in runs without a gap between them."""
    run: list[Stretch] = []
    for piece in pieces:
        if run and piece.starts_s > run[-1].ends_s + 1e-9:
            yield run
            run = []
        run.append(piece)
    yield run


def reads(result: Lora, tenants_: int, cap: int) -> Part:
    """What a step reads beside the weights, by distinct adapters, whatever the number of their requests."""
    here = min(tenants_, cap)
    counts = sorted({1, 2, 4, 8, here, tenants_})
    rows = tuple(
        Row(f"{count:,} adapter{'s' * (count != 1)}", (count * result.slot_bytes,),
            (f"{count * result.slot_bytes / 1e6:,.4g} MB, +{count * result.one_adapter_percent:.3g}%",),
            count == here)
        for count in counts
    )
    return Part("Read in each step, beside the weights", *both("Adapters read", ("distinct in the batch",), rows, WIDE),
                "each once, for one request or for sixty-four",
                words=f"One adapter adds {result.one_adapter_ms:.3g} ms to a step, all {tenants_:,} of them "
                      f"{result.all_adapters_ms:.3g} ms. In FLOP, rank × (in + out) a token, an adapter is "
                      f"{result.flop_percent:.2g}% of the model.")


def slots(result: Lora, inputs: dict) -> Part:
    """What the slots hold from the start, by max_lora_rank."""
    rows = tuple(Row(f"rank {each.slot_rank}", (each.all_bytes,),
                     (f"{each.all_bytes / 1e9:,.3g} GB, {each.kv_tokens:,} tokens",),
                     each.slot_rank == inputs["max_lora_rank"]) for each in result.by_rank)
    return Part(f"Set aside for {inputs['max_loras']:,} slot{'s' * (inputs['max_loras'] != 1)}",
                *both("Slots by rank", ("GB, and the KV tokens that would fit",), rows, WIDE),
                "by max_lora_rank, whatever the adapters’ own")


def steps(shown: Shown) -> Picture:
    """The steps up to this one: a row a tenant, a column a step, in each cell how many run or wait."""
    run, at = shown.result, shown.step
    step = run.steps[at]
    return Picture(
        parts=(Part(f"Step {at}" if at else "Before the first step", *(grid(run, at, width) for width, _ in sides()),
                    step_words(run, at), "One column is one step.", "One column is one step.",
                    (*STATES[:1], Swatch("s-waiting", "waits"))),),
        derivations=(), words=" ".join(f"{tenant}: {why}" for tenant, why in step.why.items())
        + (f" {run.finding}" if at == shown.last_step else ""),
        tables=(Table("The steps", ("step", "running", "skipped", "admitted", "finished"), tuple(
            (f"{number}", listed(f"{name} {count}" for name, count in each.running.items() if count),
             listed(each.skipped), listed(each.admitted), listed(each.finished))
            for number, each in enumerate(run.steps[: at + 1]))),),
    )


def step_words(run: Admissions, at: int) -> str:
    step = run.steps[at]
    said = [f"{', '.join(names)} {verb}" for names, verb in (
        (step.admitted, "admitted"), (step.skipped, "skipped"), (step.finished, "finished")) if names]
    return "; ".join(said) or ("nothing has been admitted yet" if not at else "nothing changes")


def listed(names: Iterator[str] | tuple[str, ...]) -> str:
    return ", ".join(names) or "-"


def grid(run: Admissions, at: int, width: float) -> Drawing:
    """Tenants over the last steps; the present column is framed, the coming ones are empty paper."""
    narrow = width == NARROW
    most = 8 if narrow else MOST_COLUMNS
    first = max(at - most + (0 if at == len(run.steps) - 1 else 1), 0) + 1
    shown = range(first, min(first + most, len(run.steps)))
    left, cell, top, row = 34, (width - 44) / most, 30, 46
    foot = top + row * len(run.names)

    def x(number: int) -> float:
        return round(left + (number - first) * cell, 2)

    shapes: list[Shape] = [line(x(number), top - 4, x(number), foot, "grid") for number in (*shown, shown[-1] + 1)]
    shapes += [Text(x(number) + cell / 2, 18, f"{number}", "now" if number == at else "axis", "middle")
               for number in shown]
    for place, tenant in enumerate(run.names):
        y = top + row * place
        shapes.append(Text(left - 12, y + 24, tenant, "strong", "end"))
        for number in shown[: max(at - first + 1, 0)]:
            step = run.steps[number]
            if runs := step.running[tenant]:
                shapes.append(Bar(x(number) + 2, y + 2, round(cell - 4, 2), 20, "s-running", f"{runs}", "on-running"))
            if waits := step.waiting[tenant]:
                shapes.append(Bar(x(number) + 2, y + 25, round(cell - 4, 2), 16, "s-waiting", f"{waits}", "label"))
    if shown[0] <= at <= shown[-1]:
        shapes.append(Bar(x(at), top - 6, round(cell, 2), foot - top + 8, "frame"))
    if at < shown[-1]:
        coming = x(max(at, first - 1) + 1)
        words = "not shown yet"
        if width - coming > width_of(words) + 12:
            shapes.append(Text(coming + 8, foot - 8, words, "label halo"))
    shapes.append(Text(0, 18, "step", "axis"))
    title = f"Step {at}: {step_words(run, at)}. {run.steps[at].adapters} adapters run."
    return Drawing(width, foot + 6, title, tuple(shapes))


def thumbnail(result: Lora) -> Drawing:
    """Tenants one after another, at 216 by 64."""
    scale = Scale(0, result.served.makespan_s, 0, 214)
    shapes: list[Shape] = []
    for place, tenant in enumerate(result.served.tenants[:MOST_LANES]):
        for piece in tenant.stretches:
            x, w = scale(piece.starts_s), round(scale(piece.ends_s) - scale(piece.starts_s), 2)
            y = 1 + 8 * place
            shapes.append(Bar(x, y, w, 6, "s-running") if piece.running else Bar(x, y + 2, w, 2, "pale"))
    return Drawing(216, 64, result.finding, tuple(shapes))
