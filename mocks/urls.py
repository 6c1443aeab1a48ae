"""Teams, plans, rooms and reports. A literal path stands before those that begin with an interview's code."""
from django.urls import path

from mocks import plan_views, report_views, room_views, solo_views, team_views

app_name = "mocks"
urlpatterns = [
    path("", team_views.mock_page, name="mock"),
    path("teams/new/", team_views.new_team, name="new_team"),
    path("teams/<int:pk>/", team_views.team_page, name="team"),
    path("teams/<int:pk>/invite/", team_views.invite, name="invite"),
    path("teams/<int:pk>/members/<int:member>/role/", team_views.change_role, name="change_role"),
    path("teams/<int:pk>/members/<int:member>/remove/", team_views.remove_member, name="remove_member"),
    path("teams/<int:pk>/leave/", team_views.leave, name="leave"),
    path("teams/<int:pk>/hand-over/", team_views.hand_over, name="hand_over"),
    path("teams/<int:pk>/share/", team_views.share_drill, name="share_drill"),
    path("teams/<int:pk>/rename/", team_views.rename_team, name="rename_team"),
    path("teams/<int:pk>/delete/", team_views.delete_team, name="delete_team"),
    path("invitations/<int:pk>/withdraw/", team_views.withdraw, name="withdraw"),
    path("join/<str:token>/", team_views.join, name="join"),
    path("teams/<int:pk>/plan/", plan_views.new_plan, name="new_plan"),
    path("templates/<int:pk>/rename/", plan_views.rename_template, name="rename_template"),
    path("templates/<int:pk>/delete/", plan_views.delete_template, name="delete_template"),
    path("solo/", solo_views.solo_page, name="solo"),
    path("<slug:code>/plan/", plan_views.plan_page, name="plan"),
    path("<slug:code>/call-off/", plan_views.call_off, name="call_off"),
    path("<slug:code>/invitation/", plan_views.mail_invitation, name="mail_invitation"),
    path("<slug:code>/report/", report_views.report_page, name="report"),
    path("<slug:code>/report.md", report_views.report_markdown, name="report_markdown"),
    path("<slug:code>/report.json", report_views.report_json, name="report_json"),
    path("<slug:code>/report/release/", report_views.release, name="release"),
    path("<slug:code>/report/take-missed/", report_views.take_missed, name="take_missed"),
    path("<slug:code>/scores/", report_views.scores, name="scores"),
    path("<slug:code>/scores/agree/", report_views.agree, name="agree"),
    path("<slug:code>/scores/agree-call/", report_views.agree_call, name="agree_call"),
    path("<slug:code>/", room_views.room_page, name="room"),
    path("<slug:code>/feed/", room_views.feed, name="feed"),
    path("<slug:code>/do/<slug:kind>/", room_views.act, name="act"),
    path("<slug:code>/lab/", room_views.lab, name="lab"),
]
