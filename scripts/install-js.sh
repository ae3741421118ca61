#!/usr/bin/env bash
# Installs into node_modules what package-lock.json says, unless it is installed already: the tools that check the JavaScript and
# what tests need, or with `install-js.sh examples` only what the examples need.
# Returns 3 where there is no Node: only contributors and examples need it, never the server.
set -euo pipefail
cd "$(dirname "$0")/.."
what=${1:-all}
lock=package-lock.json
oldest_node=20

say() { printf '%s\n' "$*" >&2; }

installed_from() { sha256sum "$1" 2>/dev/null || shasum -a 256 "$1"; }

is_installed() { [ "$(cat "node_modules/.installed-$1" 2>/dev/null)" = "$(installed_from "$lock")" ]; }

if ! node -e "process.exit(Number(parseInt(process.versions.node) < $oldest_node))" 2>/dev/null || ! npm --version >/dev/null 2>&1; then
  say "Missing: Node $oldest_node or newer with npm (nodejs.org)."
  exit 3
fi
if is_installed all || is_installed "$what"; then exit; fi
say "Installing $lock"
parts=()
[ "$what" = all ] || parts=(--omit=dev)
npm ci --ignore-scripts --loglevel=error ${parts[@]+"${parts[@]}"} >&2
installed_from "$lock" >"node_modules/.installed-$what"
