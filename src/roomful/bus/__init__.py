"""Carries announcements from those who make them to those who read them."""

from roomful.bus.memory import MemoryBus

__all__ = ["MemoryBus"]
