"""The authors' pages: questions and number cards, written by Editors and published by Publishers."""
from typing import Any

from django.contrib import admin
from django.core.exceptions import PermissionDenied
from django.db.models import QuerySet
from django.forms import ModelForm
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, render
from django.urls import URLPattern, path, reverse

from calculators.models.base import Refusal
from calculators.models.quantity import say
from questions import grading, loading, search
from questions.figures import BadFigure, worded
from questions.forms import NoteForm, QuestionForm
from questions.models import Note, Question
from questions.notes import shown_value
from questions.services import Posed, pose


class BankAdmin(admin.ModelAdmin):
    """A document of the bank. What learners meet is a Publisher's to change: an Editor writes drafts alone."""

    list_select_related = ("topic",)
    list_per_page = 200
    actions = None

    @admin.display(description="Topic", ordering="topic__position")
    def topic_slug(self, row: Question | Note) -> str:
        return row.topic.slug

    @admin.display(description="State", ordering="draft")
    def state(self, row: Question | Note) -> str:
        return "retired" if row.retired else "draft" if row.draft else "published"

    @admin.display(description="Beside its file")
    def beside_file(self, row: Question | Note) -> str:
        """Where the row stands to its file."""
        if not row.loaded_digest:
            return "made here"
        return "edited here" if loading.edited(row) else "the same"

    def may_publish(self, request: HttpRequest) -> bool:
        return request.user.has_perm(f"questions.publish_{self.opts.model_name}")

    def has_change_permission(self, request: HttpRequest, obj: Question | Note | None = None) -> bool:
        allowed = super().has_change_permission(request, obj)
        return allowed and (obj is None or obj.draft or self.may_publish(request))

    def has_delete_permission(self, request: HttpRequest, obj: Question | Note | None = None) -> bool:
        """What has a file would come back with the next load; it retires when its file goes."""
        return super().has_delete_permission(request, obj) and (obj is None or not obj.loaded_digest)

    def get_form(
        self, request: HttpRequest, obj: Question | Note | None = None, change: bool = False, **more: Any
    ) -> type[ModelForm]:
        """The form, which begins as a draft and for an Editor stays one."""
        form = super().get_form(request, obj, change, **more)
        if draft := form.base_fields.get("draft"):
            draft.initial, draft.disabled = True, not self.may_publish(request)
        return form

    def save_model(self, request: HttpRequest, obj: Question | Note, form: ModelForm, change: bool) -> None:
        super().save_model(request, obj, form, change)
        search.refresh(obj)
        if form.initial.get("draft", True) and not obj.draft:
            self.message_user(request, f"“{obj}” is published: from now on it is drilled.")

    def render_change_form(
        self, request: HttpRequest, context: dict[str, Any], *args: Any, obj: Question | Note | None = None, **more: Any
    ) -> HttpResponse:
        """The form's page. The form names its faults itself; what a reader will see stands beside it."""
        form = context["adminform"].form
        stored = self.get_object(request, str(obj.pk)) if obj else None  # `obj` holds what was typed by now
        context |= {
            "errors": None,
            "form": form,
            "may_publish": self.may_publish(request),
            "may_change": stored is None or self.has_change_permission(request, stored),
            "stored": stored,
            "beside_file": self.beside_file(stored) if stored else "",
            **self.seen_by_reader(form, stored),
        }
        return super().render_change_form(request, context, *args, obj=stored, **more)


@admin.register(Question)
class QuestionAdmin(BankAdmin):
    form = QuestionForm
    list_display = ("title", "slug", "topic_slug", "kind", "level", "minutes", "state", "beside_file")
    list_filter = ("topic", "kind", "level", "draft", "retired")
    search_fields = ("title", "slug", "ask")

    def view_on_site(self, question: Question) -> str:
        return reverse("admin:questions_question_preview", args=[question.pk])

    def get_urls(self) -> list[URLPattern]:
        preview = self.admin_site.admin_view(self.preview_page)
        return [path("<int:pk>/preview/", preview, name="questions_question_preview"), *super().get_urls()]

    def preview_page(self, request: HttpRequest, pk: int) -> HttpResponse:
        """The question whole, before and after, on a page of the site; `draw` draws other numbers."""
        if not self.has_view_permission(request):
            raise PermissionDenied
        question = get_object_or_404(Question.objects.select_related("topic"), pk=pk)
        draw = request.GET.get("draw", "")
        draw = int(draw) if draw.isascii() and draw.isdecimal() and len(draw) < 9 else 0
        context = {
            "question": question,
            "varies": any(run.get("vary") for run in question.runs.values()),
            "next_draw": draw + 1,
            **reading(posed_or_none(question, draw or None)),
        }
        return render(request, "questions/preview.html", context)

    def seen_by_reader(self, form: QuestionForm, stored: Question | None) -> dict[str, Any]:
        """The question as posed from what was typed, else from what is saved."""
        if form.is_bound and (posed := form.posed()):
            return reading(posed) | {"as_typed": True}
        return reading(stored and posed_or_none(stored))


@admin.register(Note)
class NoteAdmin(BankAdmin):
    form = NoteForm
    list_display = ("ask", "slug", "topic_slug", "number", "state", "beside_file")
    list_filter = ("topic", "draft", "retired")
    search_fields = ("ask", "slug", "origin")

    @admin.display(description="Number")
    def number(self, note: Note) -> str:
        return f"{shown_value(note)} {note.unit}"

    def get_queryset(self, request: HttpRequest) -> QuerySet[Note]:
        """The bank's own; what people made for themselves is theirs."""
        return super().get_queryset(request).filter(owner=None)

    def seen_by_reader(self, form: NoteForm, stored: Note | None) -> dict[str, Any]:
        """The card from what was typed, else from what is saved."""
        note = form.document if form.is_bound else stored
        return {"note": note, "number": note and shown_value(note), "as_typed": form.is_bound}


def posed_or_none(question: Question, seed: object = None) -> Posed | None:
    """The question as posed; None when a lab no longer gives what it asks for."""
    try:
        return pose(question, seed)
    except (Refusal, BadFigure):
        return None


def reading(posed: Posed | None) -> dict[str, Any]:
    """What the templates show of a posed question: the right answer in words, its derivation in pieces."""
    if posed is None:
        return {"posed": None}
    shown: dict[str, Any] = {
        "posed": posed,
        "pieces": [{"html": piece} if isinstance(piece, str) else {"lines": piece} for piece in posed.derivation],
    }
    if check := posed.check:
        answer = worded(check.expected, "", "") if check.kind == "map" else say(check.expected, check.unit)
        shown |= {"expected": answer, "tolerance": grading.percent(check.tolerance)}
    return shown
