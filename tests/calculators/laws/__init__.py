"""What a result of each view must keep to whatever was asked of it, said apart from how the model comes to it."""
from collections.abc import Callable, Mapping
from typing import Any

from tests.calculators.laws import cache, decoding, engine, fleet, graphs, memory, pace, transfer

Law = Callable[[Any, Mapping[str, Any]], bool]  # the result and the cleaned inputs

LAWS: dict[str, Law] = (engine.LAWS | pace.LAWS | memory.LAWS | cache.LAWS | decoding.LAWS | graphs.LAWS | fleet.LAWS
                        | transfer.LAWS)
