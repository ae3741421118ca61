from django.urls import path

from sessions_app.views import activity, chat, health, home, keys, login, projects, search, session_acts, sessions

urlpatterns = [
    path("", home.home, name="home"),
    path("login/", login.log_in, name="login"),
    path("logout/", login.log_out, name="logout"),
    path("welcome/<str:token>/", login.welcome, name="welcome"),
    path("account/", login.account, name="account"),
    path("account/delete/", login.delete_account, name="delete_account"),
    path("keys/", keys.keys_page, name="keys"),
    path("keys/<uuid:key_id>/revoke/", keys.revoke, name="revoke_key"),
    path("projects/<uuid:project_id>/", projects.project_sessions, name="project"),
    path("projects/<uuid:project_id>/activity/", activity.project_activity, name="project_activity"),
    path("projects/<uuid:project_id>/settings/", projects.project_settings, name="project_settings"),
    path("projects/<uuid:project_id>/delete/", projects.remove_project, name="remove_project"),
    path("projects/<uuid:project_id>/restore/", projects.restore_project, name="restore_project"),
    path("projects/<uuid:project_id>/erase/", projects.erase_project, name="erase_project"),
    path("sessions/<uuid:session_id>/", sessions.session_page, name="session"),
    path("sessions/<uuid:session_id>/changes/", sessions.session_changes, name="session_changes"),
    path("sessions/<uuid:session_id>/rail/", sessions.session_rail, name="session_rail"),
    path("sessions/<uuid:session_id>/<slug:name>/", session_acts.act, name="session_act"),
    path("search/", search.search_page, name="search"),
    path("chat/", chat.chat, name="chat"),
    path("chat/answer", chat.answer, name="answer"),
    path("healthz", health.healthz, name="healthz"),
    path("readyz", health.readyz, name="readyz"),
]
