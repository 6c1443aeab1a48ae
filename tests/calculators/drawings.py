"""What tests ask of a lab's drawings."""
from calculators.pictures import Bar, Drawing, Text


def words(drawing: Drawing) -> list[str]:
    """Every text in a drawing, those on bars included."""
    return [shape.text for shape in drawing.shapes if isinstance(shape, (Text, Bar)) and shape.text]


def walls(drawing: Drawing) -> int:
    """How many limits stand in a drawing."""
    return sum(isinstance(shape, Bar) and shape.pattern == "wall" for shape in drawing.shapes)


def assert_within(drawing: Drawing, width: float) -> None:
    """Every shape lies inside the drawing; a wall at an edge may stand out by its hatch."""
    for shape in drawing.shapes:
        if isinstance(shape, Bar):
            least = -9 if shape.pattern == "wall" else -1
            assert shape.w >= 0 and shape.x >= least and shape.x + shape.w <= width + 9, shape
            assert shape.y >= 0 and shape.y + shape.h <= drawing.height, shape
        elif isinstance(shape, Text):
            assert -1 <= shape.x <= width + 1 and 0 <= shape.y <= drawing.height, shape
        else:
            assert "nan" not in shape.d and "inf" not in shape.d
