from django.urls import path

from sessions_app.accounts import key_pages, sign_in_pages
from sessions_app.agents.handoff import page_actions
from sessions_app.agents.handoff import pages as handoff_pages
from sessions_app.agents.transfer import pages as transfer_pages
from sessions_app.chats.search import pages as search_pages
from sessions_app.events import pages as event_pages
from sessions_app.pages import palette
from sessions_app.pages.chat import chat_page, script_endpoints
from sessions_app.pages.chat.offline import worker_pages
from sessions_app.pages.dashboard import home_page, project_pages, settings_page
from sessions_app.pages.health import probes
from sessions_app.pages.history import compare_page, history_page
from sessions_app.pages.overview import bulk_page, overview_page, sessions_page
from sessions_app.pages.session import move_page, outline_page, session_page
from sessions_app.pages.session import page_actions as session_page_actions
from sessions_app.pages.trace import list_totals, trace_page
from sessions_app.portability.imports import pages as import_pages

urlpatterns = [
    path("", home_page.home, name="home"),
    path("login/", sign_in_pages.log_in, name="login"),
    path("logout/", sign_in_pages.log_out, name="logout"),
    path("welcome/<str:token>/", sign_in_pages.welcome, name="welcome"),
    path("account/", sign_in_pages.account, name="account"),
    path("account/logins/<slug:login_id>/end/", sign_in_pages.end_login, name="end_login"),
    path("account/delete/", sign_in_pages.delete_account, name="delete_account"),
    path("import/", import_pages.import_page, name="import"),
    path("import/<uuid:job_id>/<str:name>/", import_pages.act, name="import_act"),
    path("keys/", key_pages.keys_page, name="keys"),
    path("keys/<uuid:key_id>/revoke/", key_pages.revoke, name="revoke_key"),
    path("keys/<uuid:key_id>/restore/", key_pages.restore, name="restore_key"),
    path("projects/<uuid:project_id>/", project_pages.project_sessions, name="project"),
    path("projects/<uuid:project_id>/handoff/", handoff_pages.project_handoff, name="project_handoff"),
    path("projects/<uuid:project_id>/handoff/compare/", handoff_pages.compare, name="compare_handoff"),
    path("projects/<uuid:project_id>/handoff/item/", page_actions.item_page, name="handoff_item"),
    path("projects/<uuid:project_id>/handoff/<int:number>/", handoff_pages.snapshot, name="handoff_snapshot"),
    path("projects/<uuid:project_id>/handoff/<slug:name>/", page_actions.act, name="handoff_act"),
    path("projects/<uuid:project_id>/activity/", event_pages.project_activity, name="project_activity"),
    path("projects/<uuid:project_id>/overview/", overview_page.project_overview, name="project_overview"),
    path("projects/<uuid:project_id>/settings/", settings_page.project_settings, name="project_settings"),
    path("projects/<uuid:project_id>/delete/", project_pages.remove_project, name="remove_project"),
    path("projects/<uuid:project_id>/restore/", project_pages.restore_project, name="restore_project"),
    path("projects/<uuid:project_id>/erase/", project_pages.erase_project, name="erase_project"),
    path("sessions/", sessions_page.all_sessions, name="sessions"),
    path("sessions/bulk/", bulk_page.bulk, name="bulk_sessions"),
    path("sessions/totals/", list_totals.session_totals_page, name="session_totals"),
    path("sessions/<uuid:session_id>/", session_page.session_page, name="session"),
    path("sessions/<uuid:session_id>/changes/", session_page.session_changes, name="session_changes"),
    path("sessions/<uuid:session_id>/source/", session_page.message_source, name="message_source"),
    path("sessions/<uuid:session_id>/rail/", session_page.session_rail, name="session_rail"),
    path("sessions/<uuid:session_id>/contents/", outline_page.outline_page, name="outline"),
    path("sessions/<uuid:session_id>/find/", outline_page.find_page, name="find_in_session"),
    path("sessions/<uuid:session_id>/go/", outline_page.go_to, name="go_to_message"),
    path("sessions/<uuid:session_id>/history/", history_page.history, name="session_history"),
    path("sessions/<uuid:session_id>/compare/", compare_page.compare, name="compare_session"),
    path("sessions/<uuid:session_id>/trace/", trace_page.trace, name="session_trace"),
    path("sessions/<uuid:session_id>/transfer/", transfer_pages.transfer_page, name="transfer"),
    path("sessions/<uuid:session_id>/move/", move_page.move_page, name="move_session"),
    path("sessions/<uuid:session_id>/<slug:name>/", session_page_actions.act, name="session_act"),
    path("overview/", overview_page.overview, name="overview"),
    path("palette/", palette.options, name="palette"),
    path("search/", search_pages.search_page, name="search"),
    path("chat/", chat_page.chat, name="chat"),
    path("chat/words", script_endpoints.words, name="chat_words"),
    path("chat/names", script_endpoints.names, name="chat_names"),
    path("chat/sign-in-state", script_endpoints.sign_in_state, name="chat_sign_in_state"),
    path("service-worker.js", worker_pages.service_worker, name="service_worker"),
    path("offline/", worker_pages.offline, name="offline"),
    path("healthz", probes.healthz, name="healthz"),
    path("readyz", probes.readyz, name="readyz"),
]
