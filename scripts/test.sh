#!/usr/bin/env bash
# Runs the tests on SQLite and, where they answer, on PostgreSQL and Redis. Arguments go to pytest, which then runs once a
# database; without any, what is timed runs alone, the rest side by side.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/environment.sh
python=.venv/bin/python
export STILLHERE_TEST_POSTGRES_URL=${STILLHERE_TEST_POSTGRES_URL:-postgresql://postgres@127.0.0.1:5432/postgres}
export STILLHERE_TEST_REDIS_URL=${STILLHERE_TEST_REDIS_URL:-redis://127.0.0.1:6379/15}
# One more than the machine has cores, as a rule: much of the suite waits for a browser or a server.
side_by_side=(-n "${STILLHERE_TEST_WORKERS:-3}" --dist worksteal)
# Once is enough, and of this process alone: servers that a test starts would take twice as long to.
covered="--cov --cov-report=term"
nothing_chosen=5
failed=()

tests() {
  local title=$1 status=0
  shift
  printf '\n== Tests on %s\n' "$title"
  $python -m pytest "$@" || status=$?
  [ $status = 0 ] || [ $status = $nothing_chosen ] || failed+=("$title")
}

# $1: on what; $2: what coverage does with this run; the rest: pytest's arguments.
suite() {
  local title=$1 coverage=$2
  shift 2
  if [ $# -gt 0 ]; then
    tests "$title" "${side_by_side[@]}" "$@"
  else
    # shellcheck disable=SC2086 # Several words, or none.
    tests "$title" "${side_by_side[@]}" -m "not timed" $coverage
    tests "$title: what is timed" -m timed
  fi
}

services_answer() {
  local service url version all=0
  for service in postgresql redis; do
    url=$STILLHERE_TEST_POSTGRES_URL
    [ $service = postgresql ] || url=$STILLHERE_TEST_REDIS_URL
    if version=$($python scripts/services.py $service "$url"); then
      echo "$version answers."
    else
      echo "The tests find no $service: $version"
      all=1
    fi
  done
  return $all
}

scripts/browser.sh
if services_answer; then
  STILLHERE_TEST_DATABASE=sqlite suite "SQLite" "$covered" "$@"
  STILLHERE_TEST_DATABASE=postgresql STILLHERE_DATABASE_URL=$($python scripts/services.py own "$STILLHERE_TEST_POSTGRES_URL") \
    STILLHERE_REDIS_URL=$STILLHERE_TEST_REDIS_URL suite "PostgreSQL and Redis" "" "$@"
elif [ "${STILLHERE_REQUIRE_SERVICES:-}" = 1 ]; then
  echo "STILLHERE_REQUIRE_SERVICES=1 asks for both."
  exit 1
else
  STILLHERE_TEST_DATABASE=sqlite suite "SQLite alone" "$covered" "$@"
fi
if [ ${#failed[@]} -gt 0 ]; then
  printf '\nFailed on: %s\n' "$(printf '%s, ' "${failed[@]}" | sed 's/, $//')"
  exit 1
fi
