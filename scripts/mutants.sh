#!/usr/bin/env bash
# Plants one fault at a time in the modules that must not have any, and sees whether their tests notice (mutmut, in a copy of
# the tree). Arguments: names of modules, as `save_rules`; else all of them. STILLHERE_TEST_DATABASE=postgresql: by the tests
# there, on the services that STILLHERE_TEST_POSTGRES_URL and STILLHERE_TEST_REDIS_URL name.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/environment.sh
scripts/install.sh mutants
# Thrown away in the end.
scratch=$STILLHERE_DATA_DIR
mkdir "$scratch/tree"
git ls-files --cached --others --exclude-standard -z | while IFS= read -rd '' file; do
  [ ! -e "$file" ] || printf '%s\0' "$file"
done | tar --create --null --files-from - | tar --extract --directory "$scratch/tree"
# What each of thousands of test runs on SQLite starts from.
.venv/bin/python manage.py migrate --verbosity 0
export STILLHERE_TEST_SQLITE_TEMPLATE=$scratch/stillhere.sqlite3
if [ "${STILLHERE_TEST_DATABASE:=sqlite}" = sqlite ]; then
  export STILLHERE_TEST_TEMPLATE=$STILLHERE_TEST_SQLITE_TEMPLATE
else
  # Tests of one database, which cannot be copied, run one after the other.
  STILLHERE_DATABASE_URL=$(.venv/bin/python scripts/services.py own "$STILLHERE_TEST_POSTGRES_URL")
  export STILLHERE_DATABASE_URL STILLHERE_REDIS_URL=$STILLHERE_TEST_REDIS_URL STILLHERE_TEST_WORKERS=1
fi
export STILLHERE_TEST_DATABASE
.venv/bin/python -m scripts.mutants "$scratch/tree" "$@"
