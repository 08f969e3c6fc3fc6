"""JSON-RPC as MCP speaks it over HTTP: one request or one notification in each POST, never a batch."""

from typing import Annotated, Any, Literal, cast

import msgspec

from roomful.domain.errors import Invalid
from roomful.domain.shape import UNSET, Json, Unset, encode_json
from roomful.web.bodies import decode_body

PARSE_ERROR = -32700
INVALID_REQUEST = -32600
METHOD_NOT_FOUND = -32601
INVALID_PARAMS = -32602
RESOURCE_NOT_FOUND = -32002
"""Of the older era; the newer one has no code of its own for it."""
HEADER_MISMATCH = -32020
UNSUPPORTED_VERSION = -32022


_WHATEVER = cast("type[Json]", Any)


class RpcError(Exception):
    """What is wrong with the request itself. What a tool could not do is a result."""

    def __init__(self, code: int, message: str, data: Json = None) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.data = data


class Request(msgspec.Struct):
    """Without an id it is a notification, which nobody answers."""

    jsonrpc: Literal["2.0"]
    method: Annotated[str, msgspec.Meta(max_length=200)]
    id: str | int | Unset = UNSET
    params: dict[str, Json] = {}

    @property
    def is_notification(self) -> bool:
        return self.id is UNSET

    @property
    def meta(self) -> dict[str, Json]:
        meta = self.params.get("_meta")
        return meta if isinstance(meta, dict) else {}  # pyright: ignore[reportUnknownVariableType]


def read_request(data: bytes) -> Request:
    try:
        said: Json = decode_body(data, _WHATEVER)
    except Invalid as error:
        raise RpcError(PARSE_ERROR, error.detail) from None
    if isinstance(said, list):
        raise RpcError(INVALID_REQUEST, "send one JSON-RPC request in each POST, not a batch")
    try:
        return msgspec.convert(said, Request)
    except msgspec.ValidationError as error:
        raise RpcError(INVALID_REQUEST, f"this is no JSON-RPC request: {error}") from None


def response(id: str | int | Unset, result: Json) -> bytes:
    return encode_json({"jsonrpc": "2.0", "id": id, "result": result})


def failure(id: str | int | Unset | None, error: RpcError) -> bytes:
    what: dict[str, Json] = {"code": error.code, "message": error.message}
    if error.data is not None:
        what["data"] = error.data
    return encode_json({"jsonrpc": "2.0", "id": None if id is UNSET else id, "error": what})


def notification(method: str, params: Json) -> bytes:
    return encode_json({"jsonrpc": "2.0", "method": method, "params": params})
