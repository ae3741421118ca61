#!/usr/bin/env bash
# Runs an example of `examples/` against the server at STILLHERE_URL: examples/start.sh NAME
set -euo pipefail
cd "$(dirname "$0")/.."
name=${1:-}

if [ -z "$name" ] || [ ! -d "examples/$name" ]; then
  echo "Say which: $(cd examples && printf "%s " */ | tr -d /)" >&2
  exit 2
fi
if [ -z "${STILLHERE_KEY:-}" ]; then
  echo "Missing: STILLHERE_KEY, an API key of the server at STILLHERE_URL (http://127.0.0.1:8000). \`make run\` prints one." >&2
  exit 2
fi
export STILLHERE_KEY STILLHERE_URL=${STILLHERE_URL:-http://127.0.0.1:8000} STILLHERE_PROJECT=${STILLHERE_PROJECT:-/examples/$name}
# One line that says what is wrong, before a program ends with a traceback.
.venv/bin/python - <<'END'
import os, sys, urllib.error, urllib.request

url = os.environ["STILLHERE_URL"]
try:
    key = {"Authorization": f"Bearer {os.environ['STILLHERE_KEY']}"}
    urllib.request.urlopen(urllib.request.Request(f"{url}/api/v1/projects?limit=1", headers=key), timeout=10).close()
except urllib.error.HTTPError as refused:
    if refused.code == 401:
        sys.exit(f"The server at {url} refuses the key in STILLHERE_KEY. Make a new one at {url}/keys/.")
except (OSError, ValueError) as error:
    sys.exit(f"No server answers at STILLHERE_URL={url} ({error}). `make run` starts one; an address begins with http://.")
END
if [ "$name" = ai-sdk ]; then
  scripts/install-js.sh examples
  exec node_modules/.bin/vite examples/ai-sdk "${@:2}"
fi
PYTHONPATH=clients/python/src exec .venv/bin/python examples/"$name"/chat.py "${@:2}"
