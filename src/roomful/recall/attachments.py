"""What a person attached, as parts that a model reads: pictures as such, texts as texts, the rest by name."""

import base64

from roomful.domain.blobs import Blob
from roomful.domain.messages import Message
from roomful.domain.ports import Store
from roomful.domain.shape import UNSET, Json, clean_text

SIGNATURES = {
    "image/png": b"\x89PNG",
    "image/jpeg": b"\xff\xd8\xff",
    "image/gif": b"GIF8",
    "image/webp": b"RIFF",
}
"""How such a picture begins. A provider refuses the whole request for one that is something else."""
IMAGE_LIMIT = 5 * 1024 * 1024
ALL_IMAGES_LIMIT = 4 * IMAGE_LIMIT
TEXT_LIMIT = 64 * 1024


async def attached(store: Store, message: Message) -> tuple[Json, ...]:
    """Chat Completions parts, in the order of the attachments."""
    parts: list[Json] = []
    left = ALL_IMAGES_LIMIT
    for blob_id in message.attachments:
        blob = await store.blob(blob_id)
        if blob is None:
            parts.append(_text(f"[attachment {blob_id}: no longer available]"))
        elif blob.media_type in SIGNATURES and blob.size <= min(IMAGE_LIMIT, left):
            left -= blob.size
            parts.append(_picture(blob, await store.blob_data(blob_id) or b""))
        elif blob.media_type.startswith("text/") and blob.size <= TEXT_LIMIT:
            parts.append(_words(blob, await store.blob_data(blob_id) or b""))
        else:
            parts.append(_text(_in_short(blob)))
    return tuple(parts)


def _in_short(blob: Blob) -> str:
    name = "without a name" if blob.name is UNSET else f'"{blob.name}"'
    return f"[attachment {blob.id}: {name}, {blob.media_type}, {blob.size} bytes]"


def _picture(blob: Blob, data: bytes) -> Json:
    if not data.startswith(SIGNATURES[blob.media_type]):
        return _text(_in_short(blob))
    url = f"data:{blob.media_type};base64,{base64.b64encode(data).decode()}"
    return {"type": "image_url", "image_url": {"url": url}}


def _words(blob: Blob, data: bytes) -> Json:
    return _text(f"{_in_short(blob)}\n{clean_text(data.decode(errors='replace'))}")


def _text(text: str) -> Json:
    return {"type": "text", "text": text}
