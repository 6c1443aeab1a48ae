"""Tokens to text while they come: the window that keeps characters whole, and the text held back for stop strings."""
import re
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass, field

from calculators.models.base import Line, Refusal

BROKEN = "\N{REPLACEMENT CHARACTER}"
SPACE, BREAK = "␣", "↵"
END = b"<|end|>"  # the one special token
FAST, SLOW = "fast", "slow"
FIRST_WINDOW, KEPT = 5, 7  # tokens of the prompt that the slow way decodes again, and that it keeps
MOST_TOKENS, MOST_BYTES, MOST_STOPS = 200, 32, 4
UNTYPED = set("{}\\" + BROKEN + SPACE + BREAK)  # what stands for something else in a typed token
PIECE = re.compile(r"\{([^{}]*)\}|([^{}]+)")


@dataclass(frozen=True, slots=True)
class Token:
    """A token's bytes; a special one has a name and is left out of the text when special tokens are skipped."""

    data: bytes
    special: bool = False

    @property
    def written(self) -> str:
        """As it is typed: "_Hi", "{F0 9F 98}", "{end}"."""
        if self.special:
            return "{end}"
        text = self.data.decode(errors="replace")
        if not text.replace("\n", "").isprintable() or set(text) & UNTYPED or "," in text and text != ",":
            return "{" + self.data.hex(" ").upper() + "}"
        return visible(text.replace("_", "{5F}"))


@dataclass(frozen=True, slots=True)
class Step:
    """One engine step: what came, what the window made of it, and what was sent.

    `prefix` and `read` are offsets into all tokens before the step's last token was decoded, `new_prefix` and
    `new_read` after it. `alone` is each new token decoded by itself. Held characters are decoded and not sent, pending
    bytes not even decoded.
    """

    tokens: tuple[Token, ...]
    end: int
    alone: str
    prefix: int
    read: int
    new_prefix: int
    new_read: int
    prefix_text: str
    new_text: str
    decoded: str
    sent: str
    sent_in_all: int
    text: str
    held: str
    pending_bytes: int
    stop: str
    cut: str

    @property
    def stopped(self) -> bool:
        return bool(self.stop)


@dataclass(frozen=True, slots=True)
class Detokenized:
    """Every step, from step 0 before any token; the text sent, and what each way of decoding costs."""

    steps: tuple[Step, ...]
    sequence: tuple[Token, ...]
    prompt_length: int
    sent_text: str
    stop_string: str
    output_tokens: int
    holdback: int
    alone_broken: int
    window_broken: int
    window_decodes: int
    whole_decodes: int
    finding: str
    lines: tuple[Line, ...]


@dataclass(slots=True)
class Window:
    """The decoder's state: all tokens, and the two offsets into them."""

    tokens: list[Token]
    skip_special: bool
    prefix: int
    read: int
    slow: bool = False
    decodes: int = 0
    prefix_text: str = ""
    new_text: str = ""
    before: tuple[int, int] = field(default=(0, 0))

    def decode(self, tokens: Sequence[Token]) -> str:
        """Their bytes as text; what is no character becomes U+FFFD."""
        self.decodes += len(tokens)
        return text_of(tokens, self.skip_special)

    def step(self, token: Token) -> str:
        """The text that a token completes: what the window grew by, "" while that ends in half a character.

        Compare tokens[prefix:read] with tokens[prefix:]; if the second is longer and whole, the difference is new, and
        the window moves on. The slow way counts characters, the fast one bytes.
        """
        self.before = (self.prefix, self.read)
        self.prefix_text = self.decode(self.tokens[self.prefix:self.read])
        if not self.slow and not self.prefix_text and len(self.tokens) > self.read and not self.decode(
                self.tokens[self.prefix:]).endswith(BROKEN):
            self.read = len(self.tokens)
            self.prefix_text = self.decode(self.tokens[self.prefix:self.read])
        self.tokens.append(token)
        self.new_text = self.decode(self.tokens[self.prefix:])
        length = len if self.slow else bytes_in
        if length(self.new_text) <= length(self.prefix_text) or self.new_text.endswith(BROKEN):
            return ""
        new = self.new_text[len(self.prefix_text):]
        self.prefix, self.read = self.read, len(self.tokens)
        return new


def window_of(prompt: Sequence[Token], skip_special: bool, detokenizer: str) -> Window:
    """The window before the first token.

    The fast way starts from all of the prompt, or from nothing read where that ends inside a character. The slow way
    keeps the prompt's last tokens and decodes five of them again.
    """
    if detokenizer == SLOW:
        kept = list(prompt[-KEPT:])
        return Window(kept, skip_special, max(len(kept) - FIRST_WINDOW, 0), len(kept), slow=True)
    whole = not text_of(prompt, skip_special).endswith(BROKEN)
    return Window(list(prompt), skip_special, 0, len(prompt) if whole else 0)


def bytes_in(text: str) -> int:
    return len(text.encode())


def text_of(tokens: Sequence[Token], skip_special: bool) -> str:
    return b"".join(token.data for token in tokens if not (token.special and skip_special)).decode(errors="replace")


def simulate(*, prompt: tuple[Token, ...], tokens: tuple[Token, ...], per_step: int = 1, stop: tuple[str, ...] = (),
             include_stop: bool = False, min_tokens: int = 0, skip_special: bool = True,
             detokenizer: str = FAST) -> Detokenized:
    """Stream `tokens`, `per_step` at a time, as the engine's front end does.

    Source: vllm 0.33.0, v1/engine/detokenizer.py; tokenizers' DecodeStream for the fast way, vllm/tokenizers/
    detokenizer_utils.py, detokenize_incrementally, for the slow one.
    """
    engine_steps = [tokens[at:at + per_step] for at in range(0, len(tokens), per_step)]
    return stream(prompt, engine_steps, stop, include_stop, min_tokens, skip_special, detokenizer)


def stream(prompt: Sequence[Token], engine_steps: Sequence[Sequence[Token]], stop: Sequence[str], include_stop: bool,
           min_tokens: int, skip_special: bool, detokenizer: str) -> Detokenized:
    """Every step until a stop string is complete or the tokens end; what was held back is sent with the last one."""
    window = window_of(prompt, skip_special, detokenizer)
    holdback = max(map(len, stop), default=1) - 1 if not include_stop else 0
    text, sent_to, kept = "", 0, 0
    sequence = list(window.tokens)
    steps = [Step((), len(sequence), "", window.prefix, window.read, window.prefix, window.read, "", "", "", "", 0, "",
                  "", 0, "", "")]
    for number, new in enumerate(engine_steps, 1):
        offsets, before, decoded = [len(text)], kept, ""
        for token in new:
            decoded += (piece := window.step(token))
            text += piece
            offsets.append(len(text))
            sequence.append(token)
        kept += len(new)
        found = stop_in(text, offsets, before, kept, stop, min_tokens)
        cut = ""
        if found:
            string, start = found
            end = start + len(string)
            kept = before + bisect_left(offsets, end, lo=1)
            cut, text = (text[end:], text[:end]) if include_stop else (text[start:], text[:start])
        finished = bool(found) or number == len(engine_steps)
        limit = len(text) - (0 if finished else holdback)
        sent = text[sent_to:limit] if sent_to < limit else ""
        sent_to = max(limit, sent_to)
        steps.append(Step(
            tokens=tuple(new), end=len(sequence), alone="".join(text_of([token], skip_special) for token in new),
            prefix=window.before[0], read=window.before[1], new_prefix=window.prefix, new_read=window.read,
            prefix_text=window.prefix_text, new_text=window.new_text, decoded=decoded, sent=sent, sent_in_all=sent_to,
            text=text, held=text[sent_to:], pending_bytes=pending(sequence, window, skip_special),
            stop=found[0] if found else "", cut=cut,
        ))
        if found:
            break
    return summed(steps, sequence, len(sequence) - sum(len(step.tokens) for step in steps), text[:sent_to], kept,
                  holdback, window)


def pending(sequence: Sequence[Token], window: Window, skip_special: bool) -> int:
    """Bytes that came and are not decoded yet."""
    waiting = sequence[window.read:]
    return sum(len(token.data) for token in waiting if not (token.special and skip_special))


def stop_in(text: str, offsets: list[int], before: int, now: int, stop: Sequence[str],
            min_tokens: int) -> tuple[str, int] | None:
    """The stop string that is complete first in the text, and where it starts; None without one.

    Only what is new is searched, and before it as far as a stop string may reach back.
    """
    if not stop or now <= min_tokens:
        return None
    new = len(text) - offsets[max(min_tokens - before, 0)]
    if not new:
        return None
    found = [(start + len(string), place, string, start) for place, string in enumerate(stop)
             if (start := text.find(string, 1 - new - len(string))) != -1]
    if not found:
        return None
    _, _, string, start = min(found)
    return string, start


def summed(steps: list[Step], sequence: list[Token], prompt_length: int, sent: str, kept: int, holdback: int,
           window: Window) -> Detokenized:
    """The run with its counts."""
    came = len(sequence) - prompt_length
    alone = "".join(step.alone for step in steps).count(BROKEN)
    streamed = "".join(step.sent for step in steps)
    stopped = steps[-1].stop
    return Detokenized(
        steps=tuple(steps), sequence=tuple(sequence), prompt_length=prompt_length, sent_text=sent, stop_string=stopped,
        output_tokens=kept, holdback=holdback, alone_broken=alone, window_broken=streamed.count(BROKEN),
        window_decodes=window.decodes, whole_decodes=whole_decodes(came),
        finding=f"{came:,} token{'s' * (came != 1)} give {len(sent):,} characters; each token alone would show "
                f"{alone:,} broken one{'s' * (alone != 1)}"
                f"{f', and “{visible(stopped)}” ends it' if stopped else ''}.",
        lines=(
            Line("broken, each token alone", "", alone, "characters"),
            Line("broken, with the window", "", streamed.count(BROKEN), "characters"),
            Line("held back for stops", f"{holdback + 1} − 1" if holdback else "", holdback, "characters"),
            Line("decoded again from the start", f"{came:,} × {came + 1:,} / 2", whole_decodes(came), "tokens"),
            Line("decoded with the window", "", window.decodes, "tokens"),
            Line("1,000 tokens, from the start", "1,000 × 1,001 / 2", whole_decodes(1_000), "tokens"),
            Line("1,000 tokens, windows of 7 at most", "1,000 × 7", 7_000, "tokens"),
        ),
    )


def whole_decodes(tokens: int) -> int:
    """Tokens decoded when each step decodes the output from its start: n (n + 1) / 2."""
    return tokens * (tokens + 1) // 2


def visible(text: str) -> str:
    """Spaces and line breaks as signs."""
    return text.replace(" ", SPACE).replace("\n", BREAK)


def read_tokens(text: str, most: int, name: str) -> tuple[Token, ...]:
    """Tokens from a text: apart by spaces, "_" a space, "\\n" a line break, "{F0 9F}" bytes, "{end}" a special token.

    Raises Refusal with what can't be read.
    """
    words = re.findall(r"(?:\{[^{}]*\}|[^\s{}]|[{}])+", text)
    if len(words) > most:
        raise Refusal(f"{len(words):,} tokens; the lab follows at most {most:,}.", name)
    return tuple(read_token(word, name) for word in words)


def read_token(word: str, name: str) -> Token:
    """One token; its text and its bytes may alternate."""
    if word == "{end}":
        return Token(END, special=True)
    data = b""
    place = 0
    for piece in PIECE.finditer(word):
        if piece.start() != place:
            break
        place = piece.end()
        if piece[2] is not None:
            if "," in piece[2] and word != ",":
                raise Refusal(f"“{word[:20]}” has a comma inside; write that as {{2C}}.", name)
            data += unseen(piece[2]).encode(errors="replace")
        else:
            data += bytes_of(piece[1], word, name)
    if place != len(word) or not 0 < len(data) <= MOST_BYTES:
        raise Refusal(f"“{word[:20]}” is no token of 1 to {MOST_BYTES} bytes; a token is text such as _Hi, bytes such "
                      "as {F0 9F 98}, or {end}.", name)
    return Token(data)


def bytes_of(digits: str, word: str, name: str) -> bytes:
    """Bytes from two-digit hexadecimal numbers."""
    numbers = digits.split()
    if not numbers or not all(re.fullmatch("[0-9A-Fa-f]{2}", number) for number in numbers):
        raise Refusal(f"“{word[:20]}” holds no bytes; takes two digits each, such as {{F0 9F 98}}.", name)
    return bytes(int(number, 16) for number in numbers)


def unseen(text: str) -> str:
    """Signs back to spaces and line breaks."""
    return text.replace("_", " ").replace(SPACE, " ").replace(BREAK, "\n").replace("\\n", "\n")


def read_stops(text: str) -> tuple[str, ...]:
    """Stop strings apart by "|", with "\\n" or its sign for a line break.

    Raises Refusal for too many, and for one that is too long.
    """
    parts = [part.replace(BREAK, "\n").replace("\\n", "\n").replace(SPACE, " ") for part in text.split("|")]
    stops = tuple(part for part in parts if part)
    if len(stops) > MOST_STOPS or any(len(stop) > MOST_BYTES for stop in stops):
        raise Refusal(f"Takes up to {MOST_STOPS} stop strings of up to {MOST_BYTES} characters, apart by |.", "stop")
    return stops
