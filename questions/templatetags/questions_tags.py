"""Tags for pages that show something of the bank."""
from django import template

from questions import access

register = template.Library()


@register.inclusion_tag("questions/_questions_for_lab.html")
def questions_for_lab(slug: str) -> dict[str, object]:
    """The published questions whose lab this is."""
    uses = [question for question in access.published() if any(run["lab"] == slug for run in question.runs.values())]
    return {"questions": uses}
