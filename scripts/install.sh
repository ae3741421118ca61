#!/usr/bin/env bash
# Makes .venv and installs what a lock file names, unless it is installed already. `install.sh base` is enough
# to serve, `install.sh dev` adds what checks and tests need, `install.sh examples` of that what the examples need.
# `install.sh adk` makes .venv-adk: ADK refuses versions that others need.
set -euo pipefail
cd "$(dirname "$0")/.."
what=${1:-base}
lock=requirements/$what.txt
venv=.venv
[ "$what" != adk ] || venv=.venv-adk
# When this runs outside of make, the caller's interpreter settings must not leak into the new environment.
unset PYTHONHOME PYTHONPATH

say() { printf '%s\n' "$*" >&2; }

runs() { "$1" -c 'import sys, ensurepip, venv; sys.exit(sys.version_info < (3, 12))' >/dev/null 2>&1; }

# A name on the PATH proves nothing: version managers leave shims there for versions that are not installed.
find_python() {
  local name path
  for name in python3.14 python3.13 python3.12 python3; do
    while read -r path; do
      if runs "$path"; then printf '%s\n' "$path"; return; fi
    done < <(type -aP "$name")
  done
  say "Missing: Python 3.12 or newer with venv (Debian and Ubuntu: apt install python3 python3-venv; elsewhere: python.org)."
  return 1
}

installed_from() { sha256sum "$1" 2>/dev/null || shasum -a 256 "$1"; }

is_installed() { [ "$(cat "$venv/.installed-$1" 2>/dev/null)" = "$(installed_from "requirements/$1.txt")" ]; }

# dev.txt includes what examples.txt names.
if [ "$what" = examples ] && is_installed dev && runs $venv/bin/python; then exit; fi
# The usual case after the first start of `make serve`.
if is_installed "$what" && runs $venv/bin/python; then exit; fi
if ! runs $venv/bin/python || ! $venv/bin/python -m pip --version >/dev/null 2>&1; then
  python=$(find_python)
  say "Making $venv with $("$python" --version)"
  "$python" -m venv --clear "$venv"
fi
if ! is_installed "$what"; then
  say "Installing $lock ($(grep -c '==' "$lock") packages): the first time this takes a minute or two"
  # The lock names everything, so nothing is resolved: some limits in it are overridden (requirements/overrides.in).
  $venv/bin/python -m pip install -qq --disable-pip-version-check --no-input --no-deps --require-hashes -r "$lock"
  installed_from "$lock" >"$venv/.installed-$what"
  # dev.txt includes everything in base.txt.
  [ "$what" != dev ] || installed_from requirements/base.txt >.venv/.installed-base
fi
