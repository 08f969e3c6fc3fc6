"""Images: drawn offline or ordered from a provider, kept as blobs, never carried in the result."""

import asyncio
import struct
import sys
import zlib
from collections.abc import Mapping
from typing import Any

import pytest

from roomful.domain.blobs import Blob
from roomful.domain.errors import TooLarge
from roomful.domain.outcomes import Done, Failed, Outcome
from roomful.domain.ports import CallContext
from roomful.domain.tools import Image
from roomful.executors.image import ImageExecutor
from roomful.executors.providers import NoPicture, Order, Picture
from tests.executors.contexts import call_of


class Blobs:
    def __init__(self) -> None:
        self.kept: list[tuple[bytes, str]] = []

    async def put(self, context: CallContext, data: bytes, media_type: str) -> Blob:
        self.kept.append((data, media_type))
        return Blob(f"blob_{len(self.kept)}", context.agent_id, media_type, len(data), "")


def made(spec: Image, args: Mapping[str, Any], **how: Any) -> tuple[Outcome, Blobs]:
    blobs = Blobs()
    executor = ImageExecutor(blobs.put, **{"keys": {}.get, **how})
    return asyncio.run(executor.execute(call_of(spec, args, seconds=5))), blobs


def decoded(png: bytes) -> tuple[int, int, bytes]:
    """Width, height and pixels; every chunk's checksum is checked."""
    assert png[:8] == b"\x89PNG\r\n\x1a\n"
    at, chunks = 8, dict[bytes, bytes]()
    while at < len(png):
        (length,) = struct.unpack(">I", png[at : at + 4])
        kind, data = png[at + 4 : at + 8], png[at + 8 : at + 8 + length]
        assert struct.unpack(">I", png[at + 8 + length : at + 12 + length]) == (zlib.crc32(kind + data),)
        chunks[kind] = data
        at += 12 + length
    width, height, *rest = struct.unpack(">IIBBBBB", chunks[b"IHDR"])
    assert rest == [8, 2, 0, 0, 0]
    assert list(chunks) == [b"IHDR", b"IDAT", b"IEND"]
    return width, height, zlib.decompress(chunks[b"IDAT"])


def test_the_builtin_provider_draws_a_real_png_and_keeps_it_as_a_blob() -> None:
    outcome, blobs = made(Image(size="256x128"), {"prompt": "a sunset over mountains"})

    image = {"url": "/api/blobs/blob_1", "mediaType": "image/png", "width": 256, "height": 128}
    assert outcome == Done({"success": True, "images": [image]})
    ((png, media_type),) = blobs.kept
    assert media_type == "image/png"
    width, height, pixels = decoded(png)
    assert (width, height, len(pixels)) == (256, 128, 128 * (1 + 3 * 256))
    assert len({pixels[at : at + 3] for at in range(1, len(pixels), 97)}) > 50


def test_the_same_words_give_the_same_picture_and_others_another() -> None:
    def drawn(prompt: str) -> bytes:
        return made(Image(size="64x64"), {"prompt": prompt})[1].kept[0][0]

    prompts = ["a sunset", "a city at night", "a lake in winter", "pine forest", "", "чёрный кот", "x\ud800"]
    pictures = [drawn(prompt or "untitled") for prompt in prompts]
    assert pictures == [drawn(prompt or "untitled") for prompt in prompts]
    assert len(set(pictures)) == len(prompts)


@pytest.mark.parametrize(
    ("size", "expected"),
    [
        (None, (512, 512)),
        ("auto", (512, 512)),
        ("1024x1024", (1024, 1024)),
        ("1792x1024", (1024, 585)),
        ("99999x99999", (1024, 1024)),
        ("1x1", (64, 64)),
        ("99999x1", (1024, 64)),
    ],
)
def test_a_size_is_kept_within_bounds(size: str | None, expected: tuple[int, int]) -> None:
    outcome, _ = made(Image(size=size), {"prompt": "sky"})

    assert isinstance(outcome, Done)
    assert (outcome.value["images"][0]["width"], outcome.value["images"][0]["height"]) == expected


@pytest.mark.parametrize("size", ["big", "0x0", "-5x5", "1024", "1e3x1e3", "9" * 50 + "x1", 7, ["1x1"]])
def test_a_size_that_is_none_is_told(size: Any) -> None:
    outcome, blobs = made(Image(), {"prompt": "sky", "size": size})

    assert outcome == Failed("an image's size is written WIDTHxHEIGHT, as in 1024x1024")
    assert blobs.kept == []


@pytest.mark.parametrize("args", [{}, {"prompt": ""}, {"prompt": "  "}, {"prompt": 7}, {"prompt": None}])
def test_an_image_needs_a_prompt(args: dict[str, Any]) -> None:
    assert made(Image(), args)[0] == Failed("an image needs a prompt: a text in the argument prompt")


@pytest.mark.parametrize(
    ("provider", "key"),
    [
        ("dall-e", "OPENAI_API_KEY"),
        ("openai", "OPENAI_API_KEY"),
        ("google", "GOOGLE_API_KEY"),
        ("xai", "XAI_API_KEY"),
    ],
)
def test_a_provider_without_its_key_says_which_one(provider: str, key: str) -> None:
    outcome, blobs = made(Image(provider=provider, quality="hd"), {"prompt": "sky"})

    assert isinstance(outcome, Failed)
    assert key in outcome.error
    assert blobs.kept == []


def test_an_unknown_provider_is_told_the_known_ones() -> None:
    outcome, _ = made(Image(provider="midnight"), {"prompt": "sky"})

    assert isinstance(outcome, Failed)
    assert "builtin, dall-e" in outcome.error


def test_without_the_extra_its_name_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pydantic_ai.images", None)

    outcome, _ = made(Image(provider="openai"), {"prompt": "sky"}, keys={"OPENAI_API_KEY": "sk-1234"}.get)

    assert isinstance(outcome, Failed)
    assert "roomful[models]" in outcome.error
    assert "sk-1234" not in outcome.error


def test_the_documents_own_example_is_ordered_from_the_provider() -> None:
    orders: list[Order] = []

    async def generate(order: Order) -> list[Picture]:
        orders.append(order)
        return [
            Picture(b"\xff\xd8jpeg", "image/jpeg"),
            Picture(b"\x89PNG\r\n\x1a\n" + bytes(20), "image/png"),
        ]

    spec = Image(provider="dall-e", model="dall-e-3", size="1024x1024", quality="hd")
    outcome, blobs = made(
        spec, {"prompt": "a sunset"}, keys={"OPENAI_API_KEY": "sk-1234"}.get, generate=generate
    )

    (order,) = orders
    assert (order.provider.name, order.provider.model, order.key) == ("openai", "gpt-image-2", "sk-1234")
    assert order.settings == {"dimensions": (1024, 1024), "openai_quality": "high"}
    assert [media_type for _, media_type in blobs.kept] == ["image/jpeg", "image/png"]
    assert outcome == Done(
        {
            "success": True,
            "images": [
                {"url": "/api/blobs/blob_1", "mediaType": "image/jpeg"},
                {"url": "/api/blobs/blob_2", "mediaType": "image/png", "width": 0, "height": 0},
            ],
        }
    )


def test_a_provider_that_refuses_is_a_failure() -> None:
    async def generate(_order: Order) -> list[Picture]:
        raise NoPicture("the image provider openai made no image: blocked")

    outcome, _ = made(Image(provider="openai"), {"prompt": "x"}, keys=lambda _name: "key", generate=generate)

    assert outcome == Failed("the image provider openai made no image: blocked")


def test_an_image_that_cannot_be_kept_is_a_failure() -> None:
    async def refuse(_context: CallContext, _data: bytes, _media_type: str) -> Blob:
        raise TooLarge("too many bytes")

    executor = ImageExecutor(refuse, keys={}.get)
    outcome = asyncio.run(executor.execute(call_of(Image(size="64x64"), {"prompt": "sky"})))

    assert outcome == Failed("the image could not be kept: too many bytes")
