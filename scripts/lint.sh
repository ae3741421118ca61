#!/usr/bin/env bash
# Every check except the tests. All of them run; if one fails, the script fails.
set -uo pipefail
cd "$(dirname "$0")/.."
. scripts/environment.sh
PATH=$PWD/.venv/bin:$PWD/node_modules/.bin:$PATH
failed=()

step() {
  local name=$1
  shift
  printf '\n== %s\n' "$name"
  "$@" || failed+=("$name")
}

each_template() { find . -path './.venv*' -prune -o -path '*/templates/*' -name '*.html' -print0 | xargs -0r "$@"; }
deploy_check() { STILLHERE_PUBLIC_URL=https://stillhere.example python manage.py check --deploy --fail-level WARNING; }

step "ruff format" ruff format --check --output-format concise .
step "ruff check" ruff check --quiet --output-format concise .
step "djade" each_template djade --target-version 6.1 --check
step "djlint" each_template djlint --lint --quiet
step "mypy" mypy
step "size limits" python scripts/size_limits.py
step "import-linter" lint-imports --no-logo
step "makemigrations" python manage.py makemigrations --check
step "check --deploy" deploy_check

# Without Node the JavaScript is not checked, unless all services are required.
installed=0
scripts/install-js.sh || installed=$?
if [ $installed = 0 ]; then
  step "biome" biome check --error-on-warnings --reporter=github
  step "tsc" tsc -p jsconfig.json
  step "tsc (Node)" tsc -p clients/js/jsconfig.node.json
elif [ $installed = 3 ] && [ "${STILLHERE_REQUIRE_SERVICES:-}" != 1 ]; then
  printf '\nThe JavaScript and CSS are not checked: that needs Node.\n'
else
  failed+=("install-js.sh")
fi

if [ ${#failed[@]} -gt 0 ]; then
  printf '\nFailed: %s\n' "$(printf '%s, ' "${failed[@]}" | sed 's/, $//')"
  exit 1
fi
