"""The picture of KV size and concurrency: the pool ruled in sequences, the three ceilings, and models beside it."""
from collections.abc import Iterator
from dataclasses import dataclass
from math import ceil

from calculators.labs.base import Shown
from calculators.labs.kv_size_parts import LETTER, Part, Picture, Row, Swatch, Table, both, sides
from calculators.models.kv_size import FLAG, KV, RIDGE, KvSize
from calculators.models.kv_token import binary
from calculators.pictures import WALL, WIDE, Bar, Drawing, Shape, Text, line, thousands, wall_beside

ROUND = (1, 2, 5)
MOST_CELLS = {False: 440, True: 160}
PER_ROW = {False: 55, True: 20}
IN_SMALL = ("Llama-2-7B", "Llama-3.1-70B", "Llama-3.1-8B", "DeepSeek-V3")
CEILINGS = {KV: "KV pool", RIDGE: "ridge", FLAG: "max_num_seqs"}


def picture(shown: Shown) -> Picture:
    """Both drawings of each part; what the reader said is a number of sequences."""
    result, said = shown.result, shown.said
    wide, narrow = (ruling_of(result, width, small) for width, small in sides())
    ceilings = both("The three ceilings, in sequences", ("sequences",), ceiling_rows(result))
    models = both(
        "KV of a token and of one request, by model", ("a token", "one request"),
        model_rows(result), WIDE,
    )
    context = shown.inputs["context_tokens"]
    return Picture(
        main=Part(
            "The pool, ruled in sequences", ruled(result, wide, said), ruled(result, narrow, said),
            f"{context:,} tokens each", unit(wide.each), unit(narrow.each),
            (Swatch("s-decoding", "decoding"), Swatch("s-idle", "left over", "idle"))
            + ((Swatch("never", "never admitted"),) if result.reached < result.sequences else ()),
            " ".join(filter(None, (result.binds_verdict, result.split_verdict, result.window_verdict))),
        ),
        side=Part("Which ceiling comes first", *ceilings, words=CEILING_WORDS),
        below=Part("Other models, the same format and split", *models,
                   note=f"on each GPU; the request has {context:,} tokens and decodes"),
        tables=tables(result),
    )


CEILING_WORDS = (
    "The ridge is where reading the weights takes as long as multiplying by them: more sequences still fit past it, "
    "and each of them only makes the step longer."
)


def unit(each: int) -> str:
    return f"One cell is {'one sequence' if each == 1 else f'{each:,} sequences'}, to scale."


@dataclass(frozen=True, slots=True)
class Ruling:
    """The pool as rows of cells to scale: how many there are, with fractions, and how many sequences each is."""

    cells: float
    each: int
    width: float
    rows: int

    @property
    def pitch(self) -> float:
        return self.width / (self.cells / self.rows)

    @property
    def high(self) -> float:
        return 44 if self.rows == 1 else 24

    @property
    def foot(self) -> float:
        return self.y(self.rows)

    def y(self, row: int) -> float:
        return 24 + (self.high + 4) * row

    def at(self, place: float) -> tuple[float, float]:
        """Where a place of the pool, in cells, lies."""
        row = min(int((place * self.pitch - 1e-6) // self.width), self.rows - 1)
        return round(place * self.pitch - row * self.width, 2), self.y(row)

    def bars(self, first: float, last: float, css: str, pattern: str = "") -> Iterator[Shape]:
        """What lies between two places, in pieces where a row ends; a hair is left between cells."""
        start, end = first * self.pitch, last * self.pitch
        gap = 2.5 if self.pitch > 6 else 0
        while end - start > 0.5:
            row = min(int((start + 1e-6) // self.width), self.rows - 1)
            stop = min(end, (row + 1) * self.width) if row < self.rows - 1 else end
            drawn = round(max(stop - start - gap, 0.5), 2)
            yield Bar(round(start - row * self.width, 2), self.y(row), drawn, self.high, css, pattern=pattern)
            start = stop


def ruling_of(result: KvSize, width: float, narrow: bool) -> Ruling:
    """A cell for each sequence, or for a round number of them where they are many."""
    units = result.pool_blocks / result.sequence_blocks
    counts = (n * 10**power for power in range(12) for n in ROUND)
    each = next(count for count in counts if units / count <= MOST_CELLS[narrow])
    return Ruling(units / each, each, width, ceil(units / each / PER_ROW[narrow]))


def ruled(result: KvSize, ruling: Ruling, said: float | None) -> Drawing:
    """The pool in sequences: those that decode, those that are never admitted, and what is left over."""
    shapes: list[Shape] = []
    full = result.sequences // ruling.each
    for number in range(full):
        admitted = number * ruling.each < result.reached
        shapes += ruling.bars(number, number + 1, "s-decoding" if admitted else "never")
    shapes += ruling.bars(full, ruling.cells, "s-idle", "idle")
    shapes += marks(result, ruling, said)
    held = f"{binary(result.pool_bytes)} of KV"
    if ruling.width == WIDE:
        held += f": {result.pool_blocks:,} blocks"
    shapes += [Text(0, 16, f"{result.sequences:,} sequence{'s' * (result.sequences != 1)}", "end"),
               Text(ruling.width, 16, held, "label", "end")]
    return Drawing(ruling.width, ruling.foot, result.finding, tuple(shapes))


def marks(result: KvSize, ruling: Ruling, said: float | None) -> Iterator[Shape]:
    """Walls at the flag and the ridge where they lie inside the pool, and the reader's number as a pen line."""
    ceilings = sorted([(result.ridge, f"ridge {result.ridge:,}"), (result.flag, f"max_num_seqs {result.flag:,}")])
    inside = ((count, words) for count, words in ceilings if count < result.sequences)
    for count, words in inside:
        x, y = ruling.at(count / ruling.each)
        yield from wall_beside(min(x, ruling.width - WALL), y - 2, y + ruling.high + 2)
        beside = x + 14 + LETTER * len(words) < ruling.width
        yield Text(x + 14 if beside else x - 8, y + ruling.high / 2 + 5, words, "limit-text halo",
                   "start" if beside else "end")
    if said and 0 < said <= result.pool_blocks / result.sequence_blocks:
        x, y = ruling.at(said / ruling.each)
        yield line(x, y - 4, x, y + ruling.high + 4, "pen")
        yield Text(min(max(x, 40), ruling.width - 40), y + ruling.high / 2 + 5, f"your {said:,.4g}", "pen-text halo",
                   "middle")


def ceiling_rows(result: KvSize) -> tuple[Row, ...]:
    """The three ceilings, the lowest as the case at hand."""
    counts = {KV: result.sequences, RIDGE: result.ridge, FLAG: result.flag}
    return tuple(
        Row(CEILINGS[name], (count,), (f"{count:,}",), name == result.binds) for name, count in counts.items()
    )


def model_rows(result: KvSize) -> tuple[Row, ...]:
    """Some models, the present one as the case at hand."""
    return tuple(
        Row(row.name, (row.gpu_token_bytes, row.request_bytes),
            (binary(row.gpu_token_bytes), binary(row.request_bytes)), row.present)
        for row in result.compared
    )


def tables(result: KvSize) -> tuple[Table, ...]:
    """The same numbers as words."""
    return (
        Table(
            "Sequences by length", ("tokens each", "blocks each", "fit the pool", "reached", "lowest ceiling"),
            tuple(
                (f"{thousands(row.context)}{' (present)' if row.present else ''}", thousands(row.blocks),
                 thousands(row.sequences), f"{thousands(row.reached)}{', past the ridge' if row.past_ridge else ''}",
                 CEILINGS[row.binds])
                for row in result.contexts
            ),
        ),
        Table(
            "Layer groups", ("layers", "keep", "blocks while it prefills"),
            tuple((f"{group.layers:,}", group.kind.replace("_", "-"), f"{group.blocks:,}") for group in result.groups),
        ),
        Table(
            "Other models", ("model", "a token, each GPU", "one request, each GPU"),
            tuple((row.name, binary(row.gpu_token_bytes), binary(row.request_bytes)) for row in result.compared),
        ),
    )


def thumbnail(result: KvSize) -> Drawing:
    """Bytes of a token by model, without words."""
    rows = sorted((row for row in result.compared if row.name in IN_SMALL), key=lambda row: -row.token_bytes)
    shapes = tuple(
        Bar(1, 3 + 16 * place, round(210 * row.token_bytes / rows[0].token_bytes, 2), 11,
            "present" if row.present else "other")
        for place, row in enumerate(rows)
    )
    return Drawing(216, 64, result.finding, shapes)
