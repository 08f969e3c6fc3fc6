"""Bytes that messages and results point to: attached files, pictures, results too large for a message."""

import re

from roomful.domain.shape import UNSET, Frozen, Unset

BLOB_LIMIT = 25 * 1024 * 1024
LONGEST_NAME = 200
_TYPE = re.compile(r"[a-z0-9][a-z0-9!#$&^_.+-]{0,99}/[a-z0-9][a-z0-9!#$&^_.+-]{0,99}")


def media_type_in(text: str) -> str | None:
    """The media type that a text names, without its parameters; None when it names none."""
    media_type = text.partition(";")[0].strip().lower()
    return media_type if _TYPE.fullmatch(media_type) else None


def file_name_in(text: str) -> str:
    """The name alone, without folders and without characters that nobody sees."""
    visible = "".join(letter for letter in text if letter.isprintable())
    return re.split(r"[/\\]", visible)[-1].strip()[:LONGEST_NAME]


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
