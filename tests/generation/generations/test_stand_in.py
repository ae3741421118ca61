"""The stand-in for a model: honest about what it is, out of the history alone, and never at the cost of other requests."""

import time

import pytest

from generation_app.generations.instructions import instructions_for, step_of
from generation_app.generations.model.stand_in_rules import Turn, reply


def test_the_code_is_read_out_of_the_history() -> None:
    said = [Turn("user", "My secret code is 777"), Turn("assistant", "Noted."), Turn("user", "And my dog is Rex.")]
    asked = Turn("user", "What is my code?")
    assert reply(turns=[*said, asked], opening_step="") == "Your secret code is 777."
    assert "not told me" in reply(turns=[asked], opening_step="")


def test_it_says_what_it_is() -> None:
    assert "no language model" in reply(turns=[Turn("user", "A shop for old maps")], opening_step="")


def test_a_plan_is_made_of_what_was_said() -> None:
    turns = [Turn("user", "Maps first"), Turn("assistant", "Why?"), Turn("user", "They sell")]
    assert reply(turns=turns, opening_step="plan").endswith("1. Maps first\n2. They sell")


def test_facts_are_known_by_names_in_any_letters() -> None:
    said = [Turn("user", "My Straße is Am Kai\nand my 番号 is 7"), Turn("assistant", "Noted.")]
    for asked, answer in (("What is my straße?", "Your Straße is Am Kai."), ("tell me my 番号", "Your 番号 is 7.")):
        assert reply(turns=[*said, Turn("user", asked)], opening_step="") == answer


@pytest.mark.parametrize("piece", ["my ", " ", "what my ", "my a ", "say", "my\n"])
def test_no_text_holds_the_stand_in_up(piece: str, capfd: pytest.CaptureFixture[str]) -> None:
    """While it looks through a text, nobody else's request goes on."""
    for text in (f"my{piece * (20_000 // len(piece))}", f"what my{piece * (20_000 // len(piece))}!"):
        began = time.thread_time()
        reply(turns=[Turn("user", text), Turn("user", text)], opening_step="")
        assert time.thread_time() - began < 1
    # RE2 says there when it has too little memory to be fast.
    assert capfd.readouterr().err == ""


@pytest.mark.parametrize("of_project", ["", "Answer in German."])
def test_it_knows_the_step_by_its_instructions(of_project: str) -> None:
    told = {step: instructions_for(step, of_project) for step in ("", "plan", "brainstorm")}
    assert {step: step_of(text) for step, text in told.items()} == {"": "", "plan": "plan", "brainstorm": ""}
    assert all(text.startswith(of_project) for text in told.values())
