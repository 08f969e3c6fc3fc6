"""Results that are too large for a message and a model: kept whole as a blob, shown by their beginning."""

import msgspec

from roomful.domain.blobs import BLOB_LIMIT
from roomful.domain.changes import AddBlob, Change
from roomful.domain.runs import Call
from roomful.domain.shape import UNSET, Json, encode_json
from roomful.domain.tools import Visibility
from roomful.spaces.blobs import Blobs

RESULT_LIMIT = 64 * 1024
"""Bytes of JSON."""
PREVIEW = 2000
"""Characters of it."""

_CANNOT_BE_ENCODED = (TypeError, ValueError, OverflowError, RecursionError, msgspec.MsgspecError)


class Results:
    def __init__(self, blobs: Blobs) -> None:
        self._blobs = blobs

    def shrink(self, agent_id: str, call: Call) -> list[Change]:
        """Replaces what is too large in a settled call, and gives the changes that keep it."""
        seen = call.visibility in (Visibility.FULL, Visibility.RESULT) and not call.is_withheld
        call.result, changes = self._shrunk(agent_id, call.result, call.space_ids if seen else [])
        if call.told is not UNSET:
            call.told, more = self._shrunk(agent_id, call.told, [])
            changes += more
        if blobs := [change.blob.id for change in changes if isinstance(change, AddBlob)]:
            call.kept = blobs
        return changes

    def _shrunk(self, agent_id: str, value: Json, space_ids: list[str]) -> tuple[Json, list[Change]]:
        try:
            data = encode_json(value)
        except _CANNOT_BE_ENCODED:
            return value, []  # the commit refuses it and says why
        if len(data) <= RESULT_LIMIT:
            return value, []
        preview = data[: 4 * PREVIEW].decode(errors="ignore")[:PREVIEW]
        told: dict[str, Json] = {"truncated": True, "preview": preview, "size": len(data)}
        if len(data) > BLOB_LIMIT:
            return told, []
        blob, changes = self._blobs.new(agent_id, data, "application/json", space_ids=space_ids)
        return {**told, "blobId": blob.id, "url": blob.url}, changes
