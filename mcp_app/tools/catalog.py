"""All tools, in the order in which clients list them."""

from mcp_app.tools.ai_states import AI_STATE_TOOLS
from mcp_app.tools.brief import BRIEF_TOOLS
from mcp_app.tools.error_reports import ERROR_TOOLS
from mcp_app.tools.handoff import HANDOFF_TOOLS
from mcp_app.tools.memory import MEMORY_TOOLS
from mcp_app.tools.sessions import SESSION_TOOLS

TOOLS = {tool.name: tool for tool in (*MEMORY_TOOLS, *BRIEF_TOOLS, *SESSION_TOOLS, *AI_STATE_TOOLS, *HANDOFF_TOOLS, *ERROR_TOOLS)}
