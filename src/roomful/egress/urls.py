"""The one parser of URLs that tools may name. What it cannot read plainly, it refuses."""

import ipaddress
import re
import socket
from typing import Final, Literal, cast

import msgspec

from roomful.domain.outbound import EgressRefused
from roomful.egress.addresses import pack

MAX_URL: Final = 8192
_URL: Final = re.compile(r"(https?)://([^/?#]*)(/[^?#]*)?(\?[^#]*)?(?:#.*)?", re.IGNORECASE)
_AUTHORITY: Final = re.compile(r"(\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9._-]+)(?::([1-9][0-9]{0,4}))?")
_LABEL: Final = re.compile(r"(?!-)[A-Za-z0-9_-]{1,63}(?<!-)")
_PLAIN: Final = re.compile(r"[!#$&-;=?-\[\]_a-z~%]+")
"""The characters that RFC 3986 lets into a URL: no space, control, backslash, quote or non-ASCII."""
_BAD_ESCAPE: Final = re.compile(r"%(?![0-9A-Fa-f]{2})")
_DOT_SEGMENT: Final = re.compile(r"(?:^|/)(?:\.|%2e){1,2}(?=/|$)", re.IGNORECASE)
_DEFAULT_PORTS: Final = {"http": 80, "https": 443}

Scheme = Literal["http", "https"]


class Target(msgspec.Struct, frozen=True):
    """A URL, understood. `host` is lower case and without brackets; there is no user and no fragment."""

    scheme: Scheme
    host: str
    port: int
    path: str
    query: str

    @property
    def origin(self) -> tuple[str, str, int]:
        return self.scheme, self.host, self.port

    @property
    def authority(self) -> str:
        """`host:port` as an operator writes it into the allow list."""
        return authority(self.host, self.port)

    @property
    def url(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        port = "" if self.port == _DEFAULT_PORTS[self.scheme] else f":{self.port}"
        query = f"?{self.query}" if self.query else ""
        return f"{self.scheme}://{host}{port}{self.path}{query}"


def authority(host: str, port: int) -> str:
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def parse_url(url: str) -> Target:
    """Raises EgressRefused with a sentence that names what is wrong and never repeats the URL."""
    if len(url) > MAX_URL:
        raise EgressRefused(f"the URL is longer than {MAX_URL} characters")
    if not _PLAIN.fullmatch(url) or _BAD_ESCAPE.search(url):
        raise EgressRefused("the URL has characters that must be percent-encoded, or is empty")
    match = _URL.fullmatch(url)
    if not match:
        raise EgressRefused("the URL does not begin with http:// or https:// and a host")
    scheme = cast(Scheme, match[1].lower())
    host, port = _parse_authority(match[2])
    path = match[3] or "/"
    if _DOT_SEGMENT.search(path):
        raise EgressRefused("the URL's path has . or .. segments")
    return Target(scheme, host, port or _DEFAULT_PORTS[scheme], path, (match[4] or "?")[1:])


def parse_allowed(pair: str) -> str:
    """An operator's `host:port`, in the spelling of `Target.authority`. Raises ValueError."""
    try:
        host, port = _parse_authority(pair.strip())
    except EgressRefused as refused:
        raise ValueError(f"{pair!r} is not host:port: {refused.detail}") from None
    if port is None:
        raise ValueError(f"{pair!r} is not host:port: the port is missing")
    return authority(host, port)


def _parse_authority(text: str) -> tuple[str, int | None]:
    match = _AUTHORITY.fullmatch(text)
    if not match:
        raise EgressRefused("the URL's host is not a plain name or address, with or without a port")
    port = int(match[2]) if match[2] else None
    if port and port > 65535:
        raise EgressRefused("the URL's port is above 65535")
    host = match[1].lower()
    if host.startswith("["):
        return _canonical_v6(host[1:-1]), port
    if len(host) > 253 or not all(_LABEL.fullmatch(label) for label in host.split(".")):
        raise EgressRefused("the URL's host is not a host name")
    return _canonical_v4(host), port


def _canonical_v4(host: str) -> str:
    """`2130706433`, `0x7f.1` and their like are addresses, and have one spelling from here on."""
    try:
        return socket.inet_ntoa(socket.inet_aton(host))
    except OSError:
        return host


def _canonical_v6(text: str) -> str:
    """One spelling per address, so that an allow list cannot be missed or hit by another one."""
    packed = pack(text)
    if packed is None or len(packed) != 16:
        raise EgressRefused("the URL's host is not an IPv6 address")
    return str(ipaddress.IPv6Address(packed))
