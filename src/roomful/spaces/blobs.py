"""How bytes become a blob, and who may have it: its owner, and the members of spaces it was shown in."""

from collections.abc import Iterable

from roomful.domain.blobs import BLOB_LIMIT, Blob
from roomful.domain.changes import AddBlob, Change, ShowBlob
from roomful.domain.errors import TooLarge
from roomful.domain.ports import CallContext, Clock, Ids, Store
from roomful.domain.shape import UNSET


async def may_have(store: Store, blob: Blob, entity_id: str) -> bool:
    if blob.owner_id == entity_id:
        return True
    for space_id in await store.blob_spaces(blob.id):
        if await store.role(space_id, entity_id) is not None:
            return True
    return False


class Blobs:
    def __init__(self, store: Store, clock: Clock, ids: Ids) -> None:
        self._store = store
        self._clock = clock
        self._ids = ids

    def new(
        self, owner_id: str, data: bytes, media_type: str, *, name: str = "", space_ids: Iterable[str] = ()
    ) -> tuple[Blob, list[Change]]:
        """A blob and the changes that keep it and show it. Raises TooLarge."""
        if len(data) > BLOB_LIMIT:
            raise TooLarge(f"{len(data)} bytes are too many to keep: the limit is {BLOB_LIMIT}")
        blob = Blob(
            id=self._ids.new("blob"),
            owner_id=owner_id,
            media_type=media_type,
            size=len(data),
            created_at=self._clock.iso(),
            name=name or UNSET,
        )
        shown: list[Change] = [ShowBlob(blob.id, space_id) for space_id in space_ids]
        return blob, [AddBlob(blob, data), *shown]

    async def keep_for(self, context: CallContext, data: bytes, media_type: str) -> Blob:
        """What a tool made is its agent's, and is shown where the call is. Raises TooLarge, Unavailable."""
        blob, changes = self.new(context.agent_id, data, media_type, space_ids=context.call.space_ids)
        await self._store.commit(changes)
        return blob
