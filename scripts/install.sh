#!/usr/bin/env bash
# Makes .venv and installs what a lock file names, if that is not what stands there already. `install.sh base` is enough
# to serve, `install.sh dev` adds what checks and tests need.
set -euo pipefail
cd "$(dirname "$0")/.."
what=${1:-base}
lock=requirements/$what.txt
stamp=.venv/.installed-$what
# Called straight, not through make: an interpreter's own settings must not leak into the environment that is made.
unset PYTHONHOME PYTHONPATH

say() { printf '%s\n' "$*" >&2; }

runs() { "$1" -c 'import sys, ensurepip, venv; sys.exit(sys.version_info < (3, 12))' >/dev/null 2>&1; }

# A name on the PATH proves nothing: version managers leave shims there for versions that they do not have here.
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

if ! runs .venv/bin/python || ! .venv/bin/python -m pip --version >/dev/null 2>&1; then
  python=$(find_python)
  say "Making .venv with $("$python" --version)"
  "$python" -m venv --clear .venv
fi
if [ "$(cat "$stamp" 2>/dev/null)" != "$(installed_from "$lock")" ]; then
  say "Installing $lock"
  .venv/bin/python -m pip install -qq --disable-pip-version-check --no-input --require-hashes -r "$lock"
  installed_from "$lock" >"$stamp"
  # What serves is a part of what tests.
  [ "$what" = base ] || installed_from requirements/base.txt >.venv/.installed-base
fi
