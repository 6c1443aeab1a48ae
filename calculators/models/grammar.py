"""A grammar's bitmask: one bit a token, set when all of the token's bytes keep the automaton alive."""
import re
from dataclasses import dataclass
from random import Random

from calculators.models.base import Line, Refusal
from calculators.models.byte_automaton import Automaton, automaton_of
from calculators.models.draft_length import superscript

EOS = "EOS"
STRINGS, REGEX = "strings", "regex"
WORD_BITS, WORD_BYTES = 32, 4
MOST_TOKENS, LONGEST_TOKEN, MOST_LINES, MOST_PATH = 64, 24, 12, 40
RAW = re.compile(r"<0x([0-9A-Fa-f]{2})>")


@dataclass(frozen=True, slots=True)
class Token:
    """A token of the vocabulary: as it is written, and its bytes; the end token has none."""

    written: str
    data: bytes

    @property
    def ends(self) -> bool:
        return self.written == EOS


@dataclass(frozen=True, slots=True)
class Mask:
    """What a state allows: the tokens by number, the mask's words as the engine packs them, and the bytes forced.

    `text` is a shortest text that leads there; `stuck` says that no token is allowed, so that sampling can't go on.
    """

    state: int
    text: str
    allowed: tuple[int, ...]
    words: tuple[int, ...]
    forced: str
    accepting: bool

    @property
    def stuck(self) -> bool:
        return not self.allowed

    @property
    def bits(self) -> int:
        """How many tokens are allowed."""
        return len(self.allowed)

    @property
    def hex(self) -> str:
        """The words as hexadecimal: "0181CE00"."""
        return " ".join(f"{word:08X}" for word in self.words)

    @property
    def signed(self) -> tuple[int, ...]:
        """The words as the int32 they are kept in: bit 31 is the sign."""
        return tuple(word - 2**32 if word >= 2**31 else word for word in self.words)


@dataclass(frozen=True, slots=True)
class Step:
    """After so many tokens: the last of them, all text so far, and the mask for the next."""

    step: int
    token: str
    text: str
    mask: Mask
    next_token: str


@dataclass(frozen=True, slots=True)
class Grammar:
    """The path's steps, the masks of every state, and what they weigh at a real vocabulary.

    `single_steps` are the steps with one token allowed: a forward each, though nothing is left to choose.
    """

    steps: tuple[Step, ...]
    vocabulary: tuple[Token, ...]
    automaton: Automaton
    masks: tuple[Mask, ...]
    state_count: int
    dead_ends: tuple[str, ...]
    row_bytes: int
    compiled_bytes: int
    single_steps: int
    complete: bool
    finding: str
    verdict: str
    lines: tuple[Line, ...]


def simulate(*, grammar: tuple[str, ...], form: str = STRINGS, vocabulary: tuple[Token, ...],
             path: tuple[str, ...] = (), seed: int = 1, vocabulary_size: int = 128_256) -> Grammar:
    """Follow a path of tokens through a grammar; an empty path is drawn, each allowed token as likely.

    The grammar is a list of texts or of regular expressions, any of which may be taken.
    Raises Refusal for a path that the grammar forbids.
    Source: vllm 0.33.0, v1/structured_output/__init__.py, grammar_bitmask; backend_xgrammar.py, fill_bitmask.
    """
    automaton = automaton_of(grammar, form == REGEX)
    masks = tuple(mask_of(automaton, state, vocabulary) for state in range(len(automaton.next)))
    taken = path or drawn(automaton, masks, vocabulary, seed)
    steps = tuple(followed(automaton, masks, vocabulary, taken))
    dead = tuple(masks[state].text for state in reachable(automaton, masks, vocabulary) if masks[state].stuck)
    row = bytes_of_row(vocabulary_size)
    single = sum(len(step.mask.allowed) == 1 and not step.mask.accepting for step in steps)
    last = steps[-1].mask
    return Grammar(
        steps=steps, vocabulary=vocabulary, automaton=automaton, masks=masks, state_count=len(masks), dead_ends=dead,
        row_bytes=row, compiled_bytes=len(masks) * row, single_steps=single, complete=last.accepting,
        finding=f"{len(masks):,} states; a mask of {len(vocabulary)} bits is {len(last.words)} "
                f"word{'s' * (len(last.words) != 1)}, one of {vocabulary_size:,} bits {row:,} bytes.",
        verdict=verdict(dead, single, steps, last),
        lines=(
            Line("words of a row", f"⌈{vocabulary_size:,} / 32⌉", row // WORD_BYTES, "words"),
            Line("a row", f"4 × {row // WORD_BYTES:,}", row, "bytes"),
            Line("kept for the grammar at most", f"{len(masks):,} states × {row:,}", len(masks) * row, "bytes"),
        ),
    )


def bytes_of_row(vocabulary_size: int) -> int:
    """One bit a token, in whole int32 words."""
    return -(-vocabulary_size // WORD_BITS) * WORD_BYTES


def mask_of(automaton: Automaton, state: int, vocabulary: tuple[Token, ...]) -> Mask:
    """The mask of one state: each token's bytes walked, the end token where the text may end."""
    accepting = state in automaton.accepting
    allowed = tuple(
        number for number, token in enumerate(vocabulary)
        if (accepting if token.ends else automaton.walk(state, token.data) is not None)
    )
    words = [0] * -(-len(vocabulary) // WORD_BITS)
    for number in allowed:
        words[number // WORD_BITS] |= 1 << (number % WORD_BITS)
    return Mask(state, visible(automaton.reached_by[state]), allowed, tuple(words), visible(automaton.forced(state)),
                accepting)


def followed(automaton: Automaton, masks: tuple[Mask, ...], vocabulary: tuple[Token, ...],
             path: tuple[str, ...]) -> list[Step]:
    """A step for the beginning and one for each token of the path; the end token ends it."""
    numbers = {token.written: number for number, token in enumerate(vocabulary)}
    state, text, steps, before = 0, b"", [], ""
    for place, written in enumerate((*path, "")):
        mask = masks[state]
        steps.append(Step(place, before, visible(text), mask, written))
        if not written:
            break
        if written not in numbers:
            raise Refusal(f"“{written}” is no token of the vocabulary.", "path")
        if numbers[written] not in mask.allowed:
            could = ", ".join(vocabulary[number].written for number in mask.allowed[:8]) or "no token at all"
            raise Refusal(f"After “{visible(text)}” the grammar does not take {written}: it takes {could}.", "path")
        token = vocabulary[numbers[written]]
        if token.ends:
            break
        state, text, before = automaton.walk(state, token.data), text + token.data, written
    return steps


def drawn(automaton: Automaton, masks: tuple[Mask, ...], vocabulary: tuple[Token, ...], seed: int) -> tuple[str, ...]:
    """Tokens drawn from what each state allows, up to the end token, a dead end or MOST_PATH of them."""
    random, state, path = Random(seed), 0, []
    while len(path) < MOST_PATH and masks[state].allowed:
        token = vocabulary[random.choice(masks[state].allowed)]
        path.append(token.written)
        if token.ends:
            break
        state = automaton.walk(state, token.data)
    return tuple(path)


def reachable(automaton: Automaton, masks: tuple[Mask, ...], vocabulary: tuple[Token, ...]) -> list[int]:
    """States that whole tokens can lead to, in the order found."""
    found, place = [0], 0
    while place < len(found):
        state = found[place]
        place += 1
        for number in masks[state].allowed:
            if not vocabulary[number].ends:
                there = automaton.walk(state, vocabulary[number].data)
                if there not in found:
                    found.append(there)
    return found


def verdict(dead: tuple[str, ...], single: int, steps: tuple[Step, ...], last: Mask) -> str:
    """Dead ends, steps without a choice, and whether the text is whole, in sentences."""
    said = []
    if dead:
        said.append(f"After “{dead[0]}” no token of this vocabulary fits, and the mask is all zeros: a token for every "
                    "single byte is what keeps real vocabularies safe.")
    if single:
        said.append(f"{single} of {len(steps)} masks leave one token: a jump ahead could append it without a forward, "
                    "and vLLM 0.33 samples it like any other.")
    if not (last.accepting or last.stuck):
        said.append("The path stops before the text is whole, as max_tokens can: legal so far is not complete.")
    return " ".join(said) or "Every mask of the path leaves a choice."


def word_lines(mask: Mask) -> tuple[Line, ...]:
    """Each word as a sum of its bits."""
    lines = []
    for place, word in enumerate(mask.words):
        bits = [number % WORD_BITS for number in mask.allowed if number // WORD_BITS == place]
        shown = [f"2{superscript(bit)}" for bit in (bits if len(bits) <= 8 else bits[:7])]
        tail = ["…"] if len(bits) > 8 else []
        name = "the word" if len(mask.words) == 1 else f"word {place}"
        lines.append(Line(name, " + ".join(shown + tail) or "no bit", word))
        if word >= 2**31:
            lines.append(Line("as int32", f"{word:,} − 2³²", word - 2**32))
    return tuple(lines)


def visible(data: bytes) -> str:
    """Bytes as text: a space as ␣, a line break as ↵, what is no whole character as <0x9F>."""
    text = "".join(
        f"<0x{ord(letter) - 0xDC00:02X}>" if 0xDC80 <= ord(letter) <= 0xDCFF
        else f"<0x{ord(letter):02X}>" if ord(letter) < 0x20 and letter != "\n" else letter
        for letter in data.decode(errors="surrogateescape")
    )
    return text.replace(" ", "␣").replace("\n", "↵")


def read_lines(text: str) -> tuple[str, ...]:
    """A grammar's lines, each a text or an expression that may be taken."""
    lines = tuple(line for line in text.replace("\r", "").split("\n") if line)
    if not 1 <= len(lines) <= MOST_LINES:
        raise Refusal(f"Takes 1 to {MOST_LINES} lines; these are {len(lines)}.", "grammar")
    return lines


def read_vocabulary(text: str) -> tuple[Token, ...]:
    """Tokens apart by spaces: ␣ a space, ↵ a line break, <0x9F> a byte, EOS the end token."""
    tokens = tuple(Token(written, bytes_of(written)) for written in text.split())
    if not 2 <= len(tokens) <= MOST_TOKENS:
        raise Refusal(f"{len(tokens)} tokens; takes 2 to {MOST_TOKENS}, EOS among them.", "vocabulary")
    if len({token.written for token in tokens}) < len(tokens):
        twice = next(token.written for token in tokens if [t.written for t in tokens].count(token.written) > 1)
        raise Refusal(f"{twice} stands twice: each token has one number.", "vocabulary")
    if not any(token.ends for token in tokens):
        raise Refusal("EOS is missing: without an end token no text could end.", "vocabulary")
    if long := next((token.written for token in tokens if len(token.data) > LONGEST_TOKEN), ""):
        raise Refusal(f"{long[:30]} has more than {LONGEST_TOKEN} bytes.", "vocabulary")
    return tokens


def bytes_of(written: str) -> bytes:
    """A token's bytes; none for the end token."""
    if written == EOS:
        return b""
    parts = RAW.split(written)  # text and hexadecimal bytes take turns
    return b"".join(bytes.fromhex(part) if place % 2 else part.replace("␣", " ").replace("↵", "\n").encode()
                    for place, part in enumerate(parts))


def read_path(text: str) -> tuple[str, ...]:
    """The tokens of a path, apart by spaces."""
    path = tuple(text.split())
    if len(path) > MOST_PATH:
        raise Refusal(f"{len(path)} tokens; a path takes {MOST_PATH}.", "path")
    return path
