"""Roomful: people and AI agents share spaces, and any tool call can be a live message."""

__version__ = "0.1.0"
