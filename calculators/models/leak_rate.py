"""Growing host memory: which counter it follows, bytes an event, which suspects that leaves, and hours to the limit."""
import re
from dataclasses import dataclass, replace
from math import sqrt

from calculators.models.base import Line, Refusal
from calculators.models.quantity import say

GIB, MIB = 2**30, 2**20
TIME, RSS, REQUESTS = "min", "rss", "requests"
HEAD = (TIME, REQUESTS, RSS, "aborts")
FEWEST, MOST, COLUMNS = 4, 500, 8
LARGEST = 1e12
SIGNIFICANT = 3  # standard errors from 0
BOUNDED = 0.25  # of the first half's slope: less in the second is a plateau
WIDER = 0.15  # by so much a suspect may miss the slope
SURE = 2  # standard errors
SLIP_APART = 0.05
NONE = "none"
# Three hours of an 8B's EngineCore under a load that comes and goes: minute, requests, resident MiB, aborted requests.
THREE_HOURS = (
    "min,requests,rss,aborts; 0,0,10035,0; 10,3600,10117,72; 20,10800,10295,288; 30,22800,10567,658; "
    "40,39600,10960,1022; 50,57600,11375,1218; 60,72000,11722,1340; 70,82800,11991,1519; 80,88800,12124,1686; "
    "90,92400,12215,1800; 100,94800,12262,1859; 110,97200,12320,1891; 120,102000,12430,1929; 130,111600,12633,2059; "
    "140,127200,13030,2449; 150,145200,13448,3022; 160,162000,13842,3489; 170,174000,14097,3687; 180,181200,14265,3747"
)
SUSPECTS = {
    "tokens": "token ids as Python lists", "hashes": "block hashes", "blocks": "block ids",
    "logprobs": "logprobs of the replies", "images": "image tensors", "grammars": "the grammar cache",
    "mm-cache": "the multimodal cache", "queue": "the waiting queue", "pinned": "pinned buffers", NONE: "none of these",
}


@dataclass(frozen=True, slots=True)
class Fit:
    """Resident memory against one counter by least squares; `halves` is the second half's slope over the first's.

    `moved` is False for a counter that stayed as it was; it has no slope then.
    """

    name: str
    events: float
    slope_bytes: float
    error_bytes: float
    r_squared: float
    intercept_gib: float
    halves: float | None
    moved: bool

    @property
    def words(self) -> str:
        """The counter as one says it."""
        return "minutes" if self.name == TIME else self.name

    @property
    def significant(self) -> bool:
        return self.moved and self.slope_bytes > SIGNIFICANT * self.error_bytes


@dataclass(frozen=True, slots=True)
class Suspect:
    """Something that could be kept: bytes an event from `low` to `high`, where it stops, and why it is out, "" if not.
    """

    slug: str
    name: str
    counter: str
    low_bytes: float
    high_bytes: float
    cap_gib: float | None
    reason: str

    @property
    def survives(self) -> bool:
        return not self.reason


@dataclass(frozen=True, slots=True)
class LeakRate:
    """What the samples say: the counter that explains them best, its slope, whether it is bounded, who is left."""

    driver: str
    slope_bytes: float
    error_bytes: float
    r_squared: float
    intercept_gib: float
    growth_gib: float
    last_gib: float
    bytes_per_token: float
    hours_left: float | None
    bounded: bool
    fits: tuple[Fit, ...]
    suspects: tuple[Suspect, ...]
    suspect: str
    points: tuple[tuple[float, ...], ...]
    columns: tuple[str, ...]
    finding: str
    driver_verdict: str
    shape_verdict: str
    suspects_verdict: str
    hours_verdict: str
    lines: tuple[Line, ...]
    slips: tuple[tuple[float | str, str], ...]

    @property
    def present(self) -> Fit:
        return next(fit for fit in self.fits if fit.name == self.driver)


def solve(*, samples: str = THREE_HOURS, prompt_tokens: int = 500, output_tokens: int = 100, block_size: int = 16,
          top_logprobs: int = 0, images_per_request: float = 0, queue_returns: bool = True, limit_gib: float = 32,
          rate_per_s: float = 17) -> LeakRate:
    """Fit resident memory to each counter, name the one that explains it best, and weigh the suspects by its slope.

    The best is the highest R² whose slope stands three standard errors from 0. A suspect is out when its bytes an event
    miss the slope, when its cap is smaller than the growth, or when its counter never moved.
    Raises Refusal for samples that can't be read, with the row.
    """
    columns, rows = parse(samples)
    fits = tuple(fit(name, rows, columns) for name in columns if name != RSS)
    growing = [each for each in fits if each.significant]
    best = max(growing or fits, key=lambda each: each.r_squared)
    rss = [row[columns.index(RSS)] for row in rows]
    growth, last = (rss[-1] - rss[0]) / 1024, rss[-1] / 1024
    bounded = best.halves is not None and best.halves < BOUNDED
    tokens = prompt_tokens + output_tokens
    hours = hours_left(best, rows, columns, limit_gib - last, rate_per_s) if growing and not bounded else None
    suspects = tuple(weigh(each, best, growth, bool(growing), queue_returns) for each in suspects_of(
        columns, tokens=tokens, output=output_tokens, block=block_size, logprobs=top_logprobs,
        images=images_per_request,
    ))
    left = [each for each in suspects if each.survives]
    slope = best.slope_bytes
    result = LeakRate(
        driver=best.name, slope_bytes=slope, error_bytes=best.error_bytes, r_squared=best.r_squared,
        intercept_gib=best.intercept_gib, growth_gib=growth, last_gib=last,
        bytes_per_token=slope / tokens if best.name == REQUESTS else 0.0, hours_left=hours, bounded=bounded, fits=fits,
        suspects=suspects, suspect=nearest(left, slope), points=rows, columns=columns,
        finding="", driver_verdict="", shape_verdict=shape_verdict(best, bool(growing), bounded),
        suspects_verdict=suspects_verdict(left, suspects), hours_verdict="", lines=(), slips=(),
    )
    return replace(
        result, finding=finding(result, bool(growing)), driver_verdict=driver_verdict(result, bool(growing)),
        hours_verdict=hours_verdict(result, limit_gib), lines=lines_of(result, tokens, limit_gib, rate_per_s),
        slips=slips_of(result, tokens),
    )


def rule_out(*, samples: str = THREE_HOURS, prompt_tokens: int = 500, output_tokens: int = 100, block_size: int = 16,
             top_logprobs: int = 0, images_per_request: float = 0, queue_returns: bool = True, limit_gib: float = 32,
             rate_per_s: float = 17) -> LeakRate:
    """The same, with what speaks against each suspect in place of the wrong slopes."""
    found = solve(
        samples=samples, prompt_tokens=prompt_tokens, output_tokens=output_tokens, block_size=block_size,
        top_logprobs=top_logprobs, images_per_request=images_per_request, queue_returns=queue_returns,
        limit_gib=limit_gib, rate_per_s=rate_per_s,
    )
    against = [(each.slug, each.reason or "It can’t be ruled out; another lies nearer to the slope.")
               for each in found.suspects]
    return replace(found, slips=(*against, (NONE, "One is left: its size an event is that of the slope.")))


def parse(text: str) -> tuple[tuple[str, ...], tuple[tuple[float, ...], ...]]:
    """The column names and the rows, by time; the first row may name the columns.

    Raises Refusal with the row that can't be read.
    """
    lines = [part.strip() for part in re.split(r"[;\n]", text) if part.strip()]
    if not lines:
        raise Refusal("Takes rows of numbers such as 0,0,10035,0; 10,3600,10117,72.", "samples")
    columns = HEAD
    if re.match(r"[^\W\d]", lines[0]):
        columns = tuple(name.strip().lower() for name in lines[0].split(","))
        lines = lines[1:]
    if columns[0] != TIME or RSS not in columns or len(set(columns)) < len(columns) or not 2 <= len(columns) <= COLUMNS:
        raise Refusal(f"The first row names the columns: min first, one of them rss in MiB, at most {COLUMNS} in all.",
                      "samples")
    if not FEWEST <= len(lines) <= MOST:
        raise Refusal(f"Takes {FEWEST:,} to {MOST:,} rows; there are {len(lines):,}.", "samples")
    rows = tuple(row_of(number, line, len(columns)) for number, line in enumerate(lines, 1))
    if any(later[0] <= row[0] for row, later in zip(rows, rows[1:], strict=False)):
        raise Refusal("The minutes must rise from row to row.", "samples")
    return columns, rows


def row_of(number: int, line: str, columns: int) -> tuple[float, ...]:
    """One row's numbers; raises Refusal with its place."""
    parts = [part.strip() for part in line.split(",")]
    if len(parts) != columns or not all(re.fullmatch(r"[0-9]{1,12}(\.[0-9]{1,6})?", part) for part in parts):
        raise Refusal(f"Row {number:,}, “{line[:40]}”, is not {columns:,} numbers apart by commas.", "samples")
    return tuple(map(float, parts))


def fit(name: str, rows: tuple[tuple[float, ...], ...], columns: tuple[str, ...]) -> Fit:
    """Resident memory against one column, in bytes an event."""
    xs, ys = [row[columns.index(name)] for row in rows], [row[columns.index(RSS)] * MIB for row in rows]
    half = len(xs) // 2
    slope, error, r_squared, intercept = least_squares(xs, ys)
    first, second = (least_squares(xs[part], ys[part])[0] for part in (slice(half + 1), slice(half, None)))
    moved = max(xs) > min(xs)
    ratio = second / first if moved and first > 0 else None
    return Fit(name, xs[-1] - xs[0], slope, error, r_squared, intercept / GIB, ratio, moved)


def least_squares(xs: list[float], ys: list[float]) -> tuple[float, float, float, float]:
    """Slope, its standard error, R² and intercept; zeros where x doesn't move."""
    n, x_mean, y_mean = len(xs), sum(xs) / len(xs), sum(ys) / len(ys)
    sxx = sum((x - x_mean) ** 2 for x in xs)
    syy = sum((y - y_mean) ** 2 for y in ys)
    if not sxx or not syy:
        return 0.0, 0.0, 0.0, y_mean
    sxy = sum((x - x_mean) * (y - y_mean) for x, y in zip(xs, ys, strict=True))
    slope = sxy / sxx
    rest = max(syy - slope * sxy, 0.0)
    error = sqrt(rest / (n - 2) / sxx) if n > 2 else 0.0
    return slope, error, max(1 - rest / syy, 0.0), y_mean - slope * x_mean


def suspects_of(columns: tuple[str, ...], *, tokens: int, output: int, block: int, logprobs: int,
                images: float) -> tuple[Suspect, ...]:
    """Who could keep memory, with the bytes of one event from a 64-bit CPython's object sizes."""
    full, blocks = tokens // block, -(-tokens // block)  # only full blocks are hashed
    each = output * (logprobs + 1)

    def one(slug: str, counter: str, low: float, high: float, cap: float | None = None, reason: str = "") -> Suspect:
        return Suspect(slug, SUSPECTS[slug], counter, low, high, cap, reason)

    no_images = not images and "images" not in columns
    return (
        one("tokens", REQUESTS, 36 * tokens, 40 * tokens),
        one("hashes", REQUESTS, 73 * full, 73 * full), one("blocks", REQUESTS, 8 * blocks, 40 * blocks),
        one("logprobs", REQUESTS, 200 * each if logprobs else 0, 300 * each if logprobs else 0,
            reason="" if logprobs else "Nobody asked for logprobs."),
        one("images", "images" if "images" in columns else REQUESTS, 1e6 * (images or 1), 1e7 * (images or 1),
            reason="There were no images." if no_images else ""),
        one("grammars", "schemas", 1e4, 1e6, 512 * MIB / GIB,
            "" if "schemas" in columns else "No schema was sent."),
        one("mm-cache", "images" if "images" in columns else REQUESTS, 1e5 * (images or 1), 1e7 * (images or 1), 4.0,
            "There were no images." if no_images else ""),
        one("queue", REQUESTS, 0, 0), one("pinned", REQUESTS, 0, 0),
    )


def weigh(suspect: Suspect, best: Fit, growth_gib: float, grows: bool, queue_returns: bool) -> Suspect:
    """The suspect with the reason that rules it out, if one does."""
    if suspect.reason:
        return suspect
    if not grows:
        return replace(suspect, reason="Nothing grows.")
    if suspect.slug == "pinned":
        return replace(suspect, reason="They are allocated once, at the start, and never grow.")
    if suspect.slug == "queue":
        if queue_returns:
            return replace(suspect, reason="The waiting gauge comes back to 0, and memory does not.")
        return suspect
    if suspect.cap_gib is not None and suspect.cap_gib < growth_gib:
        return replace(suspect, reason=f"It stops at {suspect.cap_gib:g} GiB; the growth is {growth_gib:,.2f}.")
    if suspect.counter != best.name:
        return replace(suspect, reason=f"It goes by {suspect.counter}; the growth follows {best.name} more closely.")
    low = (best.slope_bytes - SURE * best.error_bytes) * (1 - WIDER)
    high = (best.slope_bytes + SURE * best.error_bytes) * (1 + WIDER)
    if suspect.high_bytes < low:
        times = best.slope_bytes / suspect.high_bytes if suspect.high_bytes else 0
        return replace(suspect, reason=f"At most {say(suspect.high_bytes, 'B')} an event: {times:,.0f}× too small.")
    if suspect.low_bytes > high:
        times = suspect.low_bytes / best.slope_bytes
        return replace(suspect, reason=f"At least {say(suspect.low_bytes, 'B')} an event: {times:,.0f}× too large.")
    return suspect


def nearest(left: list[Suspect], slope: float) -> str:
    """The slug of the surviving suspect whose middle lies nearest to the slope; NONE without one."""
    if not left:
        return NONE
    return min(left, key=lambda each: abs((each.low_bytes + each.high_bytes) / 2 - slope)).slug


def hours_left(best: Fit, rows: tuple[tuple[float, ...], ...], columns: tuple[str, ...], left_gib: float,
               rate_per_s: float) -> float | None:
    """Hours until the limit at the slope; None without a rate. Requests come at the given rate, others as they did."""
    minutes = rows[-1][0] - rows[0][0]
    per_s = rate_per_s if best.name == REQUESTS else 1 / 60 if best.name == TIME else best.events / (minutes * 60)
    return max(left_gib, 0.0) * GIB / (best.slope_bytes * per_s) / 3_600 if per_s > 0 else None


def counted(name: str) -> str:
    """One event of a counter: "a minute", "a request", "an abort"."""
    one = "minute" if name == TIME else name.removesuffix("s")
    return f"{'an' if one[:1] in 'aeiou' else 'a'} {one}"


def finding(result: LeakRate, grows: bool) -> str:
    """The whole result in one sentence."""
    if not grows:
        return "No counter explains a growth: memory does not rise with any of them."
    return (f"{result.growth_gib:,.2f} GiB grew with {'time' if result.driver == TIME else result.driver}, "
            f"{result.slope_bytes:,.0f} ± {say(result.error_bytes, 'B')} {counted(result.driver)}.")


def driver_verdict(result: LeakRate, grows: bool) -> str:
    """Why that counter and no other, in a sentence."""
    if not grows:
        return ""
    others = [f"{each.words} {each.r_squared:.3f}" for each in result.fits if each.name != result.driver and each.moved]
    beside = f"; {', '.join(others)}" if others else ""
    return f"R² is {result.r_squared:.5f} for {result.driver}{beside}. Only a load that varies tells events from time."


def shape_verdict(best: Fit, grows: bool, bounded: bool) -> str:
    """Whether it goes on or flattens, in a sentence."""
    if not grows:
        return ""
    if best.halves is None:
        return "The first half does not rise, so the halves can’t be compared."
    if bounded:
        return (f"The second half rises at {max(best.halves, 0):.0%} of the first: a plateau, so a cache that fills or "
                "an allocator’s arenas, and not a leak.")
    return f"The second half rises at {best.halves:.0%} of the first: it goes on, so it is no bounded cache."


def suspects_verdict(left: list[Suspect], suspects: tuple[Suspect, ...]) -> str:
    """Who is left, in a sentence."""
    if not left:
        return "Every suspect is ruled out: look at native memory, by mapping, where heap profilers see nothing."
    names = " and ".join(each.name for each in left)
    return f"{len(suspects) - len(left)} of {len(suspects)} are ruled out; left: {names}."


def hours_verdict(result: LeakRate, limit_gib: float) -> str:
    """When the limit is reached, in a sentence; "" where it never is."""
    if result.hours_left is None:
        return ""
    return f"At this rate {limit_gib:g} GiB are reached in {result.hours_left:,.1f} h."


def lines_of(result: LeakRate, tokens: int, limit_gib: float, rate_per_s: float) -> tuple[Line, ...]:
    """The slope and what follows from it, each with its numbers filled in."""
    first = result.last_gib - result.growth_gib
    lines = [
        Line("growth", f"{result.last_gib:,.2f} − {first:,.2f}", result.growth_gib, "GiB"),
        Line(f"bytes {counted(result.driver)}", "Sxy / Sxx", result.slope_bytes, "B", total=True),
        Line("its standard error", "√(SSE / (n − 2) / Sxx)", result.error_bytes, "B"),
        Line("at zero", "mean y − slope × mean x", result.intercept_gib, "GiB"),
    ]
    if result.bytes_per_token:
        lines.append(Line("bytes a token", f"{result.slope_bytes:,.0f} / {tokens:,}", result.bytes_per_token, "B"))
    if result.hours_left is not None:
        left = max(limit_gib - result.last_gib, 0)
        rate = f" × {rate_per_s:g}/s" if result.driver == REQUESTS else ""
        lines.append(Line("hours to the limit", f"{left:,.2f} GiB / ({result.slope_bytes:,.0f} B{rate})",
                          result.hours_left, "h"))
    return tuple(lines)


def slips_of(result: LeakRate, tokens: int) -> tuple[tuple[float | str, str], ...]:
    """The slopes that people reach and what is wrong with each; none near the right one."""
    by_name = {each.name: each.slope_bytes for each in result.fits}
    right = result.slope_bytes
    slips = [
        (right / tokens, "That is a token’s share. The slope is of one request with all its tokens."),
        (right / MIB, "That is in MiB; the slope is asked in bytes."),
    ]
    slips += [(slope, f"That divides by {name}, which explains less of the growth.")
              for name, slope in by_name.items() if name != result.driver]
    return tuple((value, sentence) for value, sentence in slips
                 if value > 0 and right > 0 and abs(value / right - 1) > SLIP_APART)
