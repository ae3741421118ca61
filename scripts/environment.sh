# Sourced by the scripts: settings of the caller's server do not reach checks or tests, and their data folder is removed at exit.
for name in $(compgen -e STILLHERE_ || true); do
  case "$name" in
    STILLHERE_TEST_* | STILLHERE_REQUIRE_SERVICES | STILLHERE_SAMPLES | STILLHERE_PROVE) ;;
    *) unset "$name" ;;
  esac
done
unset name DJANGO_SETTINGS_MODULE
# Tests start hundreds of processes: without stored bytecode each of them compiles the product again.
unset PYTHONDONTWRITEBYTECODE
# Under a name of its own: a shell may point the setting to another store before it ends.
checks_folder=$(mktemp -d "${TMPDIR:-/tmp}/stillhere-XXXXXX")
export STILLHERE_DATA_DIR="$checks_folder"
trap 'rm -rf "$checks_folder"' EXIT
