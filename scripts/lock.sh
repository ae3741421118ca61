#!/usr/bin/env bash
# Resolves requirements/*.in into lock files with hashes, for every platform and Python from 3.12 on, naming no index.
set -euo pipefail
cd "$(dirname "$0")/.."
for what in base dev examples adk mutants; do
  overrides=()
  [ "$what" = base ] || [ "$what" = adk ] || overrides=(--override requirements/overrides.in)
  .venv/bin/uv pip compile --quiet --universal --python-version 3.12 --generate-hashes --no-header --no-emit-index-url \
    "${overrides[@]}" "$@" --output-file "requirements/$what.txt" "requirements/$what.in"
done
