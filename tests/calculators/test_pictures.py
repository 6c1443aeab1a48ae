"""Shapes as SVG: whatever a reader typed into a picture stays text, and no line runs through words."""
from django.template.loader import render_to_string

from calculators.pictures import Bar, Drawing, Path, Text, line
from calculators.ruled import past_words

TYPED = '<b>"A" & ‘B’</b>'
ESCAPED = "&lt;b&gt;&quot;A&quot; &amp; ‘B’&lt;/b&gt;"


def test_a_bar_has_its_text_in_its_middle_or_from_its_left_edge() -> None:
    assert Bar(10, 20, 30.5, 8, "solid", "7").svg() == (
        '<rect class="solid" x="10" y="20" width="30.5" height="8"/>'
        '<text class="value" x="25.25" y="24.0" dy="0.36em" text-anchor="middle">7</text>')
    assert Bar(10, 20, 30.5, 8, "solid", "7", left=4).svg().endswith(
        '<text class="value" x="14" y="24.0" dy="0.36em" text-anchor="start">7</text>')
    assert Bar(0, 0, 1, 1, "wall", pattern="wall").svg() == (
        '<rect class="wall" x="0" y="0" width="1" height="1" fill="url(#fill-wall)"/>')


def test_every_text_of_a_shape_is_escaped() -> None:
    assert Bar(0, 0, 1, 1, TYPED, TYPED, TYPED, TYPED).svg().count(ESCAPED) == 4
    assert Text(0, 0, TYPED, TYPED).svg().count(ESCAPED) == 2
    assert Path(TYPED, TYPED).svg().count(ESCAPED) == 2
    for shape in (Bar(0, 0, 1, 1, TYPED, TYPED, TYPED, TYPED), Text(0, 0, TYPED, TYPED), Path(TYPED, TYPED)):
        assert "<b>" not in shape.svg()


def test_a_drawing_has_its_shapes_from_back_to_front() -> None:
    drawing = Drawing(20, 10, TYPED, (line(0, 1, 20, 1, "axis"), Text(3, 4, "A")))
    html = render_to_string("calculators/_drawing.html", {"drawing": drawing, "css": "drawn-wide"})
    assert html == (
        f'<svg class="picture drawn-wide" viewBox="0 0 20 10" role="img"><title>{ESCAPED}</title>\n'
        '<path class="axis" d="M0 1L20 1"/>\n<text class="label" x="3" y="4" text-anchor="start">A</text>\n</svg>\n')


def test_an_upright_line_leaves_out_the_words_in_its_way() -> None:
    words = [Text(100, 50, "in the way", "label", "middle"), Text(200, 50, "beside it"), Text(100, 140, "below")]
    assert past_words(100, 0, 120, words).d == "M100 0L100 39M100 54L100 120"  # 11 above their baseline, 4 below it
    assert past_words(150, 0, 120, words).d == "M150 0L150 120"
    assert past_words(100, 40, 53, words).d == "M100 53"  # nothing of it is left
