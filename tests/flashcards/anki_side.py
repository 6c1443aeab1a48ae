"""Anki's own backend, run by an interpreter that has it: `ANKI_PYTHON anki_side.py ACT FILE…`, told as JSON.

It is a witness from outside and no part of the project: tests find its interpreter by the variable ANKI_PYTHON.
"""
import json
import sys
import tempfile
import time
from pathlib import Path

from anki.collection import (
    Collection,
    ExportAnkiPackageOptions,
    ImportAnkiPackageOptions,
    ImportAnkiPackageRequest,
)


def collection() -> Collection:
    return Collection(str(Path(tempfile.mkdtemp()) / "collection.anki2"))


def bring_in(path: str) -> dict:
    """Import the package twice; what Anki has then, and what each import said it did."""
    col = collection()
    col.set_config("fsrs", True)
    logs = []
    for _ in range(2):
        request = ImportAnkiPackageRequest(package_path=path, options=ImportAnkiPackageOptions(with_scheduling=True))
        log = col.import_anki_package(request).log
        logs.append({"new": len(log.new), "duplicate": len(log.duplicate), "found": log.found_notes,
                     "conflicting": len(log.conflicting), "updated": len(log.updated)})
    cards = []
    for key in col.find_cards(""):
        card = col.get_card(key)
        memory = card.memory_state
        cards.append({
            "guid": card.note().guid, "ord": card.ord, "type": card.type, "queue": card.queue, "ivl": card.ivl,
            "in_days": card.due - col.sched.today if card.type == 2 else None, "reps": card.reps,
            "lapses": card.lapses, "deck": col.decks.name(card.did), "factor": card.factor,
            "stability": memory and memory.stability, "difficulty": memory and memory.difficulty,
            "question": card.question(), "answer": card.answer(),
            "log": col.db.list("select ease from revlog where cid = ? order by id", card.id),
        })
    problems = col.fix_integrity()
    return {"imports": logs, "cards": cards, "integrity": problems[1], "what": problems[0]}


def make(path: str, legacy: str) -> dict:
    """Write a package with a history: a basic note, one asked both ways, a cloze, one suspended, one new."""
    col = collection()
    col.set_config("fsrs", True)
    notes = {}
    for kind, fields in (
        ("Basic", ["What is <b>prefill</b>?<br>In a line.", "All prompt tokens at once &amp; <i>compute-bound</i>"]),
        ("Basic (and reversed card)", ["KV", "key and value <img src=\"kv.png\">[sound:kv.mp3]"]),
        ("Cloze", ["Blocks hold {{c1::16::how many}} tokens of {{c2::one}} layer", "by default"]),
        ("Basic", ["put aside", "yes"]),
        ("Basic", ["never begun", "no"]),
    ):
        note = col.new_note(col.models.by_name(kind))
        note.fields[:] = fields
        note.tags = ["vllm", "kv::cache"]
        col.add_note(note, col.decks.id("Serving::KV"))
        notes[note.fields[0]] = note
    begun = [card.id for text, note in notes.items() if text != "never begun" for card in note.cards()]
    day, now, log = 86_400, int(time.time()), []
    for at, key in enumerate(begun):
        for ago, ease, kind in ((30, 1, 0), (30, 3, 0), (28, 3, 1), (20, 2, 1), (8, 4, 1)):
            log.append(((now - ago * day) * 1000 + len(log), key, -1, ease, 8, 2, 2500, 4000, kind))
        card = col.get_card(key)
        card.type, card.queue, card.ivl, card.factor, card.reps = 2, 2, 8 + at, 2500, 5
        card.due = col.sched.today + at
        col.update_card(card)
    log.append(((now - 7 * day) * 1000, begun[0], -1, 0, 8, 2, 2500, 0, 4))  # its day was set by hand
    col.db.executemany("insert into revlog values (?,?,?,?,?,?,?,?,?)", log)
    col.sched.suspend_cards([notes["put aside"].cards()[0].id])
    options = ExportAnkiPackageOptions(with_scheduling=True, with_deck_configs=False, with_media=True,
                                       legacy=legacy == "legacy")
    count = col.export_anki_package(out_path=path, options=options, limit=None)
    dues = {f"{text}/{card.ord}": col.get_card(card.id).due - col.sched.today
            for text, note in notes.items() for card in note.cards() if card.type == 2}
    return {"notes": count, "guids": {text: note.guid for text, note in notes.items()}, "in_days": dues}


print(json.dumps({"bring_in": bring_in, "make": make}[sys.argv[1]](*sys.argv[2:])))
