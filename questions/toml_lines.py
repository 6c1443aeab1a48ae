"""A table of a question as the lines that an author types: TOML, each value in one line, and read back the same."""
import json
import re
import tomllib
from typing import Any

from questions.content import can_be_held, leaves, plain


def read_lines(text: str) -> dict[str, Any] | list[Any]:
    """The table that `key = value` lines hold, or the array of tables of a text that begins with [{.

    Raises ValueError with a sentence for the author.
    """
    array = text.lstrip().startswith("[{")
    try:
        value = plain(tomllib.loads(f"it = {text}")["it"] if array else tomllib.loads(text))
    except (ValueError, RecursionError) as fault:
        raise ValueError(f"Not TOML, key = value in each line: {fault}.") from None
    if not all(map(can_be_held, leaves(value))):
        raise ValueError("It takes texts without NUL, finite numbers, true and false.")
    return value


def write_lines(value: dict[str, Any] | list[Any]) -> str:
    """The lines of a table, or of an array of tables; read_lines() reads the same from them."""
    if isinstance(value, list):
        return "[" + ",\n".join(inline(table) for table in value) + "]" if value else ""
    return "\n".join(f"{key_text(key)} = {inline(item)}" for key, item in value.items())


def inline(value: Any) -> str:
    """A value as it stands after its = sign."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{key_text(key)} = {inline(item)}" for key, item in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(inline, value)) + "]"
    # What JSON writes for a text, a number, true and false is TOML as well, but for DEL.
    return json.dumps(value, ensure_ascii=False).replace("\x7f", r"\u007F")


def key_text(key: str) -> str:
    return key if re.fullmatch(r"[A-Za-z0-9_-]+", key) else inline(key)
