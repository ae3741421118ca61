"""The Python of the documents as programs, which need no provider and print what is known."""

import re
from pathlib import Path

from tests.support.server_process import ROOT

README = ROOT / "clients/python/README.md"
PAGES = sorted((ROOT / "docs/frameworks").glob("*.md"))
DOCUMENTS = [README, *(page for page in PAGES if "```python" in page.read_text())]
PRINTED = {
    "adk.md": "San Francisco\nCalifornia",
    "claude-agent.md": "San Francisco\nCalifornia",
    "README.md": "['Why does the checkout fail?', 'The cart is empty.']",
    "langgraph.md": "['hello', 'You said: hello']",
    "openai-agents.md": "California",
    "pydantic-ai.md": "California 4",
}
# A model that needs no provider in place of the one that a page names.
MODELS = {
    "adk.md": """
from google.adk.models import BaseLlm, LlmResponse


class Scripted(BaseLlm):
    async def generate_content_async(self, request, stream=False):
        answer = "California" if len(request.contents) > 1 else "San Francisco"
        yield LlmResponse(content=types.Content(role="model", parts=[types.Part(text=answer)]))


model = Scripted(model="scripted")
""",
    "openai-agents.md": """
from agents import set_tracing_disabled
from agents.testing import ScriptedModel
from openai.types.responses import ResponseOutputMessage, ResponseOutputText

set_tracing_disabled(True)
model = ScriptedModel()
for answer in ("San Francisco", "California"):
    text = ResponseOutputText(text=answer, type="output_text", annotations=[], logprobs=[])
    model.enqueue([ResponseOutputMessage(id="1", type="message", role="assistant", content=[text], status="completed")])
""",
    "pydantic-ai.md": """
from pydantic_ai.models.test import TestModel

model = TestModel(custom_output_text="California")
""",
}
# Before a page: in place of the program that the SDK starts. It answers, mirrors its transcript, and reads it when it resumes.
PROGRAMS = {
    "claude-agent.md": """
import asyncio, json, os, uuid
from pathlib import Path
from claude_agent_sdk import Transport, project_key_for_directory
from claude_agent_sdk._internal import client


class Scripted(Transport):
    def __init__(self, prompt, options):
        self.session = options.resume or str(uuid.uuid4())
        home = Path(options.env.get("CLAUDE_CONFIG_DIR") or Path.home() / ".claude")
        self.file = home / "projects" / project_key_for_directory() / f"{self.session}.jsonl"
        self.said = asyncio.Queue()

    async def write(self, data):
        given = json.loads(data)
        if given["type"] == "control_request":
            done = {"subtype": "success", "request_id": given["request_id"], "response": {}}
            self.said.put_nowait({"type": "control_response", "response": done})
        else:
            self.answer(given["message"])

    def answer(self, question):
        before = self.file.read_text() if self.file.exists() else ""
        text = "California" if "San Francisco" in before else "San Francisco"
        messages = [question, {"role": "assistant", "content": [{"type": "text", "text": text}]}]
        same = {"sessionId": self.session, "cwd": os.getcwd(), "timestamp": "2026-01-01T00:00:00.000Z"}
        entries = [{"type": each["role"], "uuid": str(uuid.uuid4()), "message": each, **same} for each in messages]
        self.said.put_nowait({"type": "transcript_mirror", "filePath": str(self.file), "entries": entries})
        times = {"duration_ms": 1, "duration_api_ms": 1, "num_turns": 1, "is_error": False}
        self.said.put_nowait({"type": "result", "subtype": "success", "session_id": self.session, "result": text, **times})
        self.said.put_nowait(None)

    async def read_messages(self):
        while (message := await self.said.get()) is not None:
            yield message

    def is_ready(self):
        return True

    async def connect(self): ...
    async def close(self): ...
    async def end_input(self): ...


client.SubprocessCLITransport = Scripted
""",
}


def program(document: Path) -> str:
    text = "\n".join(re.findall(r"^```python\n(.*?)^```", document.read_text(), re.DOTALL | re.MULTILINE))
    text = re.sub(r"^model = .*$", lambda _: MODELS[document.name], text, flags=re.MULTILINE)
    return PROGRAMS.get(document.name, "") + text
