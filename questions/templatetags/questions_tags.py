"""Tags for pages that show something of the bank."""
from django import template

from questions import access, related
from questions.services import inline

register = template.Library()


@register.inclusion_tag("questions/_questions_for_lab.html")
def questions_for_lab(slug: str) -> dict[str, object]:
    """The published questions whose lab this is, and the number cards that it computes, each with its front."""
    published = access.published()
    uses = [question for question in published if any(run.get("lab") == slug for run in question.runs.values())]
    return {"questions": uses, "notes": [(note, inline(note.ask)) for note in related.notes_of_lab(slug)]}
