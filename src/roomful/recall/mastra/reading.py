"""A recorded conversation, read from its file and checked: what is missing is named by its place."""

import json
from datetime import UTC, datetime
from typing import Any, TypeAlias, cast

import msgspec

from roomful.domain.errors import Invalid
from roomful.domain.shape import Json, clean_json

Object: TypeAlias = dict[str, Json]


class Said(msgspec.Struct, frozen=True):
    """One stored message, in the form in which the AI SDK shows it."""

    id: str
    role: str
    parts: list[Object]
    created_at: str | None = None
    thread_id: str = ""
    resource_id: str = ""


class Thread(msgspec.Struct, frozen=True):
    """What one sub-agent was asked and what it did. `via_call` is the call that started it, if recorded."""

    id: str
    said: list[Said]
    via_call: str | None = None
    via_tool: str | None = None
    resource_id: str = ""


class Recording(msgspec.Struct, frozen=True):
    said: list[Said]
    threads: dict[str, Thread]
    """Every sub-agent's, those that no call names included."""
    streamed: dict[str, list[Json]]
    """What the file has of the results that sub-agents' calls had while they were streamed, by call."""


def read_recording(data: bytes, source: str) -> Recording:
    """Raises Invalid, with the source and the place, when the file is not of this form."""
    try:
        found = clean_json(json.loads(data))
    except (ValueError, RecursionError) as error:
        raise Invalid(f"{source}: this is not JSON: {error}") from None
    try:
        return _recording(_object(found, "the file"))
    except Invalid as error:
        raise Invalid(f"{source}: {error.detail}") from None


def _recording(file: Object) -> Recording:
    if "storedParentUi" not in file and "stored" in file:
        file = _as_stored(_object(file["stored"], "stored"))
    said = _said(_field(file, "storedParentUi", "the file"), "storedParentUi")
    if not said:
        raise Invalid("storedParentUi is empty: there is nothing to import")
    threads: dict[str, Thread] = {}
    stored = _object(_field(file, "storedSubThreads", "the file"), "storedSubThreads")
    for id, thread in stored.items():
        threads[id] = made = _thread(id, thread, f"storedSubThreads[{id!r}]")
        if not made.said:
            raise Invalid(f"storedSubThreads[{id!r}].ui is missing")
    for at, orphan in enumerate(_orphans(file.get("orphanThreads"))):
        place = f"orphanThreads[{at}]"
        id = orphan.get("threadId", orphan.get("id"))
        if not isinstance(id, str) or not id:
            raise Invalid(f"{place}.threadId is missing")
        threads.setdefault(id, _thread(id, orphan, place))
    return Recording(said, threads, _streamed(file.get("streamedFinalAgentParts")))


def _as_stored(stored: Object) -> Object:
    """The other form of such a file: the same under other names, beside every streamed chunk."""
    parent = _object(_field(stored, "parent", "stored"), "stored.parent")
    return {
        "storedParentUi": _field(parent, "ui", "stored.parent"),
        "storedSubThreads": _field(stored, "subThreads", "stored"),
    }


def _orphans(value: Json) -> list[Object]:
    """A list of threads, or of threads by id."""
    if isinstance(value, dict):
        by_id = cast(Object, value)
        return [{"threadId": id, **_object(each, "orphanThreads")} for id, each in by_id.items()]
    found = _list([] if value is None else value, "orphanThreads")
    named: list[Json] = [{"threadId": each} if isinstance(each, str) else each for each in found]
    return [_object(each, f"orphanThreads[{at}]") for at, each in enumerate(named)]


def _streamed(parts: Json) -> dict[str, list[Json]]:
    """A help only, so nothing in it can be wrong."""
    found: dict[str, list[Json]] = {}
    for data in _objects([part.get("data") for part in _objects(parts)]):
        for state in [data, *_objects(data.get("steps"))]:
            for result in _objects(state.get("toolResults")):
                found.setdefault(str(result.get("toolCallId")), []).append(result.get("result"))
    return found


def _objects(value: Json) -> list[Object]:
    each_one = cast("list[Json]", value) if isinstance(value, list) else []
    return [cast(Object, each) for each in each_one if isinstance(each, dict)]


def _thread(id: str, value: Json, place: str) -> Thread:
    thread: Object = {"ui": value} if isinstance(value, list) else _object(value, place)
    key = "messages" if "ui" not in thread and "messages" in thread else "ui"
    return Thread(
        id=id,
        said=_said(thread.get(key, []), f"{place}.{key}"),
        via_call=_text_or_none(thread.get("viaToolCallId")),
        via_tool=_text_or_none(thread.get("viaToolName")),
        resource_id=_text_or_none(thread.get("resourceId")) or "",
    )


def _said(value: Json, place: str) -> list[Said]:
    return [_message(each, f"{place}[{at}]") for at, each in enumerate(_list(value, place))]


def _message(value: Json, place: str) -> Said:
    message = _object(value, place)
    metadata = _object(message.get("metadata") or {}, f"{place}.metadata")
    parts = _list(_field(message, "parts", place), f"{place}.parts")
    created = metadata.get("createdAt", message.get("createdAt"))
    return Said(
        id=_text(message, "id", place),
        role=_text(message, "role", place),
        parts=[_part(part, f"{place}.parts[{at}]") for at, part in enumerate(parts)],
        created_at=None if created is None else _time(created, f"{place}.metadata.createdAt"),
        thread_id=_text_or_none(metadata.get("threadId")) or "",
        resource_id=_text_or_none(metadata.get("resourceId")) or "",
    )


def _part(value: Json, place: str) -> Object:
    part = _object(value, place)
    type = _text(part, "type", place)
    if type in ("text", "reasoning") and not isinstance(_field(part, "text", place), str):
        raise Invalid(f"{place}.text is not a text")
    if is_call(part):
        _text(part, "toolCallId", place)
    if type == "dynamic-tool":
        _text(part, "toolName", place)
    return part


def is_call(part: Object) -> bool:
    return part["type"] == "dynamic-tool" or part["type"].startswith("tool-")


def _time(value: Json, place: str) -> str:
    """ISO 8601 in UTC, with milliseconds; numbers are milliseconds since 1970."""
    try:
        if isinstance(value, int | float):
            when = datetime.fromtimestamp(value / 1000, UTC)
        else:
            when = datetime.fromisoformat(value)
            when = when.astimezone(UTC) if when.tzinfo else when.replace(tzinfo=UTC)
    except (TypeError, ValueError, OverflowError, OSError):
        raise Invalid(f"{place} is not a time: {str(value)[:80]!r}") from None
    return when.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _field(fields: Object, name: str, place: str) -> Json:
    if name not in fields:
        raise Invalid(f"{name} is missing" if place == "the file" else f"{place}.{name} is missing")
    return fields[name]


def _text(fields: Object, name: str, place: str) -> str:
    value = _field(fields, name, place)
    if not isinstance(value, str) or not value:
        raise Invalid(f"{place}.{name} is not a text")
    return value


def _text_or_none(value: Json) -> str | None:
    return value if isinstance(value, str) and value else None


def _object(value: Json, place: str) -> Object:
    if not isinstance(value, dict):
        raise Invalid(f"{place} is not an object")
    return cast(Object, value)


def _list(value: Json, place: str) -> list[Any]:
    if not isinstance(value, list):
        raise Invalid(f"{place} is not a list")
    return cast("list[Any]", value)
