"""The pictures of the in-flight view, by replicas: the swing of the count against the seats, KV against the pool."""
from collections.abc import Iterator
from dataclasses import dataclass

from calculators.labs.base import Shown
from calculators.models.in_flight import InFlight, Share
from calculators.pictures import NARROW, WIDE, Bar, Drawing, Scale, Shape, Text, line, wall_beside
from calculators.ruled import columns, round_unit

NAMES = 128


@dataclass(frozen=True, slots=True)
class Picture:
    """What the fragment loops over, and the unit of each drawing's columns."""

    wide: Drawing
    narrow: Drawing
    wide_unit: float
    narrow_unit: float
    kv_wide: Drawing
    kv_narrow: Drawing
    kv_wide_unit: float
    kv_narrow_unit: float


def picture(shown: Shown) -> Picture:
    """All drawings; what the reader said is a number of sequences."""
    result, seats, pool = shown.result, shown.inputs["max_num_seqs"], shown.inputs["pool_gib"]
    most = max(result.shares[0].p99, min(seats, result.shares[0].p99 * 1.6))
    largest = max(result.shares[0].kv_gib, min(pool, result.shares[0].kv_gib * 3))
    units = [round_unit(most * 1.3, columns_of) for columns_of in (26, 8)]
    kv_units = [round_unit(largest * 1.3, columns_of) for columns_of in (26, 8)]
    return Picture(
        wide=swings(result, seats, shown.said, most, units[0], narrow=False), wide_unit=units[0],
        narrow=swings(result, seats, shown.said, most, units[1], narrow=True), narrow_unit=units[1],
        kv_wide=pools(result, pool, largest, kv_units[0], narrow=False), kv_wide_unit=kv_units[0],
        kv_narrow=pools(result, pool, largest, kv_units[1], narrow=True), kv_narrow_unit=kv_units[1],
    )


def scale_of(most: float, narrow: bool) -> Scale:
    """A scale with room for words behind the longest bar."""
    return Scale(0, most * (1.06 if narrow else 1.34), 2 if narrow else NAMES, (NARROW if narrow else WIDE) - 24)


def swings(result: InFlight, seats: int, said: float | None, most: float, unit: float, narrow: bool) -> Drawing:
    """What each of so many replicas carries, its P99 as an error bar, and the wall of its seats."""
    scale, top, row = scale_of(most, narrow), 42, 50 if narrow else 40
    foot, rows = top + row * len(result.shares), wall_rows(result, top, row, narrow)
    shapes: list[Shape] = [*columns(scale, unit, top - 12, foot, every=2 if narrow else 5)]
    for number, share in enumerate(result.shares):
        y, x, p99 = top + row * number, scale(share.batch), scale(share.p99)
        words = f"{share.batch:,.0f}, P99 {share.p99:,.0f}"
        shapes += name_of(share, scale, y, words if narrow else "", narrow)
        shapes.append(Bar(scale.start, y, round(x - scale.start, 2), 20, "present" if share.replicas == 1 else "other"))
        shapes += [line(x, y + 10, p99, y + 10, "swing"), line(p99, y + 3, p99, y + 17, "swing")]
        if not narrow:
            wall = scale(min(seats, scale.high))
            after = (wall if p99 < wall < p99 + 130 else p99) + 14
            shapes.append(Text(after, y + 15, words, "strong" if share.replicas == 1 else "value"))
    shapes += limit_wall(scale, seats, top, rows, f"{seats:,} seats")
    if said and 0 < said <= scale.high and result.shares[0].replicas == 1:
        x = scale(said)
        wall = scale(min(seats, scale.high))
        anchor = "end" if x > scale.end - 120 or x < wall < x + 90 else "start"
        shapes += [line(x, top - 4, x, top + 26, "pen"),
                   Text(x + (-8 if anchor == "end" else 8), top + (31 if narrow else 34), f"your {said:,.0f}",
                        "pen-text halo", anchor)]
    return Drawing(NARROW if narrow else WIDE, foot + 26, result.finding, tuple(shapes))


def pools(result: InFlight, pool: float, largest: float, unit: float, narrow: bool) -> Drawing:
    """The mean resident KV of each replica against its pool, and the step at that batch."""
    scale, top, row = scale_of(largest, narrow), 42, 46 if narrow else 40
    foot, rows = top + row * len(result.shares), wall_rows(result, top, row, narrow)
    shapes: list[Shape] = [*columns(scale, unit, top - 12, foot, every=2 if narrow else 5)]
    for number, share in enumerate(result.shares):
        y, x = top + row * number, scale(share.kv_gib)
        fits = share.replicas == result.replicas_for_kv
        held = f"{share.kv_gib:,.1f} GiB, {'does not fit' if not share.fits else f'{share.pool_share:.0%} full'}"
        words = f"{held}; step {share.step_ms:,.1f} ms"
        shapes += name_of(share, scale, y, words if narrow else "", narrow)
        shapes.append(Bar(scale.start, y, max(round(x - scale.start, 2), 1), 20, "present" if fits else "other"))
        if not narrow:
            edge = scale(min(pool, scale.high))
            after = (edge if x < edge < x + 250 else x) + 14
            shapes.append(Text(after, y + 15, words, "strong" if fits else "value"))
    shapes += limit_wall(scale, pool, top, rows, f"pool {pool:g} GiB")
    held = ", ".join(f"{share.kv_gib:,.1f} GiB of {share.replicas:,}" for share in result.shares)
    return Drawing(NARROW if narrow else WIDE, foot + 26, f"KV of each replica: {held}", tuple(shapes))


def name_of(share: Share, scale: Scale, y: float, words: str, narrow: bool) -> Iterator[Shape]:
    """"3 replicas", left of the bar or, on a phone, above it with the words."""
    name = f"{share.replicas:,} replica{'s' * (share.replicas != 1)}"
    yield Text(scale.start, y - 5, f"{name}: {words}", "label") if narrow else Text(scale.start - 12, y + 15, name,
                                                                                      "value", "end")


def wall_rows(result: InFlight, top: float, row: float, narrow: bool) -> list[tuple[float, float]]:
    """The heights of a wall: one through all rows, or on a phone, where words stand between them, one a row."""
    if not narrow:
        return [(top - 14, top + row * len(result.shares))]
    return [(top + row * number - 3, top + row * number + 23) for number in range(len(result.shares))]


def limit_wall(scale: Scale, limit: float, top: float, rows: list[tuple[float, float]], words: str) -> Iterator[Shape]:
    """The limit with its name, or only the name with an arrow where it lies beyond the paper."""
    if limit > scale.high:
        yield Text(scale.end, top - 20, f"{words} →", "limit-text", "end")
        return
    for y1, y2 in rows:
        yield from wall_beside(scale(limit), y1, y2)
    anchor = "end" if scale(limit) > scale.end - 60 else "middle" if scale(limit) > scale.start + 60 else "start"
    yield Text(scale(limit), top - 24, words, "limit-text", anchor)
