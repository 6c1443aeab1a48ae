"""Words at the right of a picture, each beside what it names, and moved apart where they would lie on each other."""
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from calculators.pictures import Text

LINE = 16  # height of a line of words


@dataclass(frozen=True, slots=True)
class Words:
    """Some lines about what lies at height y."""

    y: float
    lines: tuple[str, ...]
    css: str = "label"

    @property
    def height(self) -> float:
        return LINE * len(self.lines)


def beside(x: float, named: Iterable[Words], top: float, foot: float) -> Iterator[Text]:
    """Each block as near to its height as the others allow, none above `top`, nor below `foot` while there is room."""
    blocks = sorted(named, key=lambda words: words.y)
    starts: list[float] = []
    free = top
    for words in blocks:
        starts.append(max(words.y - words.height / 2, free))
        free = starts[-1] + words.height
    free = foot
    for place in reversed(range(len(blocks))):
        starts[place] = max(min(starts[place], free - blocks[place].height), top)
        free = starts[place]
    for start, words in zip(starts, blocks, strict=True):
        for row, words_of_row in enumerate(words.lines):
            yield Text(x, round(start + LINE * row + 12, 2), words_of_row, words.css)
