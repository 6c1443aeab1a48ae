"""A pasted shell command as words, the way a POSIX shell would split it, and what is wrong with its lines."""
from typing import NamedTuple

OPERATORS = "|&;<>"
ESCAPED_IN_QUOTES = '"\\$`\n'


class Word(NamedTuple):
    """One word, its quotes taken off, and the line it begins on. `parted`: a bare line end lies before it."""

    text: str
    line: int
    parted: bool = False
    quoted: bool = False


class Words(NamedTuple):
    """The words up to the first operator outside quotes, and a sentence for each thing that a shell would trip over."""

    words: tuple[Word, ...]
    faults: tuple[str, ...]


def split(text: str) -> Words:
    """The words of the first command in a text; a line end without a backslash is said and otherwise taken as a space.
    """
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    words: list[Word] = []
    faults: list[str] = []
    at, line, parted = 0, 1, False
    while at < len(text):
        letter = text[at]
        if letter == "\n":
            at, line, parted = at + 1, line + 1, True
        elif letter.isspace():
            at += 1
        elif letter == "\\" and text[at + 1:at + 2] == "\n":
            at, line = at + 2, line + 1
        elif letter == "\\" and not text[at + 1:].partition("\n")[0].strip():
            at += 1
            if text[at:].strip():
                faults.append(f"Line {line}: a space stands after the backslash, so a shell ends the command there.")
        elif letter == "#":
            at += len(text[at:].partition("\n")[0])
        elif letter in OPERATORS:
            break
        else:
            begun = line
            word, at, line, quoted, whole = one_word(text, at, line)
            if word.isdigit() and text[at:at + 1] in ("<", ">"):
                break  # the number of a stream, as in 2>&1
            if not whole:
                faults.append(f"Line {begun}: a quote is opened and never closed.")
            words.append(Word(word, begun, parted, quoted))
            parted = False
    return Words(tuple(words), tuple(faults))


def one_word(text: str, at: int, line: int) -> tuple[str, int, int, bool, bool]:
    """A word from this place on: its letters, the place and the line after it, whether it had quotes, and all closed.
    """
    letters: list[str] = []
    quote, quoted = "", False
    while at < len(text):
        letter = text[at]
        ahead = text[at + 1:at + 2]
        if letter == "\\" and quote != "'" and ahead and (not quote or ahead in ESCAPED_IN_QUOTES):
            letters.append("" if ahead == "\n" else ahead)
            line += ahead == "\n"
            at += 2
            continue
        if quote and letter == quote:
            quote = ""
        elif not quote and letter in "'\"":
            quote, quoted = letter, True
        elif not quote and (letter.isspace() or letter in OPERATORS):
            break
        else:
            letters.append(letter)
            line += letter == "\n"
        at += 1
    return "".join(letters), at, line, quoted, not quote
