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
if [ "$name" = ai-sdk ]; then
  scripts/install-js.sh
  exec node_modules/.bin/vite examples/ai-sdk "${@:2}"
fi
PYTHONPATH=clients/python/src exec .venv/bin/python examples/"$name"/chat.py "${@:2}"
