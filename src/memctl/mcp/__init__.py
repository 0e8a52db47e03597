"""The MCP face of memctl."""
