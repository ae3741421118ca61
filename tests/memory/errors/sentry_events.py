"""Sentry's events as reports of ours, in both shapes of a stack."""

import json
import os
from pathlib import Path
from typing import Any

import pytest

SAMPLES = os.environ.get("STILLHERE_SAMPLES", "")
needs_samples = pytest.mark.skipif(not SAMPLES, reason="STILLHERE_SAMPLES names no folder of sample data")


def events() -> dict[str, dict[str, Any]]:
    """Every sample event as `{message, kind, stack}` with the stack as a list, the top frame first."""
    return {file.stem: report_of(json.loads(file.read_text())) for file in sorted(Path(SAMPLES, "errors").glob("*.json"))}


def report_of(event: dict[str, Any]) -> dict[str, Any]:
    values = _exceptions(event)
    if not values:
        entry = event.get("logentry") or {}
        return {"message": entry.get("formatted") or entry.get("message") or ""}
    thrown = values[-1]
    frames = (thrown.get("stacktrace") or {}).get("frames") or []
    stack = [_frame(frame) for frame in reversed(frames)]
    return {"message": thrown.get("value") or "", "kind": thrown.get("type") or "", "stack": stack}


def as_text(report: dict[str, Any], platform: str) -> dict[str, Any]:
    """The same report with its stack as the platform prints it."""
    frames = report["stack"]
    heading = f"{report['kind']}: {report['message']}"
    match platform:
        case "python":
            calls = [f'  File "{f["file"]}", line {f["line"]}, in {f["function"]}\n    source' for f in reversed(frames)]
            stack = "\n".join(["Traceback (most recent call last):", *calls, heading])
        case "javascript":
            stack = "\n".join([heading, *(_javascript_line(f) for f in frames)])
        case "csharp":
            stack = "\n".join([heading, *(_csharp_line(f) for f in frames)])
        case "go":
            calls = [f"main.{f['function']}()\n\t{f['file']}:{f['line']} +0x1d" for f in frames]
            stack = "\n".join([f"panic: {report['message']}\n\ngoroutine 1 [running]:", *calls])
        case _:
            raise ValueError(platform)
    return {**report, "stack": stack}


def _exceptions(event: dict[str, Any]) -> list[dict[str, Any]]:
    stored: list[Any] = [entry["data"] for entry in event.get("entries", []) if entry["type"] == "exception"]
    found = event.get("exception") or (stored[0] if stored else [])
    return list(found["values"] if isinstance(found, dict) else found)


def _frame(frame: dict[str, Any]) -> dict[str, Any]:
    line = frame.get("lineno", frame.get("lineNo"))
    return {"file": frame.get("filename"), "function": frame.get("function"), "line": line}


def _javascript_line(frame: dict[str, Any]) -> str:
    place = f"{frame['file']}:{frame['line']}:7"
    return f"    at {place}" if frame["function"] == "?" else f"    at {frame['function']} ({place})"


def _csharp_line(frame: dict[str, Any]) -> str:
    call = f"   at Shop.Pages.{frame['function']}(String name)"
    return call if frame["file"] is None else f"{call} in {frame['file']}:line {frame['line']}"
