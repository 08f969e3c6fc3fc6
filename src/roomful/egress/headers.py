"""What may stand in a request's head, and what a redirect takes along."""

import re
from collections.abc import Mapping
from typing import Final

from roomful.domain.outbound import OWN_HEADERS, EgressRefused

METHODS: Final = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})
_MAX_HEADERS: Final = 64
_MAX_BYTES: Final = 32_768
_NAME: Final = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]{1,128}")
_VALUE: Final = re.compile(r"[\t\x20-\x7e]*")
_HARMLESS: Final = frozenset({"accept", "accept-language", "content-type", "user-agent"})
"""All that goes to another origin: any other header may hold a secret, whatever its name."""


def check_method(method: str) -> str:
    if method.upper() not in METHODS:
        raise EgressRefused(f"the method is not one of {', '.join(sorted(METHODS))}")
    return method.upper()


def check_headers(headers: Mapping[str, str]) -> dict[str, str]:
    """By lower-case name. Raises EgressRefused with the header's name, never its value."""
    checked: dict[str, str] = {}
    for name, value in headers.items():
        if not _NAME.fullmatch(name):
            raise EgressRefused("a header's name has characters that a name may not have")
        if name.lower() in OWN_HEADERS:
            raise EgressRefused(f"the header {name} cannot be set by a tool")
        if not _VALUE.fullmatch(value):
            raise EgressRefused(
                f"the header {name} has a line break or another character that is not plain ASCII"
            )
        checked[name.lower()] = value
    if len(checked) > _MAX_HEADERS or sum(len(name) + len(checked[name]) for name in checked) > _MAX_BYTES:
        raise EgressRefused(f"more than {_MAX_HEADERS} headers or {_MAX_BYTES // 1024} KiB of them")
    return checked


def harmless(headers: Mapping[str, str]) -> dict[str, str]:
    return {name: value for name, value in headers.items() if name in _HARMLESS}
