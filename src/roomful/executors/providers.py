"""Image providers, through pydantic-ai (the extra `models`), which is imported when it is first needed."""

import importlib
import re
from collections.abc import Awaitable, Callable
from typing import Any, Final, NamedTuple, TypeAlias

from roomful.domain.tools import Image
from roomful.executors.masking import Masker


class Picture(NamedTuple):
    data: bytes
    media_type: str


class NoPicture(Exception):
    """Why there is none, in a sentence that may be shown."""


class Provider(NamedTuple):
    name: str
    """As pydantic-ai calls it."""
    key: str
    model: str


class Order(NamedTuple):
    provider: Provider
    key: str
    prompt: str
    settings: dict[str, Any]


Generate: TypeAlias = Callable[[Order], Awaitable[list[Picture]]]

_OPENAI: Final = Provider("openai", "OPENAI_API_KEY", "gpt-image-2")
_GOOGLE: Final = Provider("google", "GOOGLE_API_KEY", "gemini-2.5-flash-image")
_XAI: Final = Provider("xai", "XAI_API_KEY", "grok-imagine-image")
PROVIDERS: Final = {
    "openai": _OPENAI,
    "dall-e": _OPENAI,
    "dalle": _OPENAI,
    "google": _GOOGLE,
    "gemini": _GOOGLE,
    "xai": _XAI,
}
_RETIRED: Final = re.compile(r"dall-?e(-\d)?")
"""Asked for by older configurations; the provider's present model draws instead."""
_QUALITIES: Final = {"hd": "high", "standard": "medium", "low": "low", "medium": "medium", "high": "high"}
_LONGEST_REASON: Final = 300


def order(spec: Image, prompt: str, size: tuple[int, int] | None, keys: Callable[[str], str | None]) -> Order:
    """What is asked of whom. Raises NoPicture when it is known beforehand that it cannot be had."""
    provider = PROVIDERS.get(spec.provider.lower())
    if provider is None:
        known = ", ".join(["builtin", *sorted(PROVIDERS)])
        raise NoPicture(f"there is no image provider {spec.provider!r}; there are {known}")
    key = keys(provider.key)
    if not key:
        raise NoPicture(
            f"the image provider {spec.provider} needs the key {provider.key}, which is not set; "
            "the provider builtin draws without one"
        )
    if spec.model and not _RETIRED.fullmatch(spec.model.lower()):
        provider = provider._replace(model=spec.model)
    settings: dict[str, Any] = {}
    if size:
        settings["dimensions"] = size
    if spec.quality in _QUALITIES and provider.name == "openai":
        settings["openai_quality"] = _QUALITIES[spec.quality]
    return Order(provider, key, prompt, settings)


async def generate(wanted: Order) -> list[Picture]:
    """Raises NoPicture."""
    masker = Masker(lambda _name: wanted.key)
    masker.learn(wanted.key)
    try:
        images = importlib.import_module("pydantic_ai.images")
        exceptions = importlib.import_module("pydantic_ai.exceptions")
        model = _model(images, wanted)
    except ImportError:
        raise NoPicture(
            f"the image provider {wanted.provider.name} needs an extra that is not installed: "
            f"roomful[models] and pydantic-ai-slim[{wanted.provider.name}]"
        ) from None
    try:
        result = await images.ImageGenerator(model).generate(wanted.prompt, settings=wanted.settings)
    except (exceptions.UserError, exceptions.AgentRunError) as error:
        reason = masker.text(str(error))[:_LONGEST_REASON]
        raise NoPicture(f"the image provider {wanted.provider.name} made no image: {reason}") from None
    return [Picture(bytes(image.content.data), str(image.content.media_type)) for image in result.images]


def _model(images: Any, wanted: Order) -> Any:
    """With our key: the environment is not asked."""
    find = importlib.import_module("pydantic_ai.providers").infer_provider_class

    def provider(name: str) -> Any:
        return find(name)(api_key=wanted.key)

    name = f"{wanted.provider.name}:{wanted.provider.model}"
    return images.infer_image_generation_model(name, provider_factory=provider)
