from django.urls import path

from memory_app.views import entries, errors, memory, noise, performance, runs

PROJECT = "projects/<uuid:project_id>/"
ENTRY = PROJECT + "memory/<str:namespace>/<str:key>/"

urlpatterns = [
    path(PROJECT + "memory/", memory.memory, name="memory"),
    path(PROJECT + "memory-new/", entries.new_entry, name="new_memory_entry"),
    path(PROJECT + "memory-deleted/<uuid:deleted_id>/restore/", memory.undelete_entry, name="undelete_memory_entry"),
    path(PROJECT + "memory/<str:namespace>/", memory.memory_keys, name="memory_keys"),
    path(ENTRY, entries.entry_page, name="memory_entry"),
    path(ENTRY + "edit/", entries.edit_entry, name="edit_memory_entry"),
    path(ENTRY + "delete/", entries.delete_entry, name="delete_memory_entry"),
    path(ENTRY + "versions/<int:rev>/restore/", entries.restore_version, name="restore_memory_version"),
    path(PROJECT + "errors/", errors.errors_page, name="errors"),
    path(PROJECT + "errors/<str:fingerprint>/", errors.error_page, name="error"),
    path(PROJECT + "errors/<str:fingerprint>/resolve/", errors.resolve_error, name="resolve_error"),
    path(PROJECT + "errors/<str:fingerprint>/reopen/", errors.reopen_error, name="reopen_error"),
    path(PROJECT + "noise/", noise.add_noise_rule, name="add_noise_rule"),
    path(PROJECT + "noise/switch/", noise.switch_noise_rule, name="switch_noise_rule"),
    path(PROJECT + "noise/delete/", noise.delete_noise_rule, name="delete_noise_rule"),
    path(PROJECT + "performance/", performance.performance, name="performance"),
    path(PROJECT + "lease/free/", runs.free_lease, name="free_lease"),
    path(PROJECT + "runs/<uuid:run_id>/takeover/", runs.take_over_lease, name="take_over_lease"),
]
