"""The picture of a smaller KV format: the step in each format, and what the pool then holds."""
from calculators.labs.base import Shown
from calculators.labs.kv_size_parts import Part, Picture, Row, Swatch, Table, both, sides
from calculators.models.fp8_kv import SmallerKv
from calculators.models.kv_token import binary
from calculators.pictures import Bar, Drawing, Scale, Shape, Text, line, thousands
from calculators.ruled import EDGE, past_words, round_unit, width_of


def picture(shown: Shown) -> Picture:
    """Both drawings of each part; what the reader said is a gap in ms."""
    result, said = shown.result, shown.said
    (wide, wide_unit), (narrow, narrow_unit) = (steps(result, said, width, small) for width, small in sides())
    pool = both("Tokens in the pool and sequences, by format", ("tokens in the pool", "sequences"), pool_rows(result))
    return Picture(
        main=Part(
            "One decode step, by format", wide, narrow, f"{shown.inputs['sequences']:,} sequences of "
            f"{shown.inputs['context_tokens']:,} tokens", wide_unit, narrow_unit,
            (Swatch("solid", "weights, or products past the ridge"), Swatch("result", "KV reads"),
             Swatch("other", "CPU")),
            f"{result.worth_verdict} {result.doubled_verdict}",
        ),
        side=Part("What the pool holds", *pool, words=POOL_WORDS),
        tables=(
            Table(
                "By format", ("format", "a token", "tokens in the pool", "sequences", "KV, ms", "gap, ms"),
                tuple(
                    (f"{form.name}{' (present)' * form.present}", binary(form.token_bytes), thousands(form.pool_tokens),
                     thousands(form.ceiling), f"{form.kv_ms:.2f}", f"{form.itl_ms:.1f}")
                    for form in result.formats
                ),
            ),
        ),
    )


POOL_WORDS = (
    "More tokens in the pool is one gift, a shorter gap the other; the same bytes can’t be spent twice. Check accuracy "
    "at your own lengths: the attention itself runs in the narrow format."
)


def steps(result: SmallerKv, said: float | None, width: float, narrow: bool) -> tuple[Drawing, str]:
    """The step in each format as a bar of its terms, and twice the batch in the chosen one."""
    left = 2 if narrow else 132
    pitch, high = (48, 22) if narrow else (38, 24)
    after = result.after
    doubled = result.doubled_itl_ms
    longest = max(result.before.itl_ms, doubled, min(said or 0, 3 * result.before.itl_ms))
    scale = Scale(0, longest * 1.08, left, width - (60 if narrow else 90))
    step = round_unit(longest, 6 if narrow else 16)
    rows = [(form.name, (form.products_ms, form.kv_ms, form.cpu_ms), form.present)
            for form in result.formats]
    kv = 2 * after.kv_ms
    rows.append((f"{after.name}, twice as many", (doubled - kv - after.cpu_ms, kv, after.cpu_ms), False))
    foot = 16 + pitch * len(rows)
    shapes: list[Shape] = []
    for tick in range(int(longest * 1.08 / step) + 1):
        x = scale(tick * step)
        shapes += [line(x, 8, x, foot, "grid"),
                   Text(x, foot + 16, f"{tick * step:g}", "axis", "middle" if x > EDGE else "start")]
    shapes.append(Text(scale.end + 8, foot + 16, "ms", "axis"))
    for number, (name, terms, present) in enumerate(rows):
        y = 16 + pitch * number + (18 if narrow else 0)
        weight = "strong" if present else "value"
        shapes.append(Text(left, y - 5, name, weight) if narrow else Text(left - 12, y + 17, name, weight, "end"))
        x = left
        for css, term in zip(("solid", "result", "other"), terms, strict=True):
            w = scale(term) - left
            text = f"{term:.1f}" if w > 40 else ""
            shapes.append(Bar(round(x, 2), y, round(max(w, 0), 2), high, css, text,
                              "value" if css == "result" else "on-ink"))
            x += w
        shapes.append(Text(round(x + 8, 2), y + 17, f"{sum(terms):.1f} ms", weight))
    if said and 0 < said <= longest:
        x = scale(said)
        words = f"your {said:,.4g} ms"
        left = x + 6 + width_of(words) > width
        shapes.append(Text(x + (-6 if left else 6), 12, words, "pen-text halo", "end" if left else "start"))
        shapes.append(past_words(x, 4, foot, shapes))
    return Drawing(width, foot + 24, result.finding, tuple(shapes)), f"One column is {step:g} ms."


def pool_rows(result: SmallerKv) -> tuple[Row, ...]:
    """Tokens and sequences by format."""
    return tuple(
        Row(form.name, (form.pool_tokens, form.ceiling), (f"{form.pool_tokens / 1e3:,.0f}k", f"{form.ceiling:,}"),
            form.present)
        for form in result.formats
    )
