"""The picture of hashed blocks against a radix tree: what rounding loses request by request, and both rates."""
from calculators.labs.base import Shown
from calculators.labs.engine_loop_picture import Derivation, Picture
from calculators.labs.kv_size_parts import Part, Row, Swatch, Table, both
from calculators.models.radix_tree import RadixOrHash
from calculators.pictures import NARROW, WIDE, Bar, Drawing, Scale, Shape, Text, line, thousands, wall_above
from calculators.ruled import round_unit, rows

SHOWN_NAMES = 12


def picture(shown: Shown) -> Picture:
    """Both drawings, the rates, and the orders in tables."""
    result, inputs = shown.result, shown.inputs
    block, page = inputs["block_size"], inputs["page_size"]
    drawings = [lost(result, max(block, page) - 1, width) for width in (WIDE, NARROW)]
    rates = tuple(
        Row(name, (hit,), (f"{thousands(hit)} tokens, {rate:.2%}",), present)
        for name, hit, rate, present in (
            (f"hashed blocks of {block}", result.block_hit_tokens, result.block_rate, True),
            (f"tree, pages of {page}", result.radix_hit_tokens, result.radix_rate, False),
        )
    )
    return Picture(
        parts=(
            Part("Tokens lost to rounding, request by request", *drawings,
                 "shared with the cached prompt and yet not hit",
                 legend=(Swatch("present", f"hashed blocks of {block}"), Swatch("hollow", f"tree, pages of {page}"))),
            Part("Hit tokens of all requests", *both("Hits", ("tokens",), rates, WIDE)),
        ),
        derivations=(Derivation("Said out loud", result.lines),),
        words=f"{result.finding} In time: {result.apart_ms:.2g} ms of prefill a request. The rule is the same in both, "
              "an exact beginning from token 0; whether it is a tree or a map makes no hit more.",
        tables=(
            Table("What a full cache would take first", ("policy", "order of eviction"),
                  tuple((policy, listed(names)) for policy, names in result.evicted.items())
                  + (("hashed blocks", "least recently freed, each request tail first"),)),
            Table("Who is served next, all waiting", ("policy", "order"),
                  tuple((policy, listed(names)) for policy, names in result.queue.items())),
            Table("Each request", ("request", "shared", "hit in blocks", "hit in the tree"),
                  tuple((each.name, thousands(each.shared), thousands(each.block_hit), thousands(each.radix_hit))
                        for each in result.asked[:100])),
        ),
    )


def listed(names: tuple[str, ...]) -> str:
    """The first names, and how many follow."""
    rest = len(names) - SHOWN_NAMES
    return ", ".join(names[:SHOWN_NAMES]) + (f" and {rest:,} more" if rest > 0 else "")


def lost(result: RadixOrHash, most: int, width: float) -> Drawing:
    """A pair of columns a request, under the most that rounding can lose."""
    narrow = width == NARROW
    left, top, foot = 34, 44, 200
    scale = Scale(0, max(most, 1), foot, top)
    unit = max(round_unit(max(most, 1), 4), 1)
    shapes: list[Shape] = [*rows(scale, unit, left, width - 4), Text(0, 14, "tokens", "axis")]
    step = (width - left - 8) / len(result.asked)
    for number, each in enumerate(result.asked):
        x = left + 2 + step * number
        for place, (css, hit) in enumerate((("present", each.block_hit), ("hollow", each.radix_hit))):
            y = scale(min(each.shared - hit, most))
            shapes.append(Bar(round(x + step * 0.42 * place, 2), y, max(round(step * 0.38, 2), 0.8),
                              round(max(foot - y, 1), 2), css))
        every = -(-len(result.asked) // (8 if narrow else 20))
        if number % every == 0:
            shapes.append(Text(round(x + step * 0.4, 2), foot + 17, each.name, "axis", "middle"))
    if most:
        shapes += [*wall_above(left, width - 4, top),
                   Text(width - 4, top - 14, f"at most {most:,}", "limit-text", "end")]
    shapes += [line(left, foot, width - 4, foot, "edge"),
               Text(width - 4, foot + 36, "requests in order of arrival", "axis", "end")]
    return Drawing(width, foot + 42, result.finding, tuple(shapes))
