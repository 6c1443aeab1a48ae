import re

from django.db import migrations

from questions import formulas, own

# As notes out of Anki came in until now: each sign escaped, so that the marks of formulas were words as well.
ANKI_GUID = re.compile(r"(?!text-)(?![0-9a-f]{32}$).+")
CAME_IN_AS = re.compile(
    r"(?P<code>```.*?```|`[^`\n]*`)|\\\\\\\[(?P<shown>.{1,1500}?)\\\\\\\]|\\\\\((?P<inline>.{1,1500}?)\\\\\)|(?P<bracket>\\\])",
    re.DOTALL)
ESCAPE = re.compile(r"\\(.)", re.DOTALL)


def as_it_comes_in_now(text):
    """A text out of Anki with its formulas as they were written there; of a pair of brackets the second is no escape."""
    def said(found):
        if found["code"]:
            return found["code"]
        if found["bracket"]:
            return "]"
        begun, ended = ("\\[", "\\]") if found["shown"] else ("\\(", "\\)")
        return begun + ESCAPE.sub(r"\1", found["shown"] or found["inline"]) + ended

    bare, held = formulas.cut(CAME_IN_AS.sub(said, text))
    written = (one.written for one in held)
    whole = [ESCAPE.sub(r"\1", one) if one.startswith("$") else one for one in written]
    return formulas.CUT.sub(lambda sign: whole[int(sign[1])], bare)


def read_formulas(apps, schema_editor):
    """The notes that are there get what those get that come now: formulas out of Anki, and a line without marks."""
    Note = apps.get_model("questions", "Note")
    changed = []
    for note in Note.objects.filter(owner__isnull=False).iterator(500):
        before = note.ask, note.front, note.back
        if note.kind == "number":
            line = formulas.unmarked(note.ask)
            if not note.front and line != note.ask:
                note.front, note.ask = note.ask, line
        else:
            if ANKI_GUID.fullmatch(note.guid):
                note.front, note.back = as_it_comes_in_now(note.front), as_it_comes_in_now(note.back)
            if list(formulas.found(note.front)) or note.front != before[1]:
                note.ask = own.line_of(note.front) or "(a picture)"
        if before != (note.ask, note.front, note.back):
            changed.append(note)
    Note.objects.bulk_update(changed, ["ask", "front", "back"], batch_size=500)


class Migration(migrations.Migration):

    dependencies = [
        ('questions', '0006_own_cards_found'),
    ]

    operations = [
        migrations.RunPython(read_formulas, migrations.RunPython.noop),
    ]
