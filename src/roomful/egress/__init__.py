"""The one outbound HTTP client for every tool: it decides where a request may go, then goes exactly there."""

from roomful.domain.outbound import EgressFailed, EgressRefused
from roomful.egress.client import HttpEgress
from roomful.egress.resolving import Resolve, SystemResolver

__all__ = ["EgressFailed", "EgressRefused", "HttpEgress", "Resolve", "SystemResolver"]
