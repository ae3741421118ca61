from sessions_app.models import ApiKey, Caller


def list_keys(*, caller: Caller) -> list[ApiKey]:
    """The caller's keys that are not revoked, the newest first."""
    return list(ApiKey.objects.visible_to(caller).filter(revoked_at=None).select_related("project"))
