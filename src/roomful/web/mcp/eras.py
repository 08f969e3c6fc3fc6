"""The two eras of the protocol. The older one begins with a handshake and then says its version in a header;
in the newer one every request says all that is to be known of it. Neither needs a session here."""

import base64
import binascii
import re

import msgspec
from starlette.datastructures import Headers

from roomful.domain.shape import Json
from roomful.web.mcp.rpc import HEADER_MISMATCH, INVALID_PARAMS, UNSUPPORTED_VERSION, Request, RpcError

HANDSHAKE = ("2025-03-26", "2025-06-18", "2025-11-25")
STATELESS = ("2026-07-28",)
VERSION_HEADER = "mcp-protocol-version"
OURSELVES: dict[str, Json] = {"name": "roomful", "title": "Roomful", "version": "1"}

_PREFIX = "io.modelcontextprotocol/"
_VERSION = f"{_PREFIX}protocolVersion"
_CAPABILITIES = f"{_PREFIX}clientCapabilities"
_SERVER_INFO = f"{_PREFIX}serverInfo"
_NAMED_BY = {"tools/call": "name", "prompts/get": "name", "resources/read": "uri"}
"""Methods whose parameter is repeated in the header Mcp-Name."""
_WRAPPED = re.compile(r"=\?base64\?(.*)\?=")


class Era(msgspec.Struct, frozen=True):
    is_stateless: bool

    def completed(self, result: dict[str, Json]) -> dict[str, Json]:
        """The result as this era wants it."""
        if not self.is_stateless:
            return result
        return {"resultType": "complete", "_meta": {_SERVER_INFO: OURSELVES}, **result}

    def listed(self, result: dict[str, Json], fresh_seconds: int = 0) -> dict[str, Json]:
        """A result that a client may keep: for so long, and, if it is the same for everybody, for all."""
        if not self.is_stateless:
            return result
        scope = "public" if fresh_seconds else "private"
        return self.completed({**result, "ttlMs": fresh_seconds * 1000, "cacheScope": scope})


def era_of(headers: Headers, request: Request) -> Era:
    """Raises RpcError when the version is unknown, or headers and body say different things."""
    version = headers.get(VERSION_HEADER)
    if version is None or version in HANDSHAKE:
        return Era(is_stateless=False)
    if not request.is_notification:
        _check_envelope(headers, request)
    if version not in STATELESS:
        known: list[str] = [*HANDSHAKE, *STATELESS]
        raise RpcError(
            UNSUPPORTED_VERSION,
            f"this gateway speaks MCP {', '.join(known)}",
            {"supported": known, "requested": version},
        )
    return Era(is_stateless=True)


def _check_envelope(headers: Headers, request: Request) -> None:
    """Whoever stands between reads the headers: they must not say anything else than the body."""
    missing = [key for key in (_VERSION, _CAPABILITIES) if key not in request.meta]
    if missing:
        raise RpcError(INVALID_PARAMS, f"params._meta: {', '.join(missing)} is missing")
    expected: dict[str, Json] = {VERSION_HEADER: request.meta[_VERSION], "mcp-method": request.method}
    if (named_by := _NAMED_BY.get(request.method)) is not None and named_by in request.params:
        expected["mcp-name"] = request.params[named_by]
    for name, value in expected.items():
        given = headers.getlist(name)
        if len(given) != 1 or _unwrapped(given[0]) != value:
            raise RpcError(HEADER_MISMATCH, f"the header {name} does not say what the body says")


def _unwrapped(value: str) -> str | None:
    """A value that a header cannot hold comes in base64."""
    wrapped = _WRAPPED.fullmatch(value)
    if wrapped is None:
        return value
    try:
        return base64.b64decode(wrapped.group(1), validate=True).decode()
    except (binascii.Error, UnicodeDecodeError):
        return None
