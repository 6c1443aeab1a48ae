"""The picture of eviction orders: the same idle prompts four times, each with what is taken, hit and stranded."""
from collections.abc import Iterator

from calculators.labs.base import Shown
from calculators.labs.engine_loop_picture import Derivation, Picture
from calculators.labs.kv_size_parts import Part, Swatch, Table
from calculators.models.eviction_order import Chains, EvictionOrder, Order
from calculators.models.kv_token import in_unit
from calculators.models.quantity import say
from calculators.pictures import NARROW, WIDE, Bar, Drawing, Shape, Text, thousands

LOOKS = {"taken": ("s-running", ""), "hit": ("s-cached", "cached"), "stranded": ("s-lost", "")}


def picture(shown: Shown) -> Picture:
    """Both drawings and the four orders in a table."""
    result, size = shown.result, shown.inputs["block_size"]
    one = shown.inputs["chains"] == 1
    draw = chain if one else panels
    words = "head at the left" if one else "a column is a prompt, oldest at the left, its head at the top"
    return Picture(
        parts=(Part(
            f"{thousands(result.pool_blocks)} blocks of idle prompts, {thousands(shown.inputs['taken_blocks'])} taken",
            draw(result, shown.inputs["chain_blocks"], WIDE), draw(result, shown.inputs["chain_blocks"], NARROW),
            f"a block is {size:,} tokens and {shown.inputs['block_mib']:g} MiB; {words}",
            legend=(Swatch("s-cached", "resident, still hits", "cached"),
                    Swatch("s-lost", "stranded: resident, out of reach"), Swatch("s-running", "taken by a newcomer")),
        ),),
        derivations=(Derivation(f"Said out loud: {here(result).says}", result.lines),),
        words=f"{result.finding} vLLM frees a request’s blocks tail first and takes from the front of one queue, so a "
              "block never goes before the one after it. Stranded blocks are not leaked: they are taken in their turn, "
              "and computing the missing head again brings them back.",
        tables=(Table(
            "What is left, by order", ("order", "resident", "can be hit", "stranded", "resends hit"),
            tuple((each.says, thousands(each.resident), thousands(each.reachable),
                   f"{thousands(each.stranded)}, {in_size(each.stranded_bytes)}",
                   f"{thousands(each.hit_tokens)} tokens, {each.hit_rate:.1%}") for each in result.orders),
        ),),
    )


def here(result: EvictionOrder) -> Order:
    """The order looked at."""
    return next(each for each in result.orders if each.present)


def pieces(run: Chains, length: int) -> list[tuple[str, int, int]]:
    """A prompt's blocks from the head as pieces: what became of them, and from where to where."""
    middle = "stranded" if run.heads else "hit"
    cuts = (("taken", 0, run.heads), (middle, run.heads, length - run.tails), ("taken", length - run.tails, length))
    return [(what, start, end) for what, start, end in cuts if end > start]


def verdict(each: Order) -> str:
    """What is stranded, in words."""
    return f"{thousands(each.stranded)} stranded, {in_size(each.stranded_bytes)}" if each.stranded else "none stranded"


def in_size(size: int) -> str:
    """Bytes to four figures: "3.998 GiB"."""
    return say(*in_unit(size), 4)


def chain(result: EvictionOrder, length: int, width: float) -> Drawing:
    """One prompt in four rows, each with where a lookup stops."""
    narrow = width == NARROW
    left, pitch = (2, 86) if narrow else (230, 74)
    step = min((width - left - (6 if narrow else 190)) / length, 80)
    shapes: list[Shape] = []
    for number, each in enumerate(result.orders):
        y = pitch * number + (24 if narrow else 22)
        run = each.runs[0] if each.runs[0].heads or each.runs[0].tails or len(each.runs) == 1 else each.runs[-1]
        name = "value" if not each.present else "strong" if narrow else "name"
        shapes.append(Text(left, y - 7, each.says, name) if narrow else Text(0, y + 19, each.says, name))
        for what, start, end in pieces(run, length):
            shapes += cells(what, left + step * start, y, step, end - start, 28)
        walked = length - run.tails if not run.heads else 0
        words = (f"a lookup walks {thousands(walked)}: {thousands(each.hit_tokens)} tokens hit" if walked
                 else "stops at the hole: 0 hit")
        shapes.append(Text(left, y + 46, words, "label"))
        if narrow:
            shapes.append(Text(width - 2, y - 7, verdict(each), "cached-text" if each.stranded else "label", "end"))
        else:
            shapes.append(Text(round(left + step * length + 18, 2), y + 19, verdict(each),
                               "cached-text" if each.stranded else "label"))
    return Drawing(width, pitch * len(result.orders), result.finding, tuple(shapes))


def cells(what: str, x: float, y: float, step: float, count: int, height: float) -> Iterator[Shape]:
    """Blocks in a row: one by one, or in one piece where they are many."""
    css, pattern = LOOKS[what]
    if step < 7:
        yield Bar(round(x, 2), y, max(round(step * count, 2), 1), height, css, pattern=pattern)
        return
    for place in range(count):
        yield Bar(round(x + step * place, 2), y, round(step - 2, 2), height, css, pattern=pattern)


def panels(result: EvictionOrder, length: int, width: float) -> Drawing:
    """Four small pools, a column a prompt."""
    narrow = width == NARROW
    per_row = 2 if narrow else 4
    room, tall = (160, 110) if narrow else (236, 150)
    chains = sum(run.chains for run in result.orders[0].runs)
    wide, high = room / chains, tall / length
    shapes: list[Shape] = []
    pitch = tall + 76
    for number, each in enumerate(result.orders):
        x = number % per_row * (width - room) / (per_row - 1)
        y = number // per_row * pitch + 24
        shapes.append(Text(round(x, 2), y - 9, each.says, "strong" if each.present else "value"))
        at = 0
        for run in each.runs:
            shapes += block_of(run, length, x + wide * at, y, wide, high)
            at += run.chains
        shapes += [Text(round(x, 2), y + tall + 18, f"{thousands(each.reachable)} can be hit", "strong"),
                   Text(round(x, 2), y + tall + 36, verdict(each), "cached-text" if each.stranded else "label")]
    rows = len(result.orders) // per_row
    return Drawing(width, pitch * rows, result.finding, tuple(shapes))


def block_of(run: Chains, length: int, x: float, y: float, wide: float, high: float) -> Iterator[Shape]:
    """Neighbouring prompts that lost the same: block by block, or in pieces where they are many."""
    single = wide >= 5 and high >= 5
    for what, start, end in pieces(run, length):
        css, pattern = LOOKS[what]
        if not single:
            yield Bar(round(x, 2), round(y + high * start, 2), max(round(wide * run.chains, 2), 1),
                      max(round(high * (end - start), 2), 1.5), css, pattern=pattern)
            continue
        for chain_number in range(run.chains):
            for place in range(start, end):
                yield Bar(round(x + wide * chain_number, 2), round(y + high * place, 2), round(wide - 1.5, 2),
                          round(high - 1.5, 2), css, pattern=pattern)
