"""Every error becomes a problem with the right status, and the unexpected says nothing of itself."""

import json
import logging

import pytest

from roomful.domain.errors import (
    Conflict,
    Forbidden,
    Invalid,
    NotFound,
    RateLimited,
    RoomfulError,
    TooLarge,
    Unauthorized,
    Unavailable,
)
from roomful.web.problems import Refused, answer_to, unexpected
from tests.web.visiting import Visit, story


@pytest.mark.parametrize(
    ("error", "status", "code", "headers"),
    [
        (Invalid("x", malformed=True), 400, "invalid", {}),
        (Invalid("x"), 422, "invalid", {}),
        (Unauthorized("x"), 401, "unauthorized", {"www-authenticate": 'Bearer realm="roomful"'}),
        (Forbidden("x"), 403, "forbidden", {}),
        (NotFound("x"), 404, "not_found", {}),
        (Conflict("x"), 409, "conflict", {}),
        (TooLarge("x"), 413, "too_large", {}),
        (RateLimited("x", 0.05), 429, "rate_limited", {"retry-after": "1"}),
        (RateLimited("x", 2.5), 429, "rate_limited", {"retry-after": "3"}),
        (Unavailable("x"), 503, "unavailable", {"retry-after": "1"}),
        (Refused(405, "x", {"allow": "GET"}), 405, "invalid", {"allow": "GET"}),
        (Refused(421, "x"), 421, "invalid", {}),
    ],
)
def test_an_error_has_its_status(
    error: RoomfulError, status: int, code: str, headers: dict[str, str]
) -> None:
    answer = answer_to(error)
    body = json.loads(bytes(answer.body))

    assert answer.status_code == body["status"] == status
    assert answer.headers["content-type"] == "application/problem+json"
    assert (body["type"], body["code"], body["detail"]) == ("about:blank", code, "x")
    assert headers.items() <= dict(answer.headers).items()


def test_a_conflict_tells_what_came_of_it() -> None:
    answer = answer_to(Conflict("settled", outcome={"result": True}))

    assert json.loads(bytes(answer.body))["outcome"] == {"result": True}


def test_the_unexpected_is_logged_and_not_shown(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.ERROR, "roomful.web"):
        answer = unexpected(ZeroDivisionError("the secret is 42"), "err_1", "GET /x")

    assert answer.status_code == 500
    assert b"42" not in answer.body
    assert b"err_1" in answer.body
    assert "err_1 while answering GET /x" in caplog.text
    assert "the secret is 42" in caplog.text


async def _broken() -> bool:
    raise ZeroDivisionError


@story(is_ready=_broken)
async def test_a_handler_that_breaks_is_one_bad_answer(house: Visit) -> None:
    assert (await house.ask("GET", "/readyz")).status == 500
    assert (await house.ask("GET", "/healthz")).json == {"status": "ok"}
