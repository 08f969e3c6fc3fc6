"""Webhooks: signed, answered at once or later, and hard to forge."""

import asyncio
import json
from typing import Any

import pytest

from roomful.domain.outcomes import Done, Failed, Outcome, Waiting
from roomful.domain.runs import Call
from roomful.domain.tools import Webhook
from roomful.egress import HttpEgress
from roomful.executors.signing import signature, verify_signature
from roomful.executors.webhook import WebhookExecutor
from tests.egress.endpoints import Endpoint, answering, http
from tests.executors.contexts import call_of, secrets

KEY = b"gateway-key"
NOW = 1_700_000_000.9


class StoppedClock:
    def now(self) -> float:
        return NOW

    def iso(self) -> str:
        return ""


def callback_url(call: Call) -> str:
    return f"https://gateway.example/callbacks/{call.id}"


def called(answer: bytes, *, late: bool = True, **fields: Any) -> tuple[Outcome, Endpoint]:
    async def main() -> tuple[Outcome, Endpoint]:
        async with answering(answer) as endpoint:
            egress = HttpEgress(allow=[endpoint.pair])
            executor = WebhookExecutor(
                egress,
                secrets(SERVICE_KEY="service-secret", SIGNING="tool-secret-key"),
                signing_keys=lambda: [KEY],
                clock=StoppedClock(),
                callback_url=callback_url if late else None,
            )
            try:
                outcome = await executor.execute(
                    call_of(Webhook(endpoint.url("/tools/process"), **fields), {"order": 7}, seconds=5)
                )
            finally:
                egress.close()
            return outcome, endpoint

    return asyncio.run(main())


DONE = http(200, b'{"total": 12}', content_type="application/json")


def is_signed(endpoint: Endpoint, key: bytes) -> bool:
    _, headers, body = endpoint.requests[0]
    return verify_signature(
        [key],
        message_id=headers["x-roomful-id"],
        timestamp=headers["x-roomful-timestamp"],
        signatures=headers["x-roomful-signature"],
        body=body,
        now=NOW,
    )


def test_a_call_is_forwarded_signed_and_its_answer_is_the_result() -> None:
    outcome, endpoint = called(
        DONE, headers={"Authorization": "Bearer ${env.SERVICE_KEY}", "x-roomful-id": "forged"}
    )

    line, headers, body = endpoint.requests[0]
    assert outcome == Done({"total": 12})
    assert line == "POST /tools/process HTTP/1.1"
    assert json.loads(body) == {
        "id": "call_1",
        "tool": "fetchWeather",
        "input": {"order": 7},
        "agentId": "shop",
        "runId": "run_1",
        "callbackUrl": "https://gateway.example/callbacks/call_1",
    }
    assert headers["authorization"] == "Bearer service-secret"
    assert headers["x-roomful-id"] == headers["idempotency-key"] == "call_1"
    assert headers["x-roomful-timestamp"] == "1700000000"
    assert is_signed(endpoint, KEY)


def test_a_tools_own_key_signs_instead() -> None:
    _, endpoint = called(DONE, secret="${env.SIGNING}")

    assert is_signed(endpoint, b"tool-secret-key")
    assert not is_signed(endpoint, KEY)


def test_202_means_that_the_result_comes_later() -> None:
    assert called(http(202, b"working on it"))[0] == Waiting(on="callback")


def test_202_without_callbacks_is_a_failure() -> None:
    outcome, endpoint = called(http(202), late=False)

    assert isinstance(outcome, Failed)
    assert "callbackUrl" not in json.loads(endpoint.requests[0][2])


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        (http(204), Done(None)),
        (http(200, b"plain"), Done("plain")),
        (http(503, b"busy"), Failed("the endpoint answered HTTP 503 Service Unavailable: busy")),
        (
            http(307, location="/x"),
            Failed("the endpoint answered HTTP 307 Temporary Redirect; redirects are not followed"),
        ),
        (http(200, b"key service-secret"), Done("key [secret]")),
        (
            http(500, b"key service-secret"),
            Failed("the endpoint answered HTTP 500 Internal Server Error: key [secret]"),
        ),
    ],
)
def test_other_answers(answer: bytes, expected: Outcome) -> None:
    assert called(answer, headers={"X-Key": "${env.SERVICE_KEY}"})[0] == expected


RIGHT = {"message_id": "call_1", "timestamp": "1700000000", "body": b"{}", "now": NOW}


def verified(keys: list[bytes] | None = None, **changes: Any) -> bool:
    given = {**RIGHT, "signatures": signature(KEY, "call_1", 1_700_000_000, b"{}"), **changes}
    return verify_signature(keys or [KEY], **given)


@pytest.mark.parametrize("now", [NOW, NOW - 299, NOW + 299])
def test_a_right_signature_is_accepted_within_five_minutes(now: float) -> None:
    assert verified(now=now)


def test_keys_and_signatures_can_be_rotated() -> None:
    both = f"v1={'0' * 64}, {signature(KEY, 'call_1', 1_700_000_000, b'{}')}"

    assert verified([b"new-key", KEY])
    assert verified(signatures=both)


@pytest.mark.parametrize(
    "changes",
    [
        {"message_id": "call_2"},
        {"timestamp": "1700000001"},
        {"body": b"{ }"},
        {"body": b""},
        {"now": NOW + 302},
        {"now": NOW - 302},
        {"keys": [b"other"]},
        {"keys": [b""]},
        {"signatures": ""},
        {"signatures": "v1="},
        {"signatures": signature(KEY, "call_1", 1_700_000_000, b"{}")[:-1]},
        {"signatures": signature(KEY, "call_1", 1_700_000_000, b"{}").upper()},
        {"signatures": signature(KEY, "call_1", 1_700_000_000, b"{}").replace("v1=", "v0=")},
        {"signatures": "v1=\u00e9"},
        {"timestamp": ""},
        {"timestamp": "-1700000000"},
        {"timestamp": "1700000000.0"},
        {"timestamp": "\u0661\u0667"},
        {"timestamp": "9" * 5000},
        {"message_id": "call_1.1700000000", "timestamp": "1700000000"},
    ],
)
def test_anything_else_is_not_accepted(changes: dict[str, Any]) -> None:
    assert not verified(**changes)
