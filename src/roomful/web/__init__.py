"""The web room: HTTP in, JSON and event streams out, and one page."""

from roomful.web.app import WebApp, make_app
from roomful.web.house import House

__all__ = ["House", "WebApp", "make_app"]
