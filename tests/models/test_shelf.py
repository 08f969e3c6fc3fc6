"""A model is found by its reference."""

import asyncio
import importlib.util
from collections.abc import Callable
from pathlib import Path

import pytest

from roomful.domain.agents import ModelRef
from roomful.domain.errors import Invalid
from roomful.domain.ports import Models
from roomful.models import ModelShelf, ScriptedModel, load_script
from roomful.models.openai import OpenAIModel
from tests.models.asking import Said, gather, joined, opened, request_to
from tests.servers.fake_openai import Answer, FakeOpenAI, text


def said_by(shelf: ModelShelf, ref: ModelRef) -> Said:
    async def run() -> Said:
        request = request_to(ref.base_url, name=ref.name, api_key=ref.api_key)
        await shelf.warm()
        batches, fault = await gather(shelf.find(ref), request)
        await shelf.close()
        return joined([delta for batch in batches for delta in batch], fault.code if fault else "")

    return asyncio.run(run())


def test_a_script_is_found_by_name_or_by_file(tmp_path: Path) -> None:
    (tmp_path / "filed.yml").write_text("turns: [{text: from a file}]", encoding="utf-8")
    shelf: Models = ModelShelf(
        resolve_secret=opened,
        scripts={"given": load_script("turns: [{text: from memory}]")},
        script_dirs=[tmp_path / "none", tmp_path],
    )

    assert isinstance(shelf, ModelShelf)
    assert isinstance(shelf.find(ModelRef("scripted:given")), ScriptedModel)
    assert shelf.find(ModelRef("scripted:filed")) is shelf.find(ModelRef("scripted:filed"))
    assert said_by(shelf, ModelRef("scripted:given")) == Said(text="from memory")
    assert said_by(shelf, ModelRef("scripted:filed")) == Said(text="from a file")


def test_a_script_can_be_added_later() -> None:
    shelf = ModelShelf(resolve_secret=opened)
    shelf.add_script("late", load_script("turns: [{text: late}]"))

    assert said_by(shelf, ModelRef("scripted:late")) == Said(text="late")


@pytest.mark.parametrize("name", ["none", "../secret", "/etc/passwd", "a/b", ".hidden", "x" * 65])
def test_a_script_that_is_not_there(tmp_path: Path, name: str) -> None:
    (tmp_path / "scripts").mkdir()
    (tmp_path / "secret.yaml").write_text("turns: []", encoding="utf-8")
    shelf = ModelShelf(resolve_secret=opened, script_dirs=[tmp_path / "scripts"])

    with pytest.raises(Invalid):
        shelf.find(ModelRef(f"scripted:{name}"))


def test_a_broken_script_is_named(tmp_path: Path) -> None:
    (tmp_path / "broken.yaml").write_text("turns: [{txt: x}]", encoding="utf-8")

    with pytest.raises(Invalid, match=r"broken\.yaml: turn 1"):
        ModelShelf(resolve_secret=opened, script_dirs=[tmp_path]).find(ModelRef("scripted:broken"))


def test_openai_models_share_one_adapter() -> None:
    shelf = ModelShelf(resolve_secret=opened, operator_keys={"openai": "sk-secret-of-the-operator"})
    with FakeOpenAI([Answer(text("hello"))]) as server:
        ref = ModelRef("openai:fake", server.base_url, "${env.KEY}")
        assert isinstance(shelf.find(ref), OpenAIModel)
        assert shelf.find(ref) is shelf.find(ModelRef("openai:other"))
        assert said_by(shelf, ref) == Said(text="hello")
        assert server.requests[0].headers["authorization"] == "Bearer sk-secret-of-the-agent"


def test_the_operators_key_never_goes_to_an_address_of_somebody_else() -> None:
    shelf = ModelShelf(resolve_secret=opened, operator_keys={"openai": "sk-secret-of-the-operator"})
    with FakeOpenAI([Answer(text("hello"))]) as server:
        assert said_by(shelf, ModelRef("openai:fake", server.base_url)) == Said(text="hello")
        assert "sk-secret" not in repr(server.requests[0])


@pytest.mark.parametrize("name", ["", "gpt-5", "openai:", ":x"])
def test_a_name_must_name_provider_and_model(name: str) -> None:
    with pytest.raises(Invalid, match="must be PROVIDER:NAME"):
        ModelShelf(resolve_secret=opened).find(ModelRef(name))


@pytest.mark.parametrize(
    "url", ["", "localhost:1234/v1", "ftp://host/v1", "file:///etc/passwd", "http://", "http://a:b@c/"]
)
def test_a_base_url_must_be_the_address_of_a_server(url: str) -> None:
    with pytest.raises(Invalid, match="baseUrl"):
        ModelShelf(resolve_secret=opened).find(ModelRef("openai:x", url))


def test_without_the_extra_the_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    found = importlib.util.find_spec

    def find(name: str, package: str | None = None) -> object:
        return None if name == "pydantic_ai" else found(name, package)

    hidden: Callable[..., object] = find
    monkeypatch.setattr(importlib.util, "find_spec", hidden)
    shelf = ModelShelf(resolve_secret=opened)

    with pytest.raises(Invalid, match=r"pip install 'roomful\[models\]'"):
        shelf.find(ModelRef("anthropic:claude-sonnet-4-5"))
    asyncio.run(shelf.warm())
    asyncio.run(shelf.close())
