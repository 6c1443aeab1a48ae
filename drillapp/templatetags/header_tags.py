"""What the header shows of the person."""
from django import template
from django.utils import timezone

from accounts.models import User
from flashcards import queue

register = template.Library()


@register.simple_tag
def due_count(user: User) -> int:
    """How many cards wait for this person now, new ones not counted."""
    return queue.due_count(user, timezone.now())
