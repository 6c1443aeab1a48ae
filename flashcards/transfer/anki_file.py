"""A package of Anki's, opened: the collection inside it, whichever of its three forms it has, held to sizes that fit.

What is inside comes from anywhere: nothing of it is trusted, and no view, trigger or function of it is run.
"""
import io
import json
import sqlite3
import tempfile
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from time import monotonic
from typing import Any, BinaryIO

import zstandard

from accounts.rows import BadExport

MOST_BYTES = 2**30  # of a collection, unpacked
MOST_FILES = 200_000  # in a package: each costs memory before its first byte is read
MOST_OF_A_TEXT = 2**24  # bytes of one text of a collection; all of Anki's note types are one in its older forms
ENTRY = b"PK\x01\x02"  # begins what a zip archive says of a file in it
PIECE = 2**20
LONGEST_S = 600  # for all that is asked of a collection
LONGEST_TEMPLATE = 20_000  # characters of it that are read
NEWEST_META = 3
TABLES = {"col", "notes", "cards", "revlog"}
NEWER_TABLES = {"notetypes", "fields", "templates", "config"}
PLEASE_UPDATE = "Please update to the latest Anki version"


@dataclass(frozen=True, slots=True)
class NoteType:
    """What Anki makes cards from: its fields by name, its templates as (front, back), and whether it is a cloze."""

    name: str
    fields: list[str]
    templates: list[tuple[str, str]]
    is_cloze: bool


@dataclass(slots=True)
class Collection:
    """An open collection, read only."""

    database: sqlite3.Connection
    schema: int
    created: int  # seconds since 1970
    config: dict[str, Any] = field(default_factory=dict)
    types: dict[int, NoteType] = field(default_factory=dict)


@contextmanager
def opened(body: bytes) -> Iterator[Collection]:
    """The collection of a package. Raises BadExport with a sentence when it can't be read, also while it is."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "collection"
        unpack(body, path)
        try:
            database = sqlite3.connect(f"file:{path}?mode=ro&immutable=1", uri=True)
        except sqlite3.Error:
            raise BadExport("The collection in this package can’t be opened.") from None
        try:
            guard(database)
            yield read_head(database)
        except sqlite3.DataError:
            raise BadExport(f"The collection in this package holds a text of more than {MOST_OF_A_TEXT // 2**20} MiB, "
                            "which is not read here.") from None
        except (sqlite3.Error, UnicodeDecodeError):
            raise BadExport("The collection in this package is damaged.") from None
        finally:
            database.close()


def unpack(body: bytes, path: Path) -> None:
    """Write the package's newest collection to a file. Raises BadExport."""
    if body.count(ENTRY) > MOST_FILES:
        raise BadExport(f"This package holds more than {MOST_FILES:,} files. In Anki, export it again without its "
                        "media, which are left out here anyway.")
    try:
        package = zipfile.ZipFile(io.BytesIO(body))
        names = {item.filename: item for item in package.infolist()}
    except (zipfile.BadZipFile, NotImplementedError, ValueError, OSError):
        raise BadExport("This file is no package from Anki: it is no zip archive that can be read.") from None
    if meta_version(package, names) > NEWEST_META:
        raise BadExport("This package is of a later form than this drillapp knows. In Anki, export it again with "
                        "“Support older Anki versions”.")
    name = next((one for one in ("collection.anki21b", "collection.anki21", "collection.anki2") if one in names), "")
    if not name:
        raise BadExport("There is no collection in this file, so it is no package from Anki.")
    try:
        with package.open(names[name]) as packed, path.open("wb") as out:
            stream: BinaryIO = packed
            if name.endswith("b"):
                stream = zstandard.ZstdDecompressor(max_window_size=2**27).stream_reader(packed)
            written = 0
            while piece := stream.read(PIECE):
                written += len(piece)
                if written > MOST_BYTES:
                    raise BadExport("The collection in this package is larger than 1 GiB, which is not read here.")
                out.write(piece)
    except (zipfile.BadZipFile, zstandard.ZstdError, NotImplementedError, EOFError, OSError, RuntimeError, ValueError):
        raise BadExport("The collection in this package is damaged, or locked by a password.") from None


def meta_version(package: zipfile.ZipFile, names: dict[str, zipfile.ZipInfo]) -> int:
    """The package's form: 1 and 2 are plain, 3 is packed by zstd; 0 where it does not say."""
    if "meta" not in names or names["meta"].file_size > 100:
        return 0
    try:
        return int(message(package.read("meta")).get(1, [0])[0])
    except (BadExport, zipfile.BadZipFile, TypeError, ValueError, NotImplementedError, RuntimeError):
        return 0


def guard(database: sqlite3.Connection) -> None:
    """Let nothing of the file run, no answer take for ever, no text fill the memory, and every table be one."""
    database.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, MOST_OF_A_TEXT)
    until = monotonic() + LONGEST_S
    database.set_progress_handler(lambda: monotonic() > until, 100_000)
    database.create_collation("unicase", lambda one, other: (one > other) - (one < other))
    database.text_factory = lambda raw: raw.decode("utf-8", "replace")
    database.execute("PRAGMA trusted_schema = OFF")
    kinds = dict(database.execute("SELECT name, type FROM sqlite_master WHERE type IN ('table', 'view')"))
    if not kinds.keys() >= TABLES or any(kinds.get(name, "table") != "table" for name in TABLES | NEWER_TABLES):
        raise BadExport("The collection in this package is none of Anki’s.")


def read_head(database: sqlite3.Connection) -> Collection:
    """The collection with its settings and note types, as schema 11 or 18 keeps them."""
    row = database.execute("SELECT ver, crt FROM col LIMIT 1").fetchone()
    if row is None or not all(isinstance(one, int) for one in row):
        raise BadExport("The collection in this package is none of Anki’s.")
    found = Collection(database, row[0], row[1])
    if found.schema > 18:
        raise BadExport(f"The collection is of Anki’s schema {found.schema}; up to 18 are read. In Anki, export it "
                        "again with “Support older Anki versions”.")
    try:
        if found.schema >= 15:
            read_newer(found)
        else:
            conf, models = database.execute("SELECT conf, models FROM col LIMIT 1").fetchone()
            found.config = as_dict(json.loads(conf))
            for key, model in as_dict(json.loads(models)).items():
                found.types[int(key)] = NoteType(
                    str(model["name"]), [str(one["name"]) for one in model["flds"]],
                    [(cut(one["qfmt"]), cut(one["afmt"])) for one in model["tmpls"]], model.get("type") == 1)
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        raise BadExport("The note types in this package can’t be read.") from None
    return found


def read_newer(found: Collection) -> None:
    """Settings and note types from schema 15 on: rows of their own, protobuf inside."""
    for key, value in found.database.execute("SELECT key, val FROM config"):
        try:
            found.config[str(key)] = json.loads(value)
        except (ValueError, RecursionError):
            continue
    fields: dict[int, list[str]] = {}
    for key, name in found.database.execute("SELECT ntid, name FROM fields ORDER BY ntid, ord"):
        fields.setdefault(key, []).append(str(name))
    templates: dict[int, list[tuple[str, str]]] = {}
    for key, config in found.database.execute("SELECT ntid, config FROM templates ORDER BY ntid, ord"):
        held = message(config)
        templates.setdefault(key, []).append((cut(text_in(held, 1)), cut(text_in(held, 2))))
    for key, name, config in found.database.execute("SELECT id, name, config FROM notetypes"):
        is_cloze = message(config).get(1, [0])[0] == 1
        found.types[key] = NoteType(str(name), fields.get(key, []), templates.get(key, []), is_cloze)


def as_dict(value: Any) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise TypeError("no table")
    return value


def cut(template: Any) -> str:
    return str(template)[:LONGEST_TEMPLATE]


def text_in(held: dict[int, list[Any]], number: int) -> str:
    value = held.get(number, [b""])[0]
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else ""


def message(data: bytes) -> dict[int, list[Any]]:
    """The fields of a protobuf message by number: whole numbers as they are, all else as bytes. Raises BadExport."""
    found: dict[int, list[Any]] = {}
    at = 0
    while at < len(data):
        key, at = varint(data, at)
        number, kind = key >> 3, key & 7
        if kind == 0:
            value, at = varint(data, at)
        elif kind in (1, 5):
            size = 8 if kind == 1 else 4
            value, at = data[at:at + size], at + size
        elif kind == 2:
            size, at = varint(data, at)
            value, at = data[at:at + size], at + size
        else:
            raise BadExport("The note types in this package can’t be read.")
        found.setdefault(number, []).append(value)
    return found


def varint(data: bytes, at: int) -> tuple[int, int]:
    value = 0
    for shift in range(0, 70, 7):
        if at >= len(data):
            break
        byte = data[at]
        at += 1
        value |= (byte & 127) << shift
        if byte < 128:
            return value, at
    raise BadExport("The note types in this package can’t be read.")
