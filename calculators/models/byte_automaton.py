"""Texts and small regular expressions as a deterministic automaton over bytes."""
import re
from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from calculators.models.base import Refusal

MOST_PLACES, MOST_STATES = 2_000, 300
MOST_REPEATS, DEEPEST = 60, 20
PRINTABLE = frozenset(range(0x20, 0x7F))
CLASSES = {
    "d": frozenset(b"0123456789"), "s": frozenset(b" \t\n\r"),
    "w": frozenset(b"0123456789_abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"),
}
CONTROLS = {"n": 0x0A, "t": 0x09, "r": 0x0D}
COUNTS = re.compile(r"\{(\d{1,3})(,(\d{1,3})?)?\}")


@dataclass(frozen=True, slots=True)
class Automaton:
    """Where each state goes by byte, which states may be the end, and the shortest bytes that lead to each."""

    next: tuple[dict[int, int], ...]
    accepting: frozenset[int]
    reached_by: tuple[bytes, ...]

    def walk(self, state: int, data: bytes) -> int | None:
        """The state after these bytes, None when they lead nowhere."""
        for byte in data:
            if (state := self.next[state].get(byte)) is None:
                return None
        return state

    def dies_at(self, state: int, data: bytes) -> int:
        """How many of the bytes can still be taken."""
        for place, byte in enumerate(data):
            if (state := self.next[state].get(byte)) is None:
                return place
        return len(data)

    def forced(self, state: int) -> bytes:
        """The bytes that can't be otherwise from a state on: up to the first choice, or the end.

        It comes to one of them, since an end can be reached from every state.
        """
        taken = bytearray()
        while state not in self.accepting and len(self.next[state]) == 1:
            (byte, state), = self.next[state].items()
            taken.append(byte)
        return bytes(taken)


@dataclass(slots=True)
class Places:
    """A nondeterministic automaton while it is built: edges by a set of bytes, and edges that take none."""

    edges: list[list[tuple[frozenset[int], int]]] = field(default_factory=list)
    free: list[list[int]] = field(default_factory=list)

    def new(self) -> int:
        if len(self.edges) == MOST_PLACES:
            raise Refusal("The grammar is too large for the lab: fewer repeats, or a shorter text.", "grammar")
        self.edges.append([])
        self.free.append([])
        return len(self.edges) - 1


Piece = Callable[[Places, int], int]  # builds itself from a place on and says where it ends


def automaton_of(lines: Iterable[str], regular: bool) -> Automaton:
    """The automaton that takes any of the lines: as they stand, or each as a regular expression.

    Raises Refusal for an expression that can't be read and for more than MOST_STATES states.
    """
    places = Places()
    start = places.new()
    end = either([Reader(line).whole() if regular else text_piece(line) for line in lines])(places, start)
    return determined(places, start, end)


def one_of(bytes_taken: frozenset[int]) -> Piece:
    """A piece that takes one byte of a set."""
    def build(places: Places, at: int) -> int:
        places.edges[at].append((bytes_taken, end := places.new()))
        return end
    return build


def text_piece(text: str) -> Piece:
    return in_turn([one_of(frozenset({byte})) for byte in text.encode()])


def in_turn(pieces: list[Piece]) -> Piece:
    def build(places: Places, at: int) -> int:
        for piece in pieces:
            at = piece(places, at)
        return at
    return build


def either(pieces: list[Piece]) -> Piece:
    """A piece that is any one of these."""
    def build(places: Places, at: int) -> int:
        ends = []
        for piece in pieces:
            places.free[at].append(begin := places.new())
            ends.append(piece(places, begin))
        end = places.new()
        for last in ends:
            places.free[last].append(end)
        return end
    return build


def repeated(piece: Piece, least: int, most: int | None) -> Piece:
    """A piece `least` to `most` times, None for any number."""
    def build(places: Places, at: int) -> int:
        for _ in range(least):
            at = piece(places, at)
        if most is None:
            places.free[at].append(hub := places.new())
            places.free[piece(places, hub)].append(hub)
            places.free[hub].append(end := places.new())
            return end
        end = places.new()
        places.free[at].append(end)
        for _ in range(most - least):
            at = piece(places, at)
            places.free[at].append(end)
        return end
    return build


@dataclass(slots=True)
class Reader:
    """A regular expression, read from left to right: | ( ) [ ] . \\d \\w \\s and ? * + {m,n}."""

    text: str
    at: int = 0
    depth: int = 0

    def whole(self) -> Piece:
        piece = self.choice()
        if self.at < len(self.text):
            raise self.fault("that bracket closes nothing")
        return piece

    def choice(self) -> Piece:
        pieces = [self.sequence()]
        while self.take("|"):
            pieces.append(self.sequence())
        return pieces[0] if len(pieces) == 1 else either(pieces)

    def sequence(self) -> Piece:
        pieces: list[Piece] = []
        while self.at < len(self.text) and self.text[self.at] not in "|)":
            pieces.append(self.counted(self.atom()))
        return in_turn(pieces)

    def counted(self, piece: Piece) -> Piece:
        if self.take("?"):
            return repeated(piece, 0, 1)
        if self.take("*"):
            return repeated(piece, 0, None)
        if self.take("+"):
            return repeated(piece, 1, None)
        if found := COUNTS.match(self.text, self.at):
            least = int(found[1])
            most = int(found[3]) if found[3] else None if found[2] else least
            if least > MOST_REPEATS or most is not None and not least <= most <= MOST_REPEATS:
                raise self.fault(f"a repeat takes 0 to {MOST_REPEATS}, the smaller first")
            self.at = found.end()
            return repeated(piece, least, most)
        return piece

    def atom(self) -> Piece:
        letter = self.text[self.at]
        if letter in "?*+":
            raise self.fault("there is nothing to repeat")
        self.at += 1
        if letter == "(":
            self.depth += 1
            if self.depth > DEEPEST:
                raise self.fault("too many brackets in each other")
            self.take("?:")
            piece = self.choice()
            self.depth -= 1
            if not self.take(")"):
                raise self.fault("a bracket is not closed")
            return piece
        if letter == "[":
            return one_of(self.letters())
        if letter == ".":
            return one_of(PRINTABLE)
        if letter == "\\":
            return self.escaped()
        return text_piece(letter)

    def escaped(self) -> Piece:
        if self.at == len(self.text):
            raise self.fault("nothing follows the backslash")
        letter = self.text[self.at]
        self.at += 1
        if letter in CLASSES:
            return one_of(CLASSES[letter])
        if letter in CONTROLS:
            return one_of(frozenset({CONTROLS[letter]}))
        if letter.isalnum():
            raise self.fault(f"\\{letter} is not known; \\d, \\w, \\s, \\n, \\t and \\r are")
        return text_piece(letter)

    def letters(self) -> frozenset[int]:
        """A class after its bracket, "a-z_]": ASCII, and with ^ what of the printable is left."""
        negated, taken, first = self.take("^"), set(), True
        while first or not self.text.startswith("]", self.at):
            low = self.member()
            first = False
            if isinstance(low, frozenset):
                taken |= low
            elif self.text.startswith("-", self.at) and not self.text.startswith("-]", self.at):
                self.at += 1
                high = self.member()
                if isinstance(high, frozenset) or high < low:
                    raise self.fault("a range runs from the smaller letter to the greater")
                taken |= set(range(low, high + 1))
            else:
                taken.add(low)
        self.at += 1
        left = PRINTABLE - taken if negated else frozenset(taken)
        if not left:
            raise self.fault("a class without a letter")
        return left

    def member(self) -> int | frozenset[int]:
        """One letter of a class as its byte, or a class within it."""
        if self.at >= len(self.text):
            raise self.fault("a class is not closed")
        letter = self.text[self.at]
        self.at += 1
        if letter == "\\" and self.at < len(self.text):
            letter = self.text[self.at]
            self.at += 1
            if letter in CLASSES:
                return CLASSES[letter]
            if letter in CONTROLS:
                return CONTROLS[letter]
        if not letter.isascii():
            raise self.fault("a class takes ASCII letters")
        return ord(letter)

    def take(self, words: str) -> bool:
        """Whether the text goes on with these, which are then read."""
        if found := self.text.startswith(words, self.at):
            self.at += len(words)
        return found

    def fault(self, words: str) -> Refusal:
        place = min(self.at + 1, len(self.text))
        return Refusal(f"“{self.text[:40]}” can’t be read at letter {place}: {words}.", "grammar")


def determined(places: Places, start: int, end: int) -> Automaton:
    """The deterministic automaton, by the sets of places that the same bytes lead to; states by nearness."""
    kinds = kinds_of_bytes(places)
    first = closed(places, {start})
    numbers, queue = {first: 0}, deque([first])
    next_states: list[dict[int, int]] = []
    reached = [b""]
    while queue:
        here = queue.popleft()
        number, steps = numbers[here], {}
        for kind in kinds:
            sample = min(kind)
            targets = {target for place in here for taken, target in places.edges[place] if sample in taken}
            if not targets:
                continue
            there = closed(places, targets)
            if there not in numbers:
                if len(numbers) == MOST_STATES:
                    raise Refusal(f"The automaton has more than {MOST_STATES} states; the lab stops there.", "grammar")
                numbers[there] = len(numbers)
                reached.append(reached[number] + bytes([sample]))
                queue.append(there)
            steps |= dict.fromkeys(sorted(kind), numbers[there])
        next_states.append(steps)
    accepting = frozenset(number for places_of, number in numbers.items() if end in places_of)
    return Automaton(tuple(next_states), accepting, tuple(reached))


def kinds_of_bytes(places: Places) -> list[list[int]]:
    """Bytes that no edge tells apart, together; those that no edge takes are left out."""
    taken = {edge for edges in places.edges for edge, _ in edges}
    groups: dict[tuple[bool, ...], list[int]] = {}
    in_order = sorted(taken, key=sorted)
    for byte in sorted(frozenset().union(*taken)):
        groups.setdefault(tuple(byte in edge for edge in in_order), []).append(byte)
    return list(groups.values())


def closed(places: Places, at: set[int]) -> frozenset[int]:
    """These places and all that can be come to without a byte."""
    found, open_ = set(at), list(at)
    while open_:
        for there in places.free[open_.pop()]:
            if there not in found:
                found.add(there)
                open_.append(there)
    return frozenset(found)
