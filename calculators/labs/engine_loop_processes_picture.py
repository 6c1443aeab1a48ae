"""The pictures of the processes, of what a step's message weighs, and of what exposed CPU time costs."""
from collections.abc import Iterator

from calculators.labs.base import Shown
from calculators.labs.engine_loop_picture import Derivation, Picture
from calculators.labs.kv_size_parts import Part, Row, Swatch, Table, both, sides
from calculators.models.exposed_cpu import ExposedCpu
from calculators.models.process_map import ProcessMap, Role
from calculators.models.step_message import StepMessage
from calculators.pictures import WIDE, Bar, Drawing, Scale, Shape, Text, line, thousands
from calculators.ruled import fitting

BOX, GAP = 26, 6
MOST_BOXES = {True: 8, False: 20}


def processes(shown: Shown) -> Picture:
    """A row of boxes for each role, the way of one request, and the count."""
    result: ProcessMap = shown.result
    unfilled = [role for role in result.roles if not role.count][:1]
    wide, narrow = (roles(result, width, small) for width, small in sides())
    return Picture(
        parts=(Part("Who runs", wide, narrow, "one box is one process, on the node of data-parallel rank 0",
                    legend=(Swatch("hollow", "a process"),
                            *(Swatch("never", "a role that nobody fills") for _ in unfilled))),
               Part("The way of one request", *(way(result, width, small) for width, small in sides()),
                    "down to the GPU and back")),
        derivations=(Derivation("Said out loud", result.lines),), words=result.verdict,
        tables=(
            Table("The processes", ("role", "processes", "owns"),
                  tuple((role.name, thousands(role.count), role.owns) for role in result.roles)),
            Table("The way of one request", ("where", "what happens"), result.path),
        ),
    )


def roles(result: ProcessMap, width: float, narrow: bool) -> Drawing:
    """Each role with its boxes; a long row ends in its count."""
    names, pitch = (0, 62) if narrow else (150, 48)
    shapes: list[Shape] = []
    for place, role in enumerate(result.roles):
        y = 8 + pitch * place
        shapes += name_of(role, y, narrow)
        shapes += boxes(role.count, names, y + (20 if narrow else 0), narrow)
        if place:
            shapes.append(line(0, y - 12, width, y - 12, "rule"))
    return Drawing(width, 8 + pitch * len(result.roles), result.finding, tuple(shapes))


def way(result: ProcessMap, width: float, narrow: bool) -> Drawing:
    """A row for each process that a request passes, and for what carries it there."""
    left, pitch = (0, 44) if narrow else (150, 30)
    shapes: list[Shape] = []
    for place, (where, what) in enumerate(result.path):
        y, carried = 18 + pitch * place, where.startswith("→")
        shapes.append(Text(left if narrow else left - 12, y, where, "label" if carried else "strong",
                           "start" if narrow else "end"))
        words = fitting(what, width - left)
        shapes.append(Text(left, y + (18 if narrow else 0), words, "label" if carried else "value"))
    return Drawing(width, pitch * len(result.path) + 4, "A request goes from an API server over EngineCore to the "
                   "workers, and its tokens come back the same way.", tuple(shapes))


def name_of(role: Role, y: float, narrow: bool) -> Iterator[Shape]:
    if narrow:
        yield Text(0, y + 10, role.name, "strong")
        yield Text(112, y + 10, role.owns, "label")
    else:
        yield Text(138, y + 18, role.name, "strong", "end")
        yield Text(820, y + 18, role.owns, "label")


def boxes(count: int, left: float, y: float, narrow: bool) -> Iterator[Shape]:
    shown = min(count, MOST_BOXES[narrow])
    for number in range(shown):
        yield Bar(left + number * (BOX + GAP), y, BOX, BOX, "hollow")
    if not count:
        yield Bar(left, y, BOX, BOX, "never")
    words = "none" if not count else thousands(count) if count == shown else f"… {count:,} in all"
    yield Text(left + max(shown, 1) * (BOX + GAP) + 4, y + 18, words, "strong" if count else "label")


def in_size(size: float, digits: int) -> str:
    """Bytes in kB, or in MB from ten million on: "2,150 kB", "68.81 MB"."""
    return f"{size / 1e6:,.{digits}g} MB" if size >= 1e7 else f"{size / 1e3:,.{digits}g} kB"


def message(shown: Shown) -> Picture:
    """The message by batch beside everything again."""
    result: StepMessage = shown.result
    rows = tuple(
        Row(f"{size.requests:,} request{'s' * (size.requests != 1)}", (size.diff_bytes, size.full_bytes),
            (in_size(size.diff_bytes, 3), f"{in_size(size.full_bytes, 4)}, {size.full_bytes / size.diff_bytes:,.0f}×"),
            size.present)
        for size in result.sizes
    )
    return Picture(
        parts=(Part("A step’s message by batch", *both("The message by batch", ("what changed", "everything again"),
                                                       rows, WIDE),
                    "each column on a scale of its own; without new requests"),),
        derivations=(Derivation("Said out loud", result.lines),), words=result.verdict,
        tables=(Table("Bytes by batch", ("requests", "differences, B", "everything, B"),
                      tuple((thousands(size.requests), thousands(size.diff_bytes), thousands(size.full_bytes))
                            for size in result.sizes)),),
    )


def exposed(shown: Shown) -> Picture:
    """Both steps to scale, and the same milliseconds over other kernels."""
    result, gpu = shown.result, shown.inputs["gpu_ms"]
    wide, narrow = (two_steps(result, gpu, width, small) for width, small in sides())
    rows = tuple(Row(f"{row.kernel_ms:g} ms", (max(row.speed_up - 1, 0),), (f"{row.speed_up:.2f}×",), row.present)
                 for row in result.at_steps)
    return Picture(
        parts=(
            Part("The same kernels", wide, narrow, "what the GPU waits for, before and after",
                 legend=(Swatch("s-running", "GPU works"), Swatch("s-gap", "GPU waits for the CPU", "idle"))),
            Part("By the length of the kernels", *both("Gain by the GPU's step", ("gain over 1×",), rows, WIDE),
                 "the same milliseconds taken off"),
        ),
        derivations=(Derivation("Said out loud", result.lines),), words=result.verdict,
        tables=(Table("By the GPU’s step", ("GPU, ms", "before, ms", "after, ms", "speed-up"),
                      tuple((f"{row.kernel_ms:g}", f"{row.old_step_ms:g}", f"{row.new_step_ms:g}",
                             f"{row.speed_up:.2f}") for row in result.at_steps)),),
    )


def two_steps(result: ExposedCpu, gpu: float, width: float, narrow: bool) -> Drawing:
    left = 56
    scale = Scale(0, max(result.old_step_ms, result.new_step_ms), left, width - 92)
    shapes: list[Shape] = []
    for place, (name, total) in enumerate((("before", result.old_step_ms), ("after", result.new_step_ms))):
        y, x = 6 + 44 * place, scale(gpu)
        shapes += [Text(0, y + 21, name, "strong"),
                   Bar(left, y, round(x - left, 2), 32, "s-running", f"{gpu:g}" if x - left > 40 else "", "on-running")]
        if total > gpu:
            shapes.append(Bar(x, y, round(scale(total) - x, 2), 32, "s-gap", pattern="idle"))
        shapes.append(line(scale(total), y - 3, scale(total), y + 35, "ink"))
        shapes.append(Text(scale(total) + 8, y + 22, f"{total:,.4g} ms", "strong" if narrow else "end"))
    return Drawing(width, 96, result.finding, tuple(shapes))
