"""One request of possibly several: the first, or what a redirect makes of it."""

from collections.abc import Mapping
from typing import Final
from urllib.parse import urljoin

import msgspec
import yarl

from roomful.domain.outbound import EgressRefused, OutboundRequest
from roomful.egress.bodies import ACCEPTED
from roomful.egress.headers import check_headers, check_method, harmless
from roomful.egress.urls import Target, parse_url

REDIRECTS: Final = frozenset({301, 302, 303, 307, 308})
_REPEATED: Final = frozenset({307, 308})


class Hop(msgspec.Struct, frozen=True):
    target: Target
    method: str
    headers: Mapping[str, str]
    body: bytes | None

    @classmethod
    def first(cls, request: OutboundRequest) -> "Hop":
        method, headers = check_method(request.method), check_headers(request.headers)
        return cls(parse_url(request.url), method, headers, request.body)

    @property
    def sent_headers(self) -> dict[str, str]:
        return {"user-agent": "Roomful", **self.headers, "accept-encoding": ACCEPTED}

    @property
    def url(self) -> yarl.URL:
        """For aiohttp, which reads URLs with a parser of its own: both must read the same."""
        target = self.target
        url = yarl.URL(target.url, encoded=True)
        path = f"{target.path}?{target.query}" if target.query else target.path
        if (url.scheme, url.raw_host, url.port, url.raw_path_qs) != (*target.origin, path) or url.raw_user:
            raise EgressRefused("the URL can be read in two ways")
        return url

    def redirected(self, status: int, location: str) -> "Hop":
        """The next hop: a first URL like any other, without what belongs to this origin only."""
        target = parse_url(_joined(self.target.url, location))
        repeated = status in _REPEATED or self.method in ("GET", "HEAD")
        method, body = (self.method, self.body) if repeated else ("GET", None)
        if target.origin == self.target.origin:
            return Hop(target, method, self.headers, body)
        if self.target.scheme == "https" and target.scheme == "http":
            raise EgressRefused("the host redirects from https to http")
        if body is not None:
            raise EgressRefused("the host redirects the body to another host")
        return Hop(target, method, harmless(self.headers), None)


def _joined(base: str, location: str) -> str:
    try:
        return urljoin(base, location)
    except ValueError:
        raise EgressRefused("the host redirects to something that is not a URL") from None
