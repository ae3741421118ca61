"""What agents do: memory, checkpoints of graphs, calls of MCP tools."""
