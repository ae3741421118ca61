"""Prompts: what a person chooses in a client's menu to begin or to end work."""

from pydantic import ValidationError

from mcp_app.core.calls import Call
from mcp_app.core.outcomes import marked
from mcp_app.core.tool import READ, wrong_fields
from mcp_app.tools.brief import BriefArguments, session_brief
from sessions_app.accounts.authentication import MissingScope
from sessions_app.core.errors import Invalid
from sessions_app.core.serialization.strict_json import clean_text

PROMPTS = {
    "resume_work": "Go on with the work of this project: where it stands, and the next step.",
    "hand_off": "End the work so that another agent can go on: decisions, state and a frozen handoff.",
}
_RESUME = (
    "Go on with the work of this project. What was saved of it follows. Call `load_session_context` and `session_resume` if you "
    "need more. Tell me in two sentences where we stand and what you will do next, then do it."
)
_HAND_OFF = (
    "End your work here so that another agent can go on. Call `handoff_add` for each decision, file and risk that is not yet in "
    "the handoff, and once with kind `summary`. Save your todos and notes with `ai_state_save`. Then call `handoff_freeze`, and "
    "tell me the number of the frozen handoff."
)


class UnknownPrompt(Invalid):
    message = "There is no such prompt. List the prompts."


def prompt_text(call: Call, name: str, arguments: dict[str, str]) -> list[str]:
    """The texts of the prompt's messages. Raises UnknownPrompt, MissingScope, WrongFields; and what finding it raises."""
    if READ not in call.caller.scopes:
        raise MissingScope(READ)
    if name == "hand_off":
        return [_HAND_OFF]
    if name != "resume_work":
        raise UnknownPrompt
    try:
        given = BriefArguments(project=clean_text(arguments.get("project", "")) or None)
    except ValidationError as error:
        raise wrong_fields(error, BriefArguments) from None
    found = session_brief(call, given)
    return [_RESUME, marked(found.data["stored"])]
