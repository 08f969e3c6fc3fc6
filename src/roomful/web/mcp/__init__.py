"""The MCP server: the spaces of whoever has a token, as tools and resources."""
