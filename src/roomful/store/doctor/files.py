"""Blobs are what they were when they came, and messages name those that their readers may have."""

import hashlib
from collections.abc import Iterator
from typing import cast

from roomful.domain.messages import Message, ToolCallPart
from roomful.domain.shape import UNSET, Json
from roomful.store.doctor.finding import Finding, Findings
from roomful.store.doctor.reading import Snapshot

ADDRESS = "/api/blobs/"

_KNOWN = """
SELECT owner_id, EXISTS (
  SELECT 1 FROM blob_spaces s WHERE s.blob_id = blobs.id AND s.space_id = ?
) FROM blobs WHERE id = ?"""


def contents(db: Snapshot) -> Findings:
    for blob_id, size, digest, data in db.rows("SELECT id, size, digest, data FROM blobs", at_once=1):
        if len(data) != size:
            problem = f"has {len(data)} bytes, but size says {size}: restore it from a backup"
            yield Finding("blob_changed", "blobs", blob_id, problem)
        elif hashlib.sha256(data).digest() != bytes(digest):
            problem = "its bytes do not have its digest: restore it from a backup"
            yield Finding("blob_changed", "blobs", blob_id, problem)


def named_blobs(db: Snapshot, place: str, message: Message) -> Findings:
    for blob_id in message.attachments:
        yield from _named(db, place, message, blob_id, "attachment")
    for part in message.parts:
        if isinstance(part, ToolCallPart) and part.answered_by is UNSET and part.run_id:
            for blob_id in _addresses(part.result):
                yield from _named(db, place, message, blob_id, "result")


def _named(db: Snapshot, place: str, message: Message, blob_id: str, what: str) -> Findings:
    """Whose blob a tool outside names is nothing to us: only its agent's own were kept for this result."""
    known = list(db.rows(_KNOWN, (message.space_id, blob_id)))
    if not known:
        if not any(db.rows("SELECT 1 FROM erased_blobs WHERE id = ?", (blob_id,))):
            problem = f"{what} {blob_id} is gone: restore the blob from a backup"
            yield Finding("no_blob", "messages", place, problem)
        return
    [(owner_id, is_shown)] = known
    if not is_shown and (what == "attachment" or owner_id == message.entity_id):
        problem = f"{what} {blob_id} is not shown in {message.space_id}: add the row to blob_spaces"
        yield Finding("blob_not_shown", "messages", place, problem)


def _addresses(result: object) -> Iterator[str]:
    waiting = [result]
    while waiting:
        value = waiting.pop()
        if isinstance(value, dict):
            fields = cast("dict[str, Json]", value)
            address = fields.get("url")
            if isinstance(address, str) and address.startswith(ADDRESS):
                yield address.removeprefix(ADDRESS)
            waiting += fields.values()
        elif isinstance(value, list):
            waiting += cast("list[Json]", value)
