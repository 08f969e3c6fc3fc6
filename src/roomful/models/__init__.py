"""Models: from a reference like `openai:gpt-5-mini` to something that streams deltas.

What speaks HTTP to them is loaded by the first one that is asked: it is a quarter of a start."""

from __future__ import annotations

import asyncio
import difflib
import importlib
import importlib.util
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from roomful.domain.agents import ModelRef
from roomful.domain.errors import Invalid
from roomful.domain.ports import Model
from roomful.domain.shape import check_id
from roomful.models.script import Script, load_script
from roomful.models.scripted import ScriptedModel

if TYPE_CHECKING:
    from roomful.models.openai import OpenAIModel
    from roomful.models.pydantic_ai import PydanticAIModel

__all__ = ["ModelShelf", "Script", "ScriptedModel", "load_script", "wrong_provider"]

_KEPT = 64
_OWN = ("openai", "scripted")
_ENDINGS = (".yaml", ".yml", ".json")


class ModelShelf:
    """Finds models by provider: `scripted`, `openai`, and any that pydantic-ai knows.

    `scripts` are known by name; another name is looked for as NAME.yaml, .yml or .json in `script_dirs`.
    `operator_keys` are the operator's own, by provider; they go to the provider's own address only.
    `resolve_secret` opens what stands in a model's `apiKey`.
    """

    def __init__(
        self,
        *,
        resolve_secret: Callable[[str], str],
        operator_keys: Mapping[str, str] | None = None,
        scripts: Mapping[str, Script] | None = None,
        script_dirs: Sequence[Path] = (),
    ) -> None:
        self._resolve_secret = resolve_secret
        self._operator_keys = dict(operator_keys or {})
        self._script_dirs = tuple(script_dirs)
        self._scripted = {name: ScriptedModel(script) for name, script in (scripts or {}).items()}
        self._openai: OpenAIModel | None = None
        self._others: dict[tuple[str, str | None], PydanticAIModel] = {}
        self._put_away: list[PydanticAIModel] = []
        """A stream may still use them."""

    def find(self, ref: ModelRef) -> Model:
        if not (ref.provider and ref.model):
            raise Invalid(
                f"model {ref.name!r} must be PROVIDER:NAME, as in openai:gpt-5-mini or scripted:demo"
            )
        if ref.provider == "scripted":
            return self._find_scripted(ref)
        if ref.provider == "openai":
            return self._find_openai(ref)
        return self._find_other(ref)

    def add_script(self, name: str, script: Script) -> None:
        self._scripted[name] = ScriptedModel(script)

    async def warm(self) -> None:
        """Does ahead what the first request would have to wait for."""
        await asyncio.to_thread(importlib.import_module, "roomful.models.openai")

    async def close(self) -> None:
        if self._openai is not None:
            await self._openai.close()
        others = [*self._put_away, *self._others.values()]
        self._put_away, self._others = [], {}
        for model in others:
            await model.close()

    def _find_openai(self, ref: ModelRef) -> Model:
        from roomful.models.openai import completions_url

        if ref.base_url is not None:
            completions_url(ref.base_url)
        return self._open_openai()

    def _open_openai(self) -> OpenAIModel:
        if self._openai is None:
            from roomful.models.openai import OpenAIModel

            key = self._operator_keys.get("openai")
            self._openai = OpenAIModel(resolve_secret=self._resolve_secret, operator_key=key)
        return self._openai

    def _find_scripted(self, ref: ModelRef) -> Model:
        if ref.model in self._scripted:
            return self._scripted[ref.model]
        check_id(ref.model, "script name")
        for folder in self._script_dirs:
            for ending in _ENDINGS:
                path = folder / (ref.model + ending)
                if path.is_file():
                    self.add_script(ref.model, load_script(path))
                    return self._scripted[ref.model]
        known = ", ".join(sorted(self._scripted)) or "none"
        raise Invalid(f"model {ref.name!r}: there is no script of that name (known: {known})")

    def _find_other(self, ref: ModelRef) -> Model:
        if not _has_extra():
            raise Invalid(
                f"model {ref.name!r} needs the extra `models`: install it with pip install 'roomful[models]'"
            )
        from roomful.models.pydantic_ai import build

        if ref.api_key is not None:
            key = self._resolve_secret(ref.api_key).strip()
        else:
            key = self._operator_keys.get(ref.provider)
        place = (ref.name, key)
        model = self._others.get(place) if ref.base_url is None else None
        if model is None:
            model = build(ref, key)
            if len(self._others) >= _KEPT:
                self._put_away.append(self._others.pop(next(iter(self._others))))
            self._others[place] = model
        return model


def wrong_provider(ref: ModelRef) -> str | None:
    """What is wrong with a provider's name, or None. Whether it would answer is not asked."""
    if ref.provider in _OWN:
        return None
    close = difflib.get_close_matches(ref.provider.lower(), _OWN, 1)
    hint = f'. Did you mean "{close[0]}:{ref.model}"?' if close else ""
    if not _has_extra():
        return (
            f"is of the provider {ref.provider!r}, which needs pip install 'roomful[models]': install it, or "
            f'write "openai:…" or "scripted:…"{hint}'
        )
    from roomful.models.pydantic_ai import is_provider

    if is_provider(ref.provider):
        return None
    return (
        f"is of a provider {ref.provider!r} that nobody knows: write another, as in openai:gpt-5-mini{hint}"
    )


def _has_extra() -> bool:
    return importlib.util.find_spec("pydantic_ai") is not None
