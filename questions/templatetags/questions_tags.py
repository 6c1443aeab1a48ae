"""Tags for pages that show something of the bank."""
from django import template
from django.utils.safestring import SafeString

from calculators.models.base import Line
from questions import access

register = template.Library()


@register.inclusion_tag("questions/_questions_for_lab.html")
def questions_for_lab(slug: str) -> dict[str, object]:
    """The published questions whose lab this is."""
    uses = [question for question in access.published() if any(run["lab"] == slug for run in question.runs.values())]
    return {"questions": uses}


@register.inclusion_tag("questions/_derivation.html")
def derivation(pieces: tuple[SafeString | tuple[Line, ...], ...], missed: str = "") -> dict[str, object]:
    """A posed question's derivation; `missed` is the label of the line that the reader's number leaves out."""
    named = [{"html": piece} if isinstance(piece, str) else {"lines": piece} for piece in pieces]
    return {"pieces": named, "missed": missed}
