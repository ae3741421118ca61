import uuid

from sessions_app.models import ApiKey, Caller


def list_keys(*, caller: Caller) -> list[ApiKey]:
    """The caller's keys that are not revoked, the newest first."""
    return list(ApiKey.objects.visible_to(caller).filter(revoked_at=None).select_related("project"))


def is_usable(*, user_id: int, key_id: uuid.UUID | None) -> bool:
    """May this user (by this key, where there is one) still come in?"""
    from django.contrib.auth import get_user_model

    if key_id is not None:
        return ApiKey.objects.usable().filter(id=key_id, user_id=user_id).exists()
    return get_user_model().objects.filter(pk=user_id, is_active=True).exists()
