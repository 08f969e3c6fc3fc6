"""A gateway for programs: the same view of a space as the page has, and back by itself after a break."""

from roomful.client.client import Client
from roomful.client.following import Happening, LiveSpace, WaitingCard

__all__ = ["Client", "Happening", "LiveSpace", "WaitingCard"]
