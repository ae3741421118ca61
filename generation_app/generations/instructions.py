"""What a model is told before the conversation, unless the caller says something else."""

_BY_STEP = {
    "plan": "Turn what was said into a short numbered plan, then help to refine it.",
    "": "Help to think an idea through: ask one good question at a time.",
}
CONTINUE = "Continue your last message exactly where it stopped. Repeat nothing of it, and do not say that you continue."


def instructions_for(opening_step: str, of_project: str = "") -> str:
    """`of_project`: the project's own instructions. They replace the default, and come before those of a step."""
    task = opening_step and _BY_STEP.get(opening_step, "")
    return "\n\n".join(part for part in (of_project, task) if part) or _BY_STEP[""]


def step_of(instructions: str) -> str:
    """The opening step that has these instructions; empty for others."""
    return next((step for step, text in _BY_STEP.items() if instructions.endswith(text)), "")
