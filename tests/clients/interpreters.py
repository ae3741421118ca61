"""Other versions of Python, where this machine has them."""

import os
import subprocess
import sys
from pathlib import Path


def interpreter(version: str) -> Path | None:
    """A name on the PATH proves nothing: version managers leave shims there for versions that are not installed, and have those
    that are in folders of their own."""
    pyenv = Path(os.environ.get("PYENV_ROOT") or Path.home() / ".pyenv")
    folders = [*map(Path, os.get_exec_path()), *sorted(pyenv.glob(f"versions/{version}.*/bin"))]
    named = [folder / f"python{version}" for folder in folders]
    uv = [sys.executable, "-m", "uv", "python", "find", "--offline", "--managed-python", version]
    found = subprocess.run(uv, capture_output=True, text=True, check=False).stdout.strip()
    for python in [*named, *map(Path, found.splitlines())]:
        tried = [str(python), "-c", "import sys, venv; print('%d.%d' % sys.version_info[:2])"]
        if python.is_file() and subprocess.run(tried, capture_output=True, text=True, check=False).stdout.strip() == version:
            return python
    return None
