"""What the protocol's own conformance tests call, behind our mounting: content of all kinds, progress, errors.

Names and texts are those that the tests look for.
"""

from typing import Any

from mcp.server.lowlevel import Server
from mcp.server.mcpserver import Context, MCPServer
from mcp.server.mcpserver.prompts.base import UserMessage
from mcp.shared.exceptions import MCPError
from mcp_types import (
    AudioContent,
    Completion,
    EmbeddedResource,
    ImageContent,
    TextContent,
    TextResourceContents,
)

PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAQAAAC1HAwCAAAAC0lEQVR42mNk+A8AAQUBAScY42YAAAAASUVORK5CYII="
SILENCE = "UklGRiYAAABXQVZFZm10IBAAAAABAAEAQB8AAAB9AAACABAAZGF0YQIAAAAAAA=="
MISSING_CAPABILITY = -32021


def make_fixture_server() -> Server[Any]:
    server = MCPServer("conformance", version="1")
    for add in (_add_tools, _add_talking_tools, _add_resources, _add_prompts):
        add(server)
    return server._lowlevel_server


def _add_tools(server: MCPServer) -> None:
    @server.tool()
    def test_simple_text() -> str:
        """A text."""
        return "This is a simple text response for testing."

    @server.tool()
    def test_image_content() -> list[ImageContent]:
        """An image."""
        return [_image()]

    @server.tool()
    def test_audio_content() -> list[AudioContent]:
        """A sound."""
        return [AudioContent(data=SILENCE, mime_type="audio/wav")]

    @server.tool()
    def test_embedded_resource() -> list[EmbeddedResource]:
        """A resource."""
        return [_embedded("test://embedded-resource")]

    @server.tool()
    def test_multiple_content_types() -> list[TextContent | ImageContent | EmbeddedResource]:
        """A text, an image and a resource."""
        return [TextContent(text="All kinds:"), _image(), _embedded("test://mixed-content-resource")]

    @server.tool()
    def test_error_handling() -> str:
        """An error."""
        raise RuntimeError("This tool intentionally returns an error for testing")


def _add_talking_tools(server: MCPServer) -> None:
    @server.tool()
    async def test_tool_with_progress(ctx: Context) -> str:
        """Reports progress."""
        for done in (0, 50, 100):
            await ctx.report_progress(done, 100, f"{done} of 100")
        return "done"

    @server.tool()
    async def test_tool_with_logging(ctx: Context) -> str:
        """Logs three lines."""
        for line in ("started", "processing", "completed"):
            await ctx.info(line)
        return "done"

    @server.tool()
    async def test_logging_tool(ctx: Context) -> str:
        """Logs a line."""
        await ctx.info("said")
        return "done"

    @server.tool()
    async def test_streaming_elicitation() -> str:
        """Answers at once."""
        return "done"

    @server.tool()
    async def test_missing_capability(ctx: Context) -> str:
        """Needs a client that samples."""
        capabilities = ctx.client_capabilities
        if capabilities is None or capabilities.sampling is None:
            raise MCPError(MISSING_CAPABILITY, "This needs sampling.", {"requiredCapabilities": {"sampling": {}}})
        return "done"


def _add_resources(server: MCPServer) -> None:
    @server.resource("test://static-text", mime_type="text/plain")
    def static_text() -> str:
        return "This is the content of the static text resource."

    @server.resource("test://static-binary", mime_type="image/png")
    def static_binary() -> bytes:
        return b"\x89PNG"

    @server.resource("test://template/{id}/data", mime_type="application/json")
    def template(id: str) -> str:
        return f'{{"id": "{id}", "templateTest": true, "data": "Data for ID: {id}"}}'

    @server.completion()  # type: ignore[no-untyped-call, untyped-decorator]
    async def complete(ref: Any, argument: Any, context: Any) -> Completion:
        return Completion(values=[argument.value], total=1, has_more=False)


def _add_prompts(server: MCPServer) -> None:
    @server.prompt()
    def test_simple_prompt() -> str:
        """A text."""
        return "This is a simple prompt for testing."

    @server.prompt()
    def test_prompt_with_arguments(arg1: str, arg2: str) -> str:
        """Its arguments."""
        return f"Prompt with arguments: arg1='{arg1}', arg2='{arg2}'"

    @server.prompt()
    def test_prompt_with_embedded_resource(resourceUri: str) -> list[UserMessage]:
        """A resource."""
        return [UserMessage(_embedded(resourceUri))]

    @server.prompt()
    def test_prompt_with_image() -> list[UserMessage]:
        """An image."""
        return [UserMessage(_image())]


def _image() -> ImageContent:
    return ImageContent(data=PIXEL, mime_type="image/png")


def _embedded(uri: str) -> EmbeddedResource:
    return EmbeddedResource(resource=TextResourceContents(uri=uri, mime_type="text/plain", text="Embedded."))
