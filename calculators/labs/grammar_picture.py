"""The grammar lab's pictures: the automaton with a token as an arrow over its bytes, the mask's words, what they cost.
"""
from collections.abc import Iterator

from calculators.labs.base import Shown
from calculators.labs.engine_loop_picture import Derivation, Picture, loops, span_table
from calculators.labs.kv_size_parts import Part, Row, Swatch, Table, both, sides
from calculators.log_paper import dot
from calculators.models.byte_automaton import Automaton
from calculators.models.grammar import WORD_BITS, Grammar, Mask, Step, Token, visible, word_lines
from calculators.pictures import WIDE, Bar, Drawing, Path, Shape, Text, arrow, line
from calculators.ruled import width_of

MOST_BRANCHES, MOST_ARROWS, MOST_ROWS, MOST_LISTED = 6, 8, 6, 60
CHAIN, ARROW = 46, 18
WORD_LEFT, SQUARE = 118, 26
DIGIT_ROW, DIGIT_LEFT = 30, 50
LONGEST_NAME, LONGEST_LINE = 11, 8  # letters over a square, and in a line of a phone's square


def states_picture(shown: Shown) -> Picture:
    """The automaton around the state, the words up to it, and this word as a sum."""
    result, at = shown.result, shown.step
    step = result.steps[at]
    last = at == shown.last_step
    words = tuple(word_part(result, at, place) for place in range(len(step.mask.words)))
    return Picture(
        parts=(
            Part("Where the automaton stands", *(around(result, step, width, small) for width, small in sides()),
                 allowed_note(result, step), "One column is one byte.", "One column is one byte.",
                 (Swatch("present", "here"), Swatch("hollow", "states ahead")), sentence(result, step)),
            *words,
        ),
        derivations=(Derivation("This word, said out loud", word_lines(step.mask)),
                     Derivation("At a real vocabulary", result.lines)),
        words=result.verdict if last else "", tables=(state_table(result),),
    )


def allowed_note(result: Grammar, step: Step) -> str:
    return f"{len(step.mask.allowed)} of {len(result.vocabulary)} tokens keep it alive"


def sentence(result: Grammar, step: Step) -> str:
    """Which tokens live, how some of the others die, what is forced, and what the path takes next."""
    mask, vocabulary = step.mask, result.vocabulary
    if mask.stuck:
        return "No token fits: the mask is all zeros, every logit becomes −∞, and nothing sensible can be sampled."
    said = [f"Allowed: {listed([vocabulary[number].written for number in mask.allowed])}."]
    said.append(deaths(result, step))
    if mask.forced:
        said.append(f"The grammar forces “{mask.forced}” from here, whichever tokens spell it.")
    if mask.accepting:
        said.append("The text may end: EOS has its bit.")
    if step.next_token:
        said.append(f"Next on this path: {step.next_token}.")
    return " ".join(filter(None, said))


def listed(words: list[str]) -> str:
    return ", ".join(words[:12]) + (f" and {len(words) - 12} more" if len(words) > 12 else "")


def deaths(result: Grammar, step: Step) -> str:
    """How the masked tokens die: those that get past their first byte by name, a few of them, then the rest."""
    masked = [token for number, token in enumerate(result.vocabulary)
              if number not in step.mask.allowed and not token.ends]
    places = {token.written: result.automaton.dies_at(step.mask.state, token.data) for token in masked}
    late = [f"{written} dies at its {ordinal(place + 1)} byte" for written, place in places.items() if place][:3]
    at_once = sum(not place for place in places.values())
    if not late:
        return f"{at_once} others die at their first byte." if at_once else ""
    return f"{'; '.join(late)}{f'; {at_once} die at their first' if at_once else ''}."


def ordinal(number: int) -> str:
    return {1: "1st", 2: "2nd", 3: "3rd"}.get(number, f"{number}th")


def expected_why(result: Grammar, step: Step) -> str:
    """Why so many tokens are allowed."""
    return f"After “{step.text or 'nothing'}”: {listed([result.vocabulary[n].written for n in step.mask.allowed])}."


def branches(automaton: Automaton, state: int) -> list[tuple[int, list[int]]]:
    """Where a state leads, each target with the bytes that lead there, in order of the bytes."""
    found: dict[int, list[int]] = {}
    for byte, target in sorted(automaton.next[state].items()):
        found.setdefault(target, []).append(byte)
    return list(found.items())


def bytes_words(data: list[int]) -> str:
    """The bytes of one edge: "t", "0-9", "a-z …"."""
    if len(data) == 1:
        return visible(bytes(data))
    runs: list[list[int]] = []
    for byte in data:
        if runs and byte == runs[-1][1] + 1:
            runs[-1][1] = byte
        else:
            runs.append([byte, byte])
    said = [visible(bytes([low])) if low == high else f"{visible(bytes([low]))}-{visible(bytes([high]))}"
            for low, high in runs[:2]]
    return "".join(said) + ("…" if len(runs) > 2 else "")


def around(result: Grammar, step: Step, width: float, narrow: bool) -> Drawing:
    """The way here as a line of states, each branch ahead up to the next choice, and the tokens as arrows over it."""
    least, most = (24, 24) if narrow else (34, 64)
    behind = bytes_behind(result, step)[-(4 if narrow else 9):]
    ways = branches(result.automaton, step.mask.state)
    longest = max((states_ahead(result.automaton, step.mask.state, target) for target, _ in ways), default=1)
    column = min(max(int((width - 230) / (len(behind) + longest)), least), most)
    cut = len(bytes_behind(result, step)) > len(behind)
    here = 10 + (20 if cut else 0) + column * len(behind)
    ahead = int((width - here - (70 if narrow else 120)) // column)
    shapes: list[Shape] = []
    y = top = 30
    for target, data in ways[:MOST_BRANCHES]:
        shapes += chain(result.automaton, step.mask.state, target, data, here, y, column, ahead)
        tokens = tokens_on(result, step.mask, set(data))
        shapes += arrows(tokens, here, y + 20, column, ahead)
        foot, y = y, y + CHAIN + ARROW * max(min(len(tokens), MOST_ARROWS) + (len(tokens) > MOST_ARROWS), 1)
        shapes.append(line(here, top, here, foot, "edge"))
    if len(ways) > MOST_BRANCHES:
        shapes.append(Text(here + 14, y, f"and {len(ways) - MOST_BRANCHES} more bytes", "label"))
        y += 24
    if not ways:
        shapes.append(Text(here + 16, y + 5, "EOS: nothing may follow", "strong"))
        y += 34
    elif step.mask.accepting:
        shapes.append(Text(here + 14, y, "or EOS: the text may end here", "strong"))
        y += 22
    shapes += way_here(behind, here, top, column, cut)
    if step.mask.accepting:
        shapes.append(ring(here, top, 11))
    shapes.append(dot(here, top, "present", 7))
    title = f"After {step.step} tokens {allowed_note(result, step)}."
    return Drawing(width, max(y, top + 40), title, tuple(shapes))


def states_ahead(automaton: Automaton, origin: int, target: int) -> int:
    """How many states a branch has up to the next choice, the end or a loop."""
    seen, count = {origin}, 1
    while target not in seen and len(onward := branches(automaton, target)) == 1:
        seen.add(target)
        (target, _), = onward
        count += 1
    return count


def bytes_behind(result: Grammar, step: Step) -> list[str]:
    """The bytes of the path so far, each as it is shown."""
    data = b"".join(token_of(result, each.token).data for each in result.steps[1: step.step + 1])
    return [visible(bytes([byte])) for byte in data]


def token_of(result: Grammar, written: str) -> Token:
    return next(token for token in result.vocabulary if token.written == written)


def way_here(behind: list[str], here: float, y: float, column: float, cut: bool) -> Iterator[Shape]:
    """The states passed, with the byte between each two."""
    start = here - column * len(behind)
    if cut:
        yield Text(start - 18, y + 4, "…", "label", "middle")
    if behind:
        yield line(start, y, here, y, "swing")
    for place, letter in enumerate(behind):
        x = round(start + column * place, 2)
        yield dot(x, y, "solid", 4.5)
        yield Text(round(x + column / 2, 2), y - 9, letter, "strong", "middle")


def chain(automaton: Automaton, origin: int, target: int, data: list[int], here: float, y: float, column: float,
          most: int) -> Iterator[Shape]:
    """One branch: its states up to the next choice, the end, a loop, or the edge of the picture."""
    x, seen, places = here, {origin}, []
    while True:
        places.append((x, bytes_words(data), target))
        x += column
        onward = branches(automaton, target)
        if target in seen or len(onward) != 1 or len(places) >= most:
            break
        seen.add(target)
        (target, data), = onward
    yield line(here, y, round(x, 2), y, "edge")
    for left, letter, reached in places:
        middle, right = round(left + column / 2, 2), round(left + column, 2)
        short = letter if width_of(letter) < column + 12 else letter[:3] + "…"
        yield Text(middle, y - 9, short, "strong halo", "middle")
        if reached in automaton.accepting:
            yield ring(right, y, 8)
        yield dot(right, y, "hollow", 4.5)
    onward = branches(automaton, target)
    if target in seen:
        yield Text(round(x + 10, 2), y + 4, "again", "label")
    elif len(onward) > 1:
        yield Text(round(x + 10, 2), y + 4, f"{len(onward)} ways", "label")
    elif onward:
        yield Text(round(x + 10, 2), y + 4, "…", "label")


def ring(x: float, y: float, radius: float) -> Path:
    """A circle round a state that may be the end."""
    r = radius
    return Path(f"M{x - r:g} {y:g}a{r:g} {r:g} 0 1 0 {2 * r:g} 0a{r:g} {r:g} 0 1 0 {-2 * r:g} 0Z", "edge")


def tokens_on(result: Grammar, mask: Mask, first: set[int]) -> list[Token]:
    """The allowed tokens that begin with one of these bytes, the shortest first."""
    tokens = [result.vocabulary[number] for number in mask.allowed]
    return sorted((token for token in tokens if not token.ends and token.data[0] in first),
                  key=lambda token: (len(token.data), token.written))


def arrows(tokens: list[Token], here: float, y: float, column: float, most: int) -> Iterator[Shape]:
    """Each token as an arrow over the bytes that it takes."""
    for place, token in enumerate(tokens[:MOST_ARROWS]):
        height, long = y + ARROW * place, min(len(token.data), most)
        end = round(here + column * long, 2)
        yield line(here + 8, height - 4, here + 8, height + 4, "ink thin")
        yield arrow(here + 8, end, height)
        more = "…" if long < len(token.data) else ""
        yield Text(end + 8, height + 4, token.written[:10] + more, "strong")
    if not tokens:
        yield Text(here + 14, y + 4, "no token begins so", "limit-text")
    if len(tokens) > MOST_ARROWS:
        yield Text(here + 14, y + ARROW * MOST_ARROWS + 4, f"and {len(tokens) - MOST_ARROWS} more", "label")


def word_part(result: Grammar, at: int, place: int) -> Part:
    """One word of the mask: wide a row a state, narrow four squares to a hex digit."""
    several = len(result.steps[at].mask.words) > 1
    heading = f"Word {place} of the mask" if several else "The word for each state"
    return Part(heading, words_wide(result, at, place), word_narrow(result, result.steps[at], place),
                "one square is one token, filled = allowed; four squares are one hex digit",
                legend=(Swatch("present", "allowed"), Swatch("hollow", "masked: its logit becomes −∞")))


def words_wide(result: Grammar, at: int, place: int) -> Drawing:
    """A row a step, bit 31 at the left; the tokens' names above, in three heights."""
    rows = result.steps[max(at + 1 - MOST_ROWS, 0): at + 1]
    top = 72
    right = WORD_LEFT + SQUARE * WORD_BITS
    foot = top + SQUARE * len(rows)
    shapes: list[Shape] = [*names_above(result, place, result.steps[at], top)]
    shapes += [line(WORD_LEFT + SQUARE * column, top, WORD_LEFT + SQUARE * column, foot,
                    "rule" if column % 4 == 0 else "grid") for column in range(WORD_BITS + 1)]
    shapes.append(Text(WIDE - 2, top - 12, "word, hex", "axis", "end"))
    for number, step in enumerate(rows):
        y, here = top + SQUARE * number, number == len(rows) - 1
        css = "strong" if here else "value"
        text = step.text[-12:] or "nothing yet"
        shapes += [line(WORD_LEFT, y + SQUARE, right, y + SQUARE, "grid"),
                   Text(WORD_LEFT - 10, y + 18, ("…" if len(step.text) > 12 else "") + text, css, "end"),
                   Text(WIDE - 2, y + 18, f"{step.mask.words[place]:08X}", css, "end")]
        shapes += [Bar(WORD_LEFT + SQUARE * (WORD_BITS - 1 - bit) + 2, y + 3, SQUARE - 4, SQUARE - 6,
                       "present" if here else "other") for bit in bits(step.mask, place)]
    shapes += [Bar(WORD_LEFT, foot - SQUARE, SQUARE * WORD_BITS, SQUARE, "frame"),
               Text(WORD_LEFT, foot + 18, "bit 31, the sign", "axis"), Text(right, foot + 18, "bit 0", "axis", "end")]
    mask = result.steps[at].mask
    title = f"After “{result.steps[at].text}” the word is {mask.words[place]:08X}, as int32 {mask.signed[place]:,}."
    return Drawing(WIDE, foot + 24, title, tuple(shapes))


def names_above(result: Grammar, place: int, step: Step, top: float) -> Iterator[Shape]:
    """The tokens over their squares, two of three higher with a leader."""
    allowed = set(bits(step.mask, place))
    for bit, token in enumerate(result.vocabulary[WORD_BITS * place: WORD_BITS * (place + 1)]):
        x = WORD_LEFT + SQUARE * (WORD_BITS - 1 - bit) + SQUARE / 2
        foot = top - 8 - 18 * (bit % 3)
        if bit % 3:
            yield line(x, foot + 4, x, top - 2, "grid")
        said = token.written if len(token.written) <= LONGEST_NAME else token.written[: LONGEST_NAME - 1] + "…"
        yield Text(x, foot, said, "strong halo" if bit in allowed else "label halo", "middle")


def word_narrow(result: Grammar, step: Step, place: int) -> Drawing:
    """The word of this state: a row a hex digit with its four tokens, the highest bits first."""
    wide = (350 - DIGIT_LEFT - 34) / 4
    allowed, word = set(bits(step.mask, place)), step.mask.words[place]
    tokens = result.vocabulary[WORD_BITS * place: WORD_BITS * (place + 1)]
    pitch = DIGIT_ROW + (8 if any(len(token.written) > LONGEST_LINE for token in tokens) else 0)
    shapes: list[Shape] = [Text(0, 14, "bits", "axis"), Text(348, 14, "hex", "axis", "end")]
    for row in range(8):
        y, high = 22 + pitch * row, 31 - 4 * row
        shapes += [Text(0, y + pitch / 2 + 4, f"{high}–{high - 3}", "axis"),
                   Text(348, y + pitch / 2 + 5, f"{word >> (high - 3) & 15:X}", "end", "end")]
        for column in range(4):
            bit = high - column
            written = tokens[bit].written if bit < len(tokens) else ""
            x = round(DIGIT_LEFT + wide * column, 2)
            shapes.append(Bar(x + 1, y, round(wide - 3, 2), pitch - 4, "present" if bit in allowed else "hollow"
                              if written else "never"))
            middle, css = round(x + wide / 2 - 0.5, 2), "on-ink" if bit in allowed else "label"
            named = in_two(written)
            shapes += [Text(middle, y + pitch / 2 + 2 - 6.5 * (len(named) - 1) + 13 * place, said, css, "middle")
                       for place, said in enumerate(named)]
    foot = 22 + pitch * 8
    shapes.append(Text(0, foot + 14, f"int32 {step.mask.signed[place]:,}", "strong"))
    return Drawing(350, foot + 20, f"The word is {word:08X}.", tuple(shapes))


def in_two(name: str) -> list[str]:
    """A token's name in one line or in two, the second cut where it is longer still."""
    if len(name) <= LONGEST_LINE:
        return [name] if name else []
    split = name.rfind("_", 1, LONGEST_LINE) + 1 or LONGEST_LINE
    rest = name[split:]
    return [name[:split], rest if len(rest) <= LONGEST_LINE else rest[: LONGEST_LINE - 1] + "…"]


def bits(mask: Mask, place: int) -> list[int]:
    return [number % WORD_BITS for number in mask.allowed if number // WORD_BITS == place]


def state_table(result: Grammar) -> Table:
    """A row a state, each by a shortest text that leads there."""
    return Table(
        f"States of the automaton{'' if len(result.masks) <= MOST_LISTED else f', the first {MOST_LISTED}'}",
        ("text so far", "word, hex", "allowed", "int32", "forced bytes"),
        tuple((mask.text or "nothing yet", mask.hex,
               listed([result.vocabulary[n].written for n in mask.allowed]) or "none",
               " ".join(f"{word:,}" for word in mask.signed), mask.forced)
              for mask in result.masks[:MOST_LISTED]),
    )


def cost_picture(shown: Shown) -> Picture:
    """One row built both ways, the mask in the step without drafts and with them, and published vocabularies."""
    result, inputs = shown.result, shown.inputs
    naive, compiled = f"{result.naive_ms:,.4g} ms", f"{result.compiled_ms:,.3g} ms"
    rows = (Row("naive", (result.naive_ms,), (naive,), False),
            Row("compiled", (result.compiled_ms,), (compiled,), True))
    walked = inputs["vocabulary_size"] * inputs["bytes_per_token"]
    lanes = loops((
        (f"When it must be ready: {result.plain.rows:,} rows", "the mask of a step needs the tokens of the one before",
         result.plain.overlapped),
        (f"With {result.drafts_drawn} drafts a request: {result.drafted.rows:,} rows",
         f"a step takes {result.drafted.period_ms:,.4g} ms, against {result.plain.period_ms:,.4g}",
         result.drafted.overlapped)), 4)
    return Picture(
        parts=(
            Part("One row, on the same scale", *both("One row", ("to build",), rows, WIDE),
                 f"naive walks {walked:,.0f} bytes; compiled checks {result.uncertain_tokens:,} tokens"),
            *lanes,
        ),
        derivations=(Derivation("Said out loud", result.lines),), words=result.verdict,
        tables=(
            Table("Published vocabularies", ("model", "tokens", "words", "bytes a row"),
                  tuple((each.name, f"{each.tokens:,}", f"{each.row_bytes // 4:,}", f"{each.row_bytes:,}")
                        for each in result.vocabularies)),
            span_table("Without drafts", result.plain.overlapped),
        ),
    )


def thumbnail(result: Grammar) -> Drawing:
    """The words of the first states: squares in rows."""
    shapes: list[Shape] = [line(2, 8 + 13 * row, 214, 8 + 13 * row, "grid") for row in range(5)]
    for row, step in enumerate(result.steps[:5]):
        shapes += [Bar(round(2 + 6.62 * (WORD_BITS - 1 - bit), 2), 1 + 13 * row, 6, 10,
                       "present" if row == 4 else "other") for bit in bits(step.mask, 0)]
    return Drawing(216, 64, result.finding, tuple(shapes))
