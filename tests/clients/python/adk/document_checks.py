"""The page of ADK runs, as `test_documents.py` runs those of others. Here ADK is loaded already."""

import os

import pytest


def test_the_example_runs(project: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("STILLHERE_PROJECT", project)
    exec(compile(os.environ["PAGE"], "adk.md", "exec"), {"__name__": "__main__"})
    assert os.environ["PRINTED"] in capsys.readouterr().out
