#!/usr/bin/env bash
# Installs Chromium and its driver if possible, else says what to install. Fails only if they are required.
# With them Chromium's shell, where Debian has it: most tests take it if it is there, and need a third less time.
set -euo pipefail
have() { command -v "$1" >/dev/null 2>&1; }
ready() { have chromedriver && { have chromium || have chromium-browser || have google-chrome; }; }

if ready; then exit 0; fi
if have apt-get; then
  as_root=()
  [ "$(id -u)" = 0 ] || as_root=(sudo -n)
  if [ ${#as_root[@]} -eq 0 ] || sudo -n true 2>/dev/null; then
    install() { DEBIAN_FRONTEND=noninteractive "${as_root[@]}" apt-get -qq install -y --no-install-recommends "$@" </dev/null; }
    echo "Installing chromium and chromium-driver"
    "${as_root[@]}" apt-get -qq update </dev/null >/dev/null || true
    if install chromium chromium-driver >/dev/null; then
      install chromium-headless-shell >/dev/null 2>&1 || echo "Without chromium-headless-shell: the browser tests take longer."
    else
      echo "apt-get could not install them."
    fi
  fi
fi
if ready; then exit 0; fi
echo "Missing: Chromium with ChromeDriver (Debian: apt install chromium chromium-driver). The browser tests are left out."
[ "${STILLHERE_REQUIRE_SERVICES:-}" != 1 ]
