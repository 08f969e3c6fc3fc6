"""A picture for a prompt. Its bytes go to the blobs; the result only says where they are."""

import asyncio
import re
import struct
from collections.abc import Awaitable, Callable, Mapping
from typing import Final, TypeAlias

from roomful.domain.blobs import Blob
from roomful.domain.errors import RoomfulError
from roomful.domain.outcomes import Done, Failed, Outcome
from roomful.domain.ports import CallContext
from roomful.domain.shape import Json
from roomful.domain.tools import Image, ToolSpec
from roomful.executors import providers
from roomful.executors.drawing import draw

PutBlob: TypeAlias = Callable[[CallContext, bytes, str], Awaitable[Blob]]
"""Keeps what a call made, bytes of a media type. Raises RoomfulError."""

_SIZE: Final = re.compile(r"(\d{1,5})\s*[xX×]\s*(\d{1,5})")
_SMALLEST, _LARGEST, _USUAL = 64, 1024, (512, 512)
_LONGEST_PROMPT: Final = 32_000


class ImageExecutor:
    """`keys` gives a provider's key by the name of its variable, or None."""

    has_effects = True

    def __init__(
        self,
        put_blob: PutBlob,
        *,
        keys: Callable[[str], str | None],
        generate: providers.Generate = providers.generate,
    ) -> None:
        self._put_blob = put_blob
        self._keys = keys
        self._generate = generate

    def can(self, spec: ToolSpec) -> bool:
        return isinstance(spec.executor, Image)

    async def execute(self, context: CallContext) -> Outcome:
        spec = context.spec.executor
        assert isinstance(spec, Image)
        prompt = _prompt(context.args)
        if prompt is None:
            return Failed("an image needs a prompt: a text in the argument prompt")
        try:
            size = _size(spec.size or context.args.get("size"))
            if spec.provider == "builtin":
                width, height = _fitted(size or _USUAL)
                made = [providers.Picture(await asyncio.to_thread(draw, prompt, width, height), "image/png")]
            else:
                made = await self._generate(providers.order(spec, prompt, size, self._keys))
        except providers.NoPicture as reason:
            return Failed(str(reason))
        try:
            return Done({"success": True, "images": [await self._kept(context, each) for each in made]})
        except RoomfulError as error:
            return Failed(f"the image could not be kept: {error.detail}")

    async def _kept(self, context: CallContext, picture: providers.Picture) -> Json:
        blob = await self._put_blob(context, picture.data, picture.media_type)
        kept: dict[str, Json] = {"url": blob.url, "mediaType": picture.media_type}
        if picture.data.startswith(b"\x89PNG\r\n\x1a\n") and len(picture.data) >= 24:
            kept["width"], kept["height"] = struct.unpack(">II", picture.data[16:24])
        return kept


def _prompt(args: Mapping[str, Json]) -> str | None:
    """The argument `prompt`, else the first text there is."""
    texts = [args.get("prompt"), *args.values()]
    found = next((text.strip() for text in texts if isinstance(text, str) and text.strip()), None)
    return found[:_LONGEST_PROMPT] if found else None


def _size(given: Json) -> tuple[int, int] | None:
    """Width and height, or None when nothing is asked for."""
    if given is None or given in ("", "auto"):
        return None
    match = _SIZE.fullmatch(given.strip()) if isinstance(given, str) else None
    if not match or not int(match[1]) or not int(match[2]):
        raise providers.NoPicture("an image's size is written WIDTHxHEIGHT, as in 1024x1024")
    return int(match[1]), int(match[2])


def _fitted(size: tuple[int, int]) -> tuple[int, int]:
    """The same shape within our bounds."""
    shrink = min(1.0, _LARGEST / max(size))
    width, height = (max(_SMALLEST, round(side * shrink)) for side in size)
    return width, height
