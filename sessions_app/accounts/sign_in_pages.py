"""Sign-in pages: login, logout, the one-time link, password, account."""

from dataclasses import dataclass
from typing import cast

from django.conf import settings
from django.contrib import messages
from django.contrib.auth import get_user_model, login, logout, update_session_auth_hash
from django.contrib.auth.decorators import login_required
from django.contrib.auth.forms import AuthenticationForm, PasswordChangeForm, SetPasswordForm
from django.contrib.auth.models import User
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.middleware.csrf import rotate_token
from django.shortcuts import redirect, render, resolve_url
from django.urls import reverse
from django.utils.http import url_has_allowed_host_and_scheme
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_http_methods, require_POST

from sessions_app.accounts import login_throttle, logins
from sessions_app.accounts.queries import DETAILS, list_logins
from sessions_app.accounts.users import check_sign_in_link, use_sign_in_link
from sessions_app.chats.lifecycle import deletion
from sessions_app.core.limits import quotas
from sessions_app.core.text import login_hash
from sessions_app.core.web.client_address import client_address
from sessions_app.core.web.page_context import signed_in_caller
from sessions_app.core.web.toasts import toast_response
from sessions_app.models.times import now


@dataclass(frozen=True, slots=True)
class Quota:
    """One quota bar of the account page. `limit` 0: no limit."""

    label: str
    used: int
    limit: int
    is_bytes: bool = False


BACKEND = "django.contrib.auth.backends.ModelBackend"
BROWSER_LENGTH = 200
# Django redirects to no address of more than 16,384 characters, and one of these may take twelve.
LONGEST_NEXT = 1_000


@never_cache
@sensitive_post_parameters()
@require_http_methods(["GET", "HEAD", "POST"])
def log_in(request: HttpRequest) -> HttpResponse:
    """Failures are counted by account and address before the password is checked."""
    next_page = _safe_next(request)
    if request.user.is_authenticated:
        return HttpResponseRedirect(next_page)
    if request.method != "POST":
        return render(request, "accounts/login.html", {"form": AuthenticationForm(request), "next": next_page})
    username, address = request.POST.get("username", ""), address_of(request)
    login_throttle.check_login_allowed(username=username, address=address)
    form = AuthenticationForm(request, data=request.POST)
    if not form.is_valid():
        login_throttle.count_failed_login(username=username, address=address)
        return render(request, "accounts/login.html", {"form": form, "next": next_page}, status=422)
    login_throttle.reset_failed_logins(username=username)
    _begin(request, form.get_user())
    return HttpResponseRedirect(next_page)


def _begin(request: HttpRequest, user: User) -> None:
    """Sign in, and store what the account page shows about this login."""
    login(request, user, backend=BACKEND)
    browser = request.headers.get("User-Agent", "")[:BROWSER_LENGTH]
    request.session[DETAILS] = {"at": now().isoformat(), "browser": browser, "address": address_of(request)}


@require_POST
def log_out(request: HttpRequest) -> HttpResponse:
    logout(request)
    # Pages in other tabs notice by the cookie that their forms cannot be sent now.
    rotate_token(request)
    messages.success(request, "You are signed out. Everything saved is kept.")
    return redirect("login")


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def welcome(request: HttpRequest, token: str) -> HttpResponse:
    """GET does not use up the link, because mail scanners and previews open links too. Only the button (POST) does."""
    if request.method != "POST":
        check_sign_in_link(token=token)
        return render(request, "accounts/sign_in_link.html")
    user = get_user_model().objects.get(pk=use_sign_in_link(token=token))
    _begin(request, user)
    return redirect("home" if user.has_usable_password() else "account")


@login_required
@never_cache
@sensitive_post_parameters()
@require_http_methods(["GET", "HEAD", "POST"])
def account(request: HttpRequest) -> HttpResponse:
    """The account page. POST sets the password; a user who came by a link has no old one to enter."""
    user = cast(User, request.user)
    kind = PasswordChangeForm if user.has_usable_password() else SetPasswordForm
    form = kind(user, data=request.POST or None)
    if request.method == "POST" and _passes(request, form):
        form.save()
        update_session_auth_hash(request, form.user)
        logins.end_logins(user_id=user.pk, but=_this_login(request))
        messages.success(request, "The password is changed. Everywhere else you are signed out.")
        return redirect("account")
    status = 422 if request.method == "POST" else 200

    own_logins = list_logins(caller=signed_in_caller(request), this=_this_login(request))
    context = {"form": form, "logins": own_logins, "quotas": _quotas(user)}
    return render(request, "accounts/account.html", context, status=status)


def _passes(request: HttpRequest, form: "SetPasswordForm[User]") -> bool:
    """Whether the form is valid. A wrong old password counts as a failed sign-in."""
    guess = {"username": cast(User, request.user).get_username(), "address": address_of(request)}
    login_throttle.check_login_allowed(**guess)
    valid = form.is_valid()
    if "old_password" in form.errors:
        login_throttle.count_failed_login(**guess)
    return valid


def _this_login(request: HttpRequest) -> str:
    return login_hash(request.session.session_key or "")


@login_required
@require_POST
def end_login(request: HttpRequest, login_id: str) -> HttpResponse:
    logins.end_login(caller=signed_in_caller(request), login_id=login_id)
    return toast_response(request, "Signed out there. Its next request must sign in.", page=reverse("account"))


@login_required
@sensitive_post_parameters()
@require_POST
def delete_account(request: HttpRequest) -> HttpResponse:
    """Permanent; needs the typed user name, and the password if the account has one."""
    user = cast(User, request.user)
    if request.POST.get("typed", "").strip() != user.get_username():
        messages.error(request, f"Nothing is deleted: type “{user.get_username()}” to delete the account.")
        return redirect("account")
    if user.has_usable_password() and not _knows_password(request, user):
        messages.error(request, "Nothing is deleted: the password is wrong.")
        return redirect("account")
    deletion.delete_account(user_id=user.pk)
    logout(request)
    messages.success(request, "The account and all its content are deleted.")
    return redirect("login")


def _quotas(user: User) -> list[Quota]:
    usage = quotas.usage_now(user.pk)
    return [
        Quota("Storage", usage.size_bytes, settings.ACCOUNT_BYTES, is_bytes=True),
        Quota("Projects", usage.projects, settings.ACCOUNT_PROJECTS),
        Quota("Sessions", usage.sessions, settings.ACCOUNT_SESSIONS),
    ]


def _knows_password(request: HttpRequest, user: User) -> bool:
    guess = {"username": user.get_username(), "address": address_of(request)}
    login_throttle.check_login_allowed(**guess)
    known = user.check_password(request.POST.get("password", ""))
    if not known:
        login_throttle.count_failed_login(**guess)
    return known


def address_of(request: HttpRequest) -> str:
    """The client's IP address, as far as it can be trusted."""
    peer = str(request.META.get("REMOTE_ADDR", ""))
    return client_address(peer=peer, forwarded=request.headers.get("X-Forwarded-For", ""))


def _safe_next(request: HttpRequest) -> str:
    """A path of this server's, or the home page: a word would be taken for the name of a page."""
    wanted = request.POST.get("next") or request.GET.get("next") or ""
    hosts = {request.get_host()}
    is_path = wanted.startswith("/") and len(wanted) <= LONGEST_NEXT
    if is_path and url_has_allowed_host_and_scheme(wanted, allowed_hosts=hosts, require_https=request.is_secure()):
        return wanted
    return str(resolve_url(settings.LOGIN_REDIRECT_URL))
