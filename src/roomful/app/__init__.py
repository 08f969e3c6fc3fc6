"""Roomful, whole: adapters chosen, rooms wired, the demo world, importers."""

from roomful.app.gateway import Gateway

__all__ = ["Gateway"]
