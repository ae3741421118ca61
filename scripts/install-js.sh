#!/usr/bin/env bash
# Installs the tools that check the JavaScript into node_modules, as package-lock.json says, unless they are installed already.
# Returns 3 where there is no Node: only contributors need it, never the server.
set -euo pipefail
cd "$(dirname "$0")/.."
lock=package-lock.json
stamp=node_modules/.installed
oldest_node=20

say() { printf '%s\n' "$*" >&2; }

installed_from() { sha256sum "$1" 2>/dev/null || shasum -a 256 "$1"; }

if ! node -e "process.exit(Number(parseInt(process.versions.node) < $oldest_node))" 2>/dev/null || ! npm --version >/dev/null 2>&1; then
  say "Missing: Node $oldest_node or newer with npm (nodejs.org)."
  exit 3
fi
if [ "$(cat "$stamp" 2>/dev/null)" != "$(installed_from "$lock")" ]; then
  say "Installing $lock"
  npm ci --ignore-scripts --loglevel=error >&2
  installed_from "$lock" >"$stamp"
fi
