"""Attachments as a model reads them."""

import asyncio
from typing import Any

from roomful.domain.blobs import Blob
from roomful.domain.changes import AddBlob, AddEntity
from roomful.recall.attachments import IMAGE_LIMIT, attached
from roomful.store import open_store
from tests.store.things import HandClock, entity, message

GIF = b"GIF89a"


def read(*files: tuple[str, bytes], attachments: list[str] | None = None) -> list[Any]:
    """The parts of a message with these files, which are called b0, b1 and so on."""

    async def tell() -> list[Any]:
        store = await open_store("sqlite://:memory:", HandClock())
        ids = [f"b{number}" for number in range(len(files))]
        kept = [
            AddBlob(Blob(id=id, owner_id="ann", media_type=kind, size=len(data), created_at=""), data)
            for id, (kind, data) in zip(ids, files, strict=True)
        ]
        await store.commit([AddEntity(entity("ann")), *kept])
        parts = await attached(store, message("m", attachments=attachments or ids))
        await store.close()
        return list(parts)

    return asyncio.run(tell())


def test_a_file_that_is_gone_is_told_in_words() -> None:
    parts = read(("text/plain", b"a\0b\xff"), attachments=["gone", "b0"])

    assert parts == [
        {"type": "text", "text": "[attachment gone: no longer available]"},
        {"type": "text", "text": "[attachment b0: without a name, text/plain, 4 bytes]\na\ufffdb\ufffd"},
    ]


def test_pictures_are_sent_as_long_as_they_are_small_enough_one_by_one_and_together() -> None:
    largest = GIF + bytes(IMAGE_LIMIT - len(GIF))
    parts = read(("image/gif", largest + b"\0"), *[("image/gif", largest)] * 5, ("image/svg+xml", b"<svg/>"))

    assert [part["type"] for part in parts] == ["text", *["image_url"] * 4, "text", "text"]
