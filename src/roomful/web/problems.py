"""What went wrong, as RFC 9457 problem JSON: a code for machines and a sentence that a person can act on."""

import http
import logging
import math
from collections.abc import Mapping

import msgspec
from starlette.responses import Response

from roomful.domain.errors import Conflict, Invalid, RateLimited, RoomfulError
from roomful.domain.shape import Json, Noun
from roomful.domain.wire import problem
from roomful.web.headers import API_HEADERS

logger = logging.getLogger("roomful.web")

STATUS = {
    "invalid": 422,
    "unauthorized": 401,
    "forbidden": 403,
    "not_found": 404,
    "conflict": 409,
    "limit": 409,
    "too_large": 413,
    "rate_limited": 429,
    "unavailable": 503,
}


class Problem(Noun):
    """The shape, for the OpenAPI document."""

    type: str
    title: str
    status: int
    detail: str
    code: str
    outcome: Json | msgspec.UnsetType = msgspec.UNSET


class Refused(RoomfulError):
    """A request that HTTP itself has a status for."""

    code = "invalid"

    def __init__(self, status: int, detail: str, headers: Mapping[str, str] = {}) -> None:
        super().__init__(detail)
        self.status = status
        self.headers = headers


def answer_to(error: RoomfulError, described_at: str = "") -> Response:
    """`described_at` is the address of the document that says how to get a token (RFC 9728)."""
    status = STATUS.get(error.code, 500)
    headers: dict[str, str] = {}
    more: dict[str, Json] = {}
    match error:
        case Refused():
            status, headers = error.status, dict(error.headers)
        case Invalid():
            status = 400 if error.malformed else 422
        case Conflict() if error.outcome is not None:
            more["outcome"] = error.outcome
        case RateLimited():
            headers["retry-after"] = str(max(1, math.ceil(error.retry_after)))
        case _:
            pass
    if status == 401:
        described = f', resource_metadata="{described_at}"' if described_at else ""
        headers["www-authenticate"] = f'Bearer realm="roomful"{described}'
    elif status == 503:
        headers["retry-after"] = "1"
    return _response(status, error.detail, error.code, headers, more)


def unexpected(error: Exception, reference: str, asked: str) -> Response:
    """Nothing of the error leaves the house but the name under which the log has it."""
    logger.error("%s while answering %s", reference, asked, exc_info=error)
    detail = f"something went wrong here; the operator finds it in the log as {reference}"
    return _response(500, detail, "internal", {}, {})


def _response(
    status: int, detail: str, code: str, headers: Mapping[str, str], more: Mapping[str, Json]
) -> Response:
    title = http.HTTPStatus(status).phrase
    return Response(
        problem(title, status, detail, code, **more),
        status,
        {**API_HEADERS, **headers},
        "application/problem+json",
    )
