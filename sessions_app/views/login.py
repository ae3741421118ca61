"""Coming in and going out: login, the one-time link, the password."""

from typing import cast

from django.conf import settings
from django.contrib import messages
from django.contrib.auth import get_user_model, login, logout, update_session_auth_hash
from django.contrib.auth.decorators import login_required
from django.contrib.auth.forms import AuthenticationForm, PasswordChangeForm, SetPasswordForm
from django.contrib.auth.models import User
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render, resolve_url
from django.utils.http import url_has_allowed_host_and_scheme
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_http_methods, require_POST

from sessions_app.services import attempts, deletion, keys

BACKEND = "django.contrib.auth.backends.ModelBackend"


@never_cache
@sensitive_post_parameters()
@require_http_methods(["GET", "POST"])
def log_in(request: HttpRequest) -> HttpResponse:
    """Failures are counted by account and address before the password is looked at."""
    next_page = _safe_next(request)
    if request.user.is_authenticated:
        return redirect(next_page)
    if request.method == "GET":
        return render(request, "sessions_app/login.html", {"form": AuthenticationForm(request), "next": next_page})
    username, address = request.POST.get("username", ""), address_of(request)
    attempts.check_attempts(username=username, address=address)
    form = AuthenticationForm(request, data=request.POST)
    if not form.is_valid():
        attempts.note_failure(username=username, address=address)
        return render(request, "sessions_app/login.html", {"form": form, "next": next_page}, status=422)
    attempts.forget_failures(username=username)
    login(request, form.get_user())
    return redirect(next_page)


@require_POST
def log_out(request: HttpRequest) -> HttpResponse:
    logout(request)
    messages.success(request, "You are logged out. What was saved stays.")
    return redirect("login")


@never_cache
@require_http_methods(["GET", "POST"])
def welcome(request: HttpRequest, token: str) -> HttpResponse:
    """A look costs nothing: mail scanners and previews open links too. Only the button uses the link up."""
    if request.method == "GET":
        return render(request, "sessions_app/welcome.html")
    user = get_user_model().objects.get(pk=keys.use_sign_in_link(token=token))
    login(request, user, backend=BACKEND)
    return redirect("home" if user.has_usable_password() else "account")


@login_required
@never_cache
@sensitive_post_parameters()
@require_http_methods(["GET", "POST"])
def account(request: HttpRequest) -> HttpResponse:
    """The password: the first one without an old one, for who came by a link."""
    user = cast(User, request.user)
    kind = PasswordChangeForm if user.has_usable_password() else SetPasswordForm
    form = kind(user, data=request.POST or None)
    if request.method == "POST" and form.is_valid():
        form.save()
        update_session_auth_hash(request, form.user)
        messages.success(request, "The password is changed. Other places where you were signed in are logged out.")
        return redirect("account")
    status = 422 if request.method == "POST" else 200
    return render(request, "sessions_app/account.html", {"form": form}, status=status)


@login_required
@sensitive_post_parameters()
@require_POST
def delete_account(request: HttpRequest) -> HttpResponse:
    """For good, for who typed their name, and their password where there is one."""
    user = cast(User, request.user)
    if request.POST.get("typed", "").strip() != user.get_username():
        messages.error(request, f"Nothing is deleted: type “{user.get_username()}” to delete the account.")
        return redirect("account")
    if user.has_usable_password() and not user.check_password(request.POST.get("password", "")):
        messages.error(request, "Nothing is deleted: the password is another one.")
        return redirect("account")
    deletion.delete_account(user_id=user.pk)
    logout(request)
    messages.success(request, "The account is deleted, with all that was in it.")
    return redirect("login")


def address_of(request: HttpRequest) -> str:
    """The client's address: what the outermost proxy that we trust has seen. Whatever the client claims stands left of it."""
    proxies = settings.TRUSTED_PROXIES
    seen = [part.strip() for part in request.headers.get("X-Forwarded-For", "").split(",") if part.strip()]
    if proxies and len(seen) >= proxies:
        return seen[-proxies]
    return str(request.META.get("REMOTE_ADDR", ""))


def _safe_next(request: HttpRequest) -> str:
    wanted = request.POST.get("next") or request.GET.get("next") or ""
    hosts = {request.get_host()}
    if url_has_allowed_host_and_scheme(wanted, allowed_hosts=hosts, require_https=request.is_secure()):
        return wanted
    return str(resolve_url(settings.LOGIN_REDIRECT_URL))
