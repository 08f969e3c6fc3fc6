"""Files that somebody gives in an answer: from then on they are seen where the card is."""

from collections.abc import Iterator
from itertools import islice

from roomful.domain.changes import Change, ShowBlob
from roomful.domain.ports import Store
from roomful.domain.runs import Call
from roomful.domain.shape import UNSET, Json
from roomful.tools.reading import as_object, children_of

MOST_FILES = 32


async def show_files(store: Store, entity_id: str, call: Call, result: Json) -> list[Change]:
    """Only their own: whoever names another's blob shows nothing. A card for one member stays with them."""
    if call.target_entity_id is not UNSET:
        return []
    blobs = [await store.blob(blob_id) for blob_id in islice(_named(result), MOST_FILES)]
    own = [blob.id for blob in blobs if blob is not None and blob.owner_id == entity_id]
    return [ShowBlob(blob_id, place.space_id) for blob_id in own for place in call.places]


def _named(result: Json) -> Iterator[str]:
    waiting = [result]
    while waiting:
        value = waiting.pop()
        blob_id = (as_object(value) or {}).get("blobId")
        if isinstance(blob_id, str):
            yield blob_id
        waiting += children_of(value)
