"""The picture of paging waste: the last blocks of some sequences, and the waste by block size."""
from calculators.labs.base import Shown
from calculators.labs.kv_size_parts import Part, Picture, Row, Swatch, Table, both, sides
from calculators.models.kv_token import binary
from calculators.models.paging_waste import PagingWaste
from calculators.pictures import Bar, Drawing, Shape, Text, line, thousands

RULED = 32  # block sizes up to this have their tokens ruled


def picture(shown: Shown) -> Picture:
    """Both drawings of each part; what the reader said is a number of tokens, and stands in the verdict alone."""
    result, size = shown.result, shown.inputs["block_size"]
    wide, narrow = (last_blocks(result, size, width, small) for width, small in sides())
    sizes = both("Waste and prefix hits by block size", ("of the mean length, %", f"of {prefix(shown)} shared, hit"),
                 size_rows(result))
    reserved = tuple(reservation(result, width) for width in (1_080, 350))
    return Picture(
        main=Part(
            f"The last block of {len(result.drawn):,} of {result.sequences:,} sequences" if len(result.drawn) > 1 else
            "The last block of the sequence", wide, narrow, f"blocks of {size:,} tokens; all before the last are full",
            *(("One column is one token.",) * 2 if size <= RULED else ("", "")),
            (Swatch("s-decoding", "tokens"), Swatch("s-idle", "empty", "idle")),
            f"{result.waste_verdict} Expected are {result.expected_each:g} tokens a sequence, "
            f"{result.expected_tokens:,.0f} in all; these lengths leave {result.wasted_tokens:,}.",
        ),
        side=Part("By block size", *sizes, words="Waste does not depend on the length, so its share falls with it. A "
                  "shared prefix is found again in whole blocks alone."),
        below=Part("Before paging: one piece for the longest", *reserved, words=result.reserved_verdict,
                   legend=(Swatch("s-decoding", "tokens"), Swatch("s-idle", "reserved and empty", "idle"))),
        tables=(
            Table(
                "By block size", ("block size", "a block", "blocks in the pool", "most wasted", "mean, % of the length",
                                  "wasted by these"),
                tuple(
                    (f"{row.block_size:,}{' (present)' * row.present}", binary(row.block_bytes),
                     thousands(row.pool_blocks), thousands(row.most_wasted), f"{100 * row.mean_waste_share:.2f}",
                     thousands(row.wasted_tokens))
                    for row in result.sizes
                ),
            ),
            Table(
                "The sequences drawn", ("tokens", "blocks", "empty in the last"),
                tuple((thousands(row.tokens), thousands(row.blocks), thousands(row.wasted)) for row in result.drawn),
            ),
        ),
    )


def prefix(shown: Shown) -> str:
    return f"{shown.inputs['shared_prefix_tokens']:,}"


def last_blocks(result: PagingWaste, size: int, width: float, narrow: bool) -> Drawing:
    """The last block of each drawn sequence, to one scale: what is filled, what is empty."""
    columns = 1 if narrow else 2
    half = (width - 40 * (columns - 1)) / columns
    left, right = 88, 78
    room = half - left - right
    pitch, high = 30, 20
    per_column = -(-len(result.drawn) // columns)
    shapes: list[Shape] = []
    for number, row in enumerate(result.drawn):
        x = (half + 40) * (number // per_column) + left
        y = 8 + pitch * (number % per_column)
        filled = round(room * (size - row.wasted) / size, 2)
        shapes += [Text(x - 12, y + 15, f"{row.tokens:,} tok", "value", "end"),
                   Bar(x, y, filled, high, "s-decoding")]
        if row.wasted:
            shapes.append(Bar(x + filled, y, round(room - filled, 2), high, "s-idle", pattern="idle"))
        if size <= RULED:
            ticks = (round(x + room * token / size, 2) for token in range(1, size))
            shapes += [line(tick, y, tick, y + high, "unit-lines") for tick in ticks]
        shapes.append(Text(x + room + 10, y + 15, f"{size - row.wasted:,} of {size:,}", "label"))
    return Drawing(width, 8 + pitch * per_column, result.finding, tuple(shapes))


def size_rows(result: PagingWaste) -> tuple[Row, ...]:
    """The mean share wasted and the tokens of the shared prefix that are hit, by block size."""
    return tuple(
        Row(f"{row.block_size:,}", (row.mean_waste_share, row.hit_tokens),
            (f"{100 * row.mean_waste_share:.2g}", f"{row.hit_tokens:,}"), row.present)
        for row in result.sizes
    )


def reservation(result: PagingWaste, width: float) -> Drawing:
    """One reserved piece as a strip of full width: the mean that is used, and the rest."""
    used = round(width * (1 - result.reserved_share), 2)
    words = f"{result.drawn_mean_tokens:,.0f} used of {result.reserved_tokens:,}"
    shapes = (
        Bar(0, 24, max(used, 1), 24, "s-decoding"),
        Bar(max(used, 1), 24, round(max(width - used - 1, 0), 2), 24, "s-idle", pattern="idle"),
        Text(0, 16, words, "value"),
        Text(width, 16, f"{result.reserved_sequences:,} such pieces in the pool", "label", "end"),
    )
    return Drawing(width, 56, result.reserved_verdict, shapes)
