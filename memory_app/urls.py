from django.urls import path

from memory_app.checkpoints.threads import pages as thread_pages
from memory_app.core.page_addresses import register_converters
from memory_app.errors import action_pages as error_actions
from memory_app.errors import pages as error_pages
from memory_app.errors.noise import pages as noise_pages
from memory_app.errors.state_changes import Act
from memory_app.key_value.entries import entry_pages, list_pages
from memory_app.performance import pages as performance_pages
from memory_app.runs import pages as run_pages

register_converters()
PROJECT = "projects/<uuid:project_id>/"
THREAD = PROJECT + "threads/<memory_key:name>/"
ENTRY = PROJECT + "memory/<namespace:namespace>/<memory_key:key>/"

urlpatterns = [
    path(PROJECT + "memory/", list_pages.memory, name="memory"),
    path(PROJECT + "memory-new/", entry_pages.new_entry, name="new_memory_entry"),
    path(PROJECT + "memory-new/<namespace:namespace>/", entry_pages.new_entry_there, name="new_memory_entry_there"),
    path(PROJECT + "memory-deleted/<uuid:deleted_id>/restore/", list_pages.undelete_entry, name="undelete_memory_entry"),
    path(PROJECT + "memory/<namespace:namespace>/", list_pages.memory_keys, name="memory_keys"),
    path(ENTRY, entry_pages.entry_page, name="memory_entry"),
    path(ENTRY + "edit/", entry_pages.edit_entry, name="edit_memory_entry"),
    path(ENTRY + "delete/", entry_pages.delete_entry, name="delete_memory_entry"),
    path(ENTRY + "versions/<int:rev>/restore/", entry_pages.restore_version, name="restore_memory_version"),
    path(PROJECT + "threads/", thread_pages.threads, name="threads"),
    path(THREAD, thread_pages.thread_page, name="thread"),
    path(THREAD + "prune/", thread_pages.prune, name="prune_thread"),
    path(THREAD + "delete/", thread_pages.delete, name="delete_thread"),
    path(PROJECT + "errors/", error_pages.errors_page, name="errors"),
    path(PROJECT + "errors/<str:fingerprint>/", error_pages.error_page, name="error"),
    path(PROJECT + "errors-bulk/", error_actions.bulk, name="change_errors"),
    *(path(f"{PROJECT}errors/<str:fingerprint>/{name}/", error_actions.act, {"name": name}, f"{name}_error") for name in Act),
    path(PROJECT + "noise/", noise_pages.add_noise_rule, name="add_noise_rule"),
    path(PROJECT + "noise/switch/", noise_pages.switch_noise_rule, name="switch_noise_rule"),
    path(PROJECT + "noise/delete/", noise_pages.delete_noise_rule, name="delete_noise_rule"),
    path(PROJECT + "performance/", performance_pages.performance, name="performance"),
    path(PROJECT + "lease/free/", run_pages.free_lease, name="free_lease"),
    path(PROJECT + "runs/<uuid:run_id>/takeover/", run_pages.take_over_lease, name="take_over_lease"),
]
