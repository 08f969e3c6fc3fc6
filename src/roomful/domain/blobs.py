"""Bytes that messages and results point to: attached files, pictures, results too large for a message."""

from roomful.domain.shape import UNSET, Frozen, Unset

BLOB_LIMIT = 25 * 1024 * 1024


class Blob(Frozen):
    """All that is known of a blob but its bytes, which never change."""

    id: str
    owner_id: str
    media_type: str
    size: int
    created_at: str
    name: str | Unset = UNSET

    @property
    def url(self) -> str:
        return f"/api/blobs/{self.id}"
