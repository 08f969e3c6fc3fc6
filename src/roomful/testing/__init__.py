"""Agents tried out offline: a house that lasts as long as a test, and what its members saw."""

from roomful.testing.house import OpenHouse, open_house
from roomful.testing.seen import Said, Seen

__all__ = ["OpenHouse", "Said", "Seen", "open_house"]
