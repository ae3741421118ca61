#!/usr/bin/env bash
# Runs the tests on SQLite and, if they respond, on PostgreSQL and Redis. Arguments go to pytest, which then runs once per
# database; without arguments the timed tests run alone, the others in parallel.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/environment.sh
python=.venv/bin/python
export STILLHERE_TEST_POSTGRES_URL=${STILLHERE_TEST_POSTGRES_URL:-postgresql://postgres@127.0.0.1:5432/postgres}
export STILLHERE_TEST_REDIS_URL=${STILLHERE_TEST_REDIS_URL:-redis://127.0.0.1:6379/15}
# Usually one more than the number of cores: many tests wait for a browser or a server.
side_by_side=(-n "${STILLHERE_TEST_WORKERS:-3}" --dist worksteal)
# On one database, of this process only: coverage would double the start time of servers that tests start.
covered="--cov --cov-report=term"
slowest="--durations=${STILLHERE_TEST_SLOWEST:-20}"
nothing_chosen=5
# Each keeps a connection, of which a PostgreSQL may have 100 for the servers of all tests.
few_threads=4
failed=()
# Also in the output, but there each run's own lines follow.
export STILLHERE_TEST_FAILURES=$STILLHERE_DATA_DIR/failures.txt

# Tests of times are in few files: to collect the others takes as long as some of them.
mapfile -t timed < <(grep -rlE 'mark\.timed' tests --include='test_*.py')

# Tables that the tests of this database start from: migrating takes seconds, and each process would do it for itself.
template() {
  local folder=$STILLHERE_DATA_DIR/template
  if [ "$STILLHERE_TEST_DATABASE" = sqlite ]; then
    template=$folder/stillhere.sqlite3
  else
    template=$($python scripts/services.py create "$STILLHERE_DATABASE_URL")
    trap '$python scripts/services.py drop "$postgres" >/dev/null; rm -rf "$STILLHERE_DATA_DIR"' EXIT
  fi
  STILLHERE_DATA_DIR=$folder $python manage.py migrate --verbosity 0
}

tests() {
  local title=$1 status=0
  shift
  printf '\n== Tests on %s\n' "$title"
  $python -m pytest "$@" || status=$?
  [ $status = 0 ] || [ $status = $nothing_chosen ] || failed+=("$title")
}

# $1: title; $2: coverage options; $3: threads of a server where tests run side by side; the rest: pytest's arguments.
suite() {
  local title=$1 coverage=$2 threads=$3 template
  shift 3
  template
  export STILLHERE_TEST_TEMPLATE=$template
  if [ $# -gt 0 ]; then
    tests "$title" "${side_by_side[@]}" "$@"
  else
    # shellcheck disable=SC2086 # Several words, or none.
    STILLHERE_THREADS=$threads tests "$title" "${side_by_side[@]}" -m "not timed" $coverage $slowest
    tests "$title: what is timed" -m timed "${timed[@]}" $slowest
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
# As production serves them: in few files, which browsers load in less time.
$python -m tests.config.static_files.collected
export STILLHERE_STATIC_MANIFEST=1
# Without them the tests of ADK are left out, unless all services are required.
scripts/install.sh adk || [ "${STILLHERE_REQUIRE_SERVICES:-}" != 1 ]
# Tests reach this machine alone. To read the certificates of all authorities takes 25 ms for each client that is made.
last="-----END CERTIFICATE-----"
$python -c "import certifi; print(certifi.contents().split('$last')[0] + '$last')" > "$STILLHERE_DATA_DIR/authority.pem"
export SSL_CERT_FILE=$STILLHERE_DATA_DIR/authority.pem
if services_answer; then
  STILLHERE_TEST_DATABASE=sqlite suite "SQLite" "$covered" 16 "$@"
  postgres=$($python scripts/services.py own "$STILLHERE_TEST_POSTGRES_URL")
  STILLHERE_TEST_DATABASE=postgresql STILLHERE_DATABASE_URL=$postgres STILLHERE_REDIS_URL=$STILLHERE_TEST_REDIS_URL \
    suite "PostgreSQL and Redis" "" $few_threads "$@"
elif [ "${STILLHERE_REQUIRE_SERVICES:-}" = 1 ]; then
  echo "STILLHERE_REQUIRE_SERVICES=1 asks for both."
  exit 1
else
  STILLHERE_TEST_DATABASE=sqlite suite "SQLite alone" "$covered" 16 "$@"
fi
if [ ${#failed[@]} -gt 0 ]; then
  printf '\nFailed on: %s\n' "$(printf '%s, ' "${failed[@]}" | sed 's/, $//')"
  cat "$STILLHERE_TEST_FAILURES" || true
  exit 1
fi
