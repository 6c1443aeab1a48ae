"""The colours: contrast, and whether the states can be told apart without full colour sight."""
import itertools
import re
from pathlib import Path

import pytest

CSS = Path(__file__).resolve().parents[2] / "drillapp" / "static" / "css"
PAIR = re.compile(r"--([\w-]+): light-dark\((#[0-9a-f]{6}), (#[0-9a-f]{6})\);")
TOKENS = {
    theme: {name: (light, dark)[at] for name, light, dark in PAIR.findall((CSS / "tokens.css").read_text())}
    for at, theme in enumerate(("light", "dark"))
}
THEMES = ("light", "dark")
STATES = ("running", "waiting-line", "cached", "preempted", "idle", "limit")
TEXTS = ("ink", "ink-2", "ink-3", "pen", "limit")
WHITE = "#ffffff"

# The specification's own contrast of each token against paper, light and dark.
SPECIFIED = {
    "ink": (15.7, 14.6), "ink-2": (7.97, 9.13), "ink-3": (5.26, 6.34), "mark": (15.7, 7.96), "pen": (8.07, 9.06),
    "edge": (3.56, 4.12), "running": (6.45, 3.66), "waiting-line": (4.82, 12.3), "cached": (3.14, 5.44),
    "preempted": (3.06, 7.77), "idle": (1.76, 1.99), "limit": (10.6, 9.22), "grid": (1.24, 1.21), "rule": (1.39, 1.52),
}  # fmt: skip

# Machado, Oliveira and Fernandes (2009), at full strength, on linear RGB.
SIGHT = {
    "normal": ((1, 0, 0), (0, 1, 0), (0, 0, 1)),
    "protan": ((0.152286, 1.052583, -0.204868), (0.114503, 0.786281, 0.099216), (-0.003882, -0.048116, 1.051998)),
    "deutan": ((0.367322, 0.860646, -0.227968), (0.280085, 0.672501, 0.047413), (-0.011820, 0.042940, 0.968881)),
    "tritan": ((1.255528, -0.076749, -0.178779), (-0.078411, 0.930809, 0.147602), (0.004733, 0.691367, 0.303900)),
}
LEAST = {
    "light": {"normal": 14.5, "protan": 7.2, "deutan": 8.0, "tritan": 12.1},
    "dark": {"normal": 13.0, "protan": 13.5, "deutan": 11.6, "tritan": 7.5},
}


def linear(colour: str) -> list[float]:
    """The three channels of a hex colour as light, 0 to 1."""
    parts = (int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5))
    return [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]


def contrast(one: str, other: str) -> float:
    """WCAG's ratio of two hex colours, 1 to 21."""
    red, green, blue = zip(linear(one), linear(other), strict=True)
    lights = sorted(0.2126 * r + 0.7152 * g + 0.0722 * b for r, g, b in zip(red, green, blue, strict=True))
    return (lights[1] + 0.05) / (lights[0] + 0.05)


def oklab(light: list[float]) -> list[float]:
    """Ottosson's OKLab of linear RGB."""
    rows = ((0.4122214708, 0.5363325363, 0.0514459929), (0.2119034982, 0.6806995451, 0.1073969566),
            (0.0883024619, 0.2817188376, 0.6299787005))  # fmt: skip
    cone = [max(sum(a * b for a, b in zip(row, light, strict=True)), 0) ** (1 / 3) for row in rows]
    rows = ((0.2104542553, 0.7936177850, -0.0040720468), (1.9779984951, -2.4285922050, 0.4505937099),
            (0.0259040371, 0.7827717662, -0.8086757660))  # fmt: skip
    return [sum(a * b for a, b in zip(row, cone, strict=True)) for row in rows]


def distance(one: str, other: str, sight: str) -> float:
    """How far apart two colours are for that sight, in hundredths of OKLab."""
    seen = [
        oklab([min(max(sum(a * b for a, b in zip(row, linear(colour), strict=True)), 0), 1) for row in SIGHT[sight]])
        for colour in (one, other)
    ]
    return 100 * sum((a - b) ** 2 for a, b in zip(*seen, strict=True)) ** 0.5


@pytest.mark.parametrize("theme", THEMES)
@pytest.mark.parametrize("name", SPECIFIED)
def test_token_has_the_specified_contrast(name: str, theme: str):
    token = TOKENS[theme]
    assert contrast(token[name], token["paper"]) == pytest.approx(SPECIFIED[name][THEMES.index(theme)], rel=0.01)


@pytest.mark.parametrize("theme", THEMES)
@pytest.mark.parametrize("ground", ["paper", "sheet", "pen-wash"])
@pytest.mark.parametrize("text", TEXTS)
def test_text_can_be_read_on_every_ground(text: str, ground: str, theme: str):
    assert contrast(TOKENS[theme][text], TOKENS[theme][ground]) >= 4.5


@pytest.mark.parametrize("theme", THEMES)
@pytest.mark.parametrize("ground", ["pen", "ink", "limit"])
def test_paper_can_be_read_on_a_filled_ground(ground: str, theme: str):
    assert contrast(TOKENS[theme]["paper"], TOKENS[theme][ground]) >= 4.5


@pytest.mark.parametrize("theme", THEMES)
def test_figures_on_running_are_white_and_can_be_read(theme: str):
    assert contrast(WHITE, TOKENS[theme]["running"]) >= 4.5


@pytest.mark.parametrize("theme", THEMES)
@pytest.mark.parametrize("state", ["running", "waiting", "cached", "preempted"])
def test_text_in_a_states_hue_stands_out_from_paper_and_its_own_wash(state: str, theme: str):
    token = TOKENS[theme]
    assert contrast(token[f"{state}-text"], token["paper"]) >= 6
    assert contrast(token[f"{state}-text"], token[f"{state}-wash"]) >= 5


@pytest.mark.parametrize("theme", THEMES)
@pytest.mark.parametrize("mark", ["edge", "mark", "pen", "running", "waiting-line", "cached", "preempted", "limit"])
def test_controls_and_state_marks_can_be_seen(mark: str, theme: str):
    assert contrast(TOKENS[theme][mark], TOKENS[theme]["paper"]) >= 3


@pytest.mark.parametrize("theme", THEMES)
def test_an_edge_can_be_seen_against_the_inside_of_its_control(theme: str):
    assert contrast(TOKENS[theme]["edge"], TOKENS[theme]["sheet"]) >= 3


@pytest.mark.parametrize("sight", SIGHT)
@pytest.mark.parametrize("theme", THEMES)
def test_states_stay_apart_for_every_sight(theme: str, sight: str):
    token = TOKENS[theme]
    least = min(distance(token[one], token[other], sight) for one, other in itertools.combinations(STATES, 2))
    assert least >= 7
    assert least == pytest.approx(LEAST[theme][sight], abs=0.15)


def test_no_colour_is_named_outside_the_tokens():
    colour = re.compile(r"#[0-9a-fA-F]{3,8}\b(?=[^{]*;)|\brgba?\(|\boklch\(")
    found = {path.name: colour.findall(path.read_text()) for path in CSS.glob("*.css")}
    assert found.pop("tokens.css")
    assert {name: colours for name, colours in found.items() if colours} == {}


def test_every_token_used_is_defined():
    sheets = [path.read_text() for path in CSS.glob("*.css")]
    used = {name for sheet in sheets for name in re.findall(r"var\(--([\w-]+)", sheet)}
    assert used - {name for sheet in sheets for name in re.findall(r"--([\w-]+):", sheet)} == set()
