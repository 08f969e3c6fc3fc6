"""The envelope, in memory and as JSON."""

import json
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest

from roomful.bus import MessageEnvelope
from tests.requirements import requirement

WHEN = datetime(2026, 11, 5, 12, 30, 0, 250_000, tzinfo=UTC)
AS_JSON: dict[str, Any] = {
    "id": "e1",
    "conversation_id": "conv1",
    "sender": "agent:Dev",
    "recipient": "chat:conv1",
    "type": "message",
    "content": "hello",
    "metadata": {"k": [1]},
    "created_at": "2026-11-05T12:30:00.250000Z",
}


@requirement("B-01")
def test_an_envelope_is_the_same_after_json_and_back() -> None:
    envelope = MessageEnvelope(
        id="e1",
        conversation_id="conv1",
        sender="agent:Dev",
        recipient="chat:conv1",
        type="message",
        content="hello",
        metadata={"k": [1]},
        created_at=WHEN,
    )
    assert envelope.model_dump(mode="json") == AS_JSON
    assert envelope.model_dump() == AS_JSON | {"created_at": WHEN}
    assert json.loads(envelope.model_dump_json()) == AS_JSON
    assert MessageEnvelope.model_validate(AS_JSON) == envelope
    assert MessageEnvelope.model_validate_json(envelope.model_dump_json()) == envelope


@requirement("B-01")
def test_a_new_envelope_gets_an_id_of_its_own_and_the_time_in_utc() -> None:
    one, two = (MessageEnvelope(conversation_id="c", sender="s", recipient="r") for _ in range(2))
    assert one.id != two.id
    assert abs(datetime.now(UTC) - one.created_at) < timedelta(minutes=1)
    assert one.model_dump(mode="json")["created_at"].endswith("Z")
    assert (one.type, one.content, one.metadata) == ("message", None, {})


@requirement("B-01")
def test_another_zone_becomes_utc_and_none_is_refused() -> None:
    east = WHEN.astimezone(timezone(timedelta(hours=2)))
    made = MessageEnvelope(conversation_id="c", sender="s", recipient="r", created_at=east)
    assert made.model_dump(mode="json")["created_at"] == AS_JSON["created_at"]
    read = MessageEnvelope.model_validate(AS_JSON | {"created_at": "2026-11-05T14:30:00.25+02:00"})
    assert read.model_dump(mode="json") == AS_JSON
    with pytest.raises(ValueError, match="created_at has no time zone"):
        MessageEnvelope.model_validate(AS_JSON | {"created_at": "2026-11-05T14:30:00"})


@pytest.mark.parametrize("field", AS_JSON)
@requirement("B-01")
def test_a_missing_field_is_named(field: str) -> None:
    with pytest.raises(ValueError, match=rf"^The envelope lacks {field}\.$"):
        MessageEnvelope.model_validate({name: value for name, value in AS_JSON.items() if name != field})


@requirement("B-01")
def test_unknown_and_wrong_fields_are_named() -> None:
    with pytest.raises(ValueError, match=r"^An envelope has no field colour, size\.$"):
        MessageEnvelope.model_validate(AS_JSON | {"size": 1, "colour": 2})
    for field, value in (("type", "shout"), ("metadata", []), ("created_at", "now"), ("sender", None)):
        with pytest.raises(ValueError, match=f"The envelope is wrong: .*{field}"):
            MessageEnvelope.model_validate(AS_JSON | {field: value})


@pytest.mark.parametrize("text", ["", "{", "[]", '"x"', b"\xff"])
def test_what_is_no_json_object_is_refused(text: str | bytes) -> None:
    with pytest.raises(ValueError, match="envelope is"):
        MessageEnvelope.model_validate_json(text)


@pytest.mark.parametrize("time", ["0001-01-01T00:00:00+23:59", "9999-12-31T23:59:59-23:59"])
def test_a_time_that_utc_does_not_have_is_refused(time: str) -> None:
    with pytest.raises(ValueError, match="created_at is before the first year or after the last one"):
        MessageEnvelope.model_validate(AS_JSON | {"created_at": time})
