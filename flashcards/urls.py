"""Today, Review, Questions, quizzes, Numbers and Settings: what is seen by its page, what is done by its verb."""
from django.urls import path

from flashcards import lab_views, question_views, quiz_views, reminder_views, setting_views, views

app_name = "flashcards"
urlpatterns = [
    path("", views.today_page, name="today"),
    path("review/", views.review_page, name="review"),
    path("questions/", question_views.questions_page, name="questions"),
    path("questions/print/", question_views.print_page, name="print"),
    path("questions/quizzes/", quiz_views.quizzes_page, name="quizzes"),
    path("questions/quizzes/new/", quiz_views.new_quiz_page, name="new_quiz"),
    path("questions/quizzes/begin/", quiz_views.begin, name="begin_quiz"),
    path("questions/quizzes/<int:pk>/", quiz_views.quiz_page, name="quiz"),
    path("questions/quizzes/<int:pk>/end/", quiz_views.end, name="end_quiz"),
    path("questions/quizzes/<int:pk>/drill/", quiz_views.drill, name="drill_missed"),
    path("questions/quizzes/<int:pk>/<int:number>/", quiz_views.place_page, name="quiz_place"),
    path("questions/quizzes/<int:pk>/<int:number>/draft/", quiz_views.draft, name="draft_place"),
    path("questions/quizzes/<int:pk>/<int:number>/answer/", quiz_views.answer, name="answer_place"),
    path("questions/quizzes/<int:pk>/<int:number>/score/", quiz_views.score, name="score_place"),
    path("questions/<slug:slug>/", question_views.question_page, name="question"),
    path("questions/<slug:slug>/note/", question_views.note, name="note"),
    path("numbers/", views.numbers_page, name="numbers"),
    path("settings/", setting_views.settings_page, name="settings"),
    path("settings/effect/", setting_views.effect, name="effect"),
    path("settings/defaults/", setting_views.default_settings, name="default_settings"),
    path("calendar/renew/", reminder_views.renew_calendar, name="renew_calendar"),
    path("calendar/remove/", reminder_views.remove_calendar, name="remove_calendar"),
    path("calendar/<slug:key>.ics", reminder_views.calendar, name="calendar"),
    path("mail/<str:token>/stop/", reminder_views.stop_mail, name="stop_mail"),
    path("cards/<int:pk>/draft/", views.draft, name="draft"),
    path("cards/<int:pk>/check/", views.check, name="check"),
    path("cards/<int:pk>/ticks/", views.ticks, name="ticks"),
    path("cards/<int:pk>/answer/", views.answer, name="answer"),
    path("cards/<int:pk>/leave/", question_views.leave, name="leave"),
    path("cards/<int:pk>/add/", question_views.add, name="add"),
    path("cards/<int:pk>/suspend/", question_views.suspend, name="suspend"),
    path("cards/<int:pk>/unsuspend/", question_views.unsuspend, name="unsuspend"),
    path("predictions/<slug:slug>/predict/", lab_views.predict, name="predict"),
    path("undo/", views.undo, name="undo"),
]
