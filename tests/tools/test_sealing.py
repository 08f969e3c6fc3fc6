"""Secrets that an author wrote out."""

import copy
from typing import Any

import pytest

from roomful.tools import (
    configure,
    find_literal_secrets,
    find_sealed,
    leave_out_secrets,
    open_secret,
    open_secrets,
    seal_secrets,
)
from tests.tools.written import URL, config


def turned(text: str) -> str:
    return text[::-1]


def request(**execution: Any) -> dict[str, Any]:
    return {"name": "it", "executionType": "request", "execution": {"url": URL, **execution}}


CONFIG = config(
    request(
        headers={
            "Authorization": "Bearer sk-1",
            "X-Api-Key": "sk-2",
            "Accept": "text/plain",
            "Cookie": "s=sk-3",
        },
        query={"api_key": "sk-4", "page": "1"},
        body={"login": {"password": "sk-5", "user": "ann"}, "list": [{"client_secret": "sk-6"}]},
    ),
    {
        "name": "b",
        "executionType": "ai-agent",
        "execution": {
            "agentConfig": {
                "model": {"name": "openai:x", "apiKey": "sk-7"},
                "tools": [request(headers={"x-auth-token": "sk-8"})],
            }
        },
    },
    model={"name": "openai:x", "apiKey": "sk-9"},
    mcp={"servers": [{"name": "m", "url": URL, "headers": {"Authorization": "Bearer sk-10"}}]},
)
PLACES = {
    "tools[0].execution.headers.Authorization",
    "tools[0].execution.headers.X-Api-Key",
    "tools[0].execution.headers.Cookie",
    "tools[0].execution.query.api_key",
    "tools[0].execution.body.login.password",
    "tools[0].execution.body.list[0].client_secret",
    "tools[1].execution.agentConfig.model.apiKey",
    "tools[1].execution.agentConfig.tools[0].execution.headers.x-auth-token",
    "model.apiKey",
    "mcp.servers[0].headers.Authorization",
}


def test_every_literal_secret_is_found_sealed_and_opened() -> None:
    before = copy.deepcopy(CONFIG)
    assert set(find_literal_secrets(CONFIG)) == PLACES
    sealed = seal_secrets(CONFIG, turned)
    assert before == CONFIG
    assert "sk-" not in str(sealed)
    assert find_literal_secrets(sealed) == []
    assert set(find_sealed(sealed)) == PLACES
    assert sealed["model"]["apiKey"] == "sealed:9-ks"
    assert open_secrets(sealed, turned) == CONFIG
    assert seal_secrets(sealed, turned) == sealed
    assert configure(sealed).model.api_key == "sealed:9-ks"


def test_a_webhook_secret_is_one() -> None:
    hook = {"name": "b", "executionType": "external", "execution": {"url": URL, "secret": "sk-1"}}
    assert find_literal_secrets(config(hook)) == ["tools[0].execution.secret"]


@pytest.mark.parametrize(
    "value",
    ["${env.KEY}", "Bearer ${env.KEY}", "Basic {{input.login}}", "{{token}}", "", "Bearer ", "sealed:abc"],
)
def test_a_reference_or_an_argument_is_no_secret(value: str) -> None:
    assert find_literal_secrets(config(request(headers={"Authorization": value}))) == []


def test_words_elsewhere_are_no_secrets() -> None:
    harmless = config(
        {
            **request(
                headers={"Accept": "x", "Idempotency-Key": "{{id}}"}, body={"token": "usd", "key": "a"}
            ),
            "inputSchema": {
                "properties": {"password": {"type": "string", "default": "x"}, "headers": {"type": "object"}}
            },
            "resultSchema": {"properties": {"apiKey": {"const": "x"}}},
        },
        {"name": "c", "executionType": "basic", "execution": {"mode": "static", "output": {"secret": "x"}}},
        instructions="The password is swordfish.",
    )
    assert find_literal_secrets(harmless) == []


def test_a_sealed_word_is_opened_only_where_a_secret_may_stand() -> None:
    given = config(instructions="sealed:9-ks", model={"name": "sealed:a", "apiKey": "sealed:9-ks"})
    opened = open_secrets(given, turned)
    assert (opened["instructions"], opened["model"]) == (
        "sealed:9-ks",
        {"name": "sealed:a", "apiKey": "sk-9"},
    )
    assert set(find_sealed(given)) == {"instructions", "model.name", "model.apiKey"}
    assert open_secret("sealed:ba", turned) == "ab"
    assert open_secret("ab", turned) == "ab"
    assert open_secret(None, turned) is None


def test_secrets_are_left_out_whether_sealed_or_not_and_references_stay() -> None:
    sealed = seal_secrets(CONFIG, turned)
    bare = leave_out_secrets(CONFIG, "${env.GONE}")
    assert leave_out_secrets(sealed, "${env.GONE}") == bare
    assert find_literal_secrets(bare) == []
    assert "sk-" not in str(bare)
    assert str(bare).count("${env.GONE}") == len(PLACES)
    reference = config(request(headers={"X-Api-Key": "${env.KEY}", "Accept": "text/plain"}))
    assert leave_out_secrets(reference, "${env.GONE}") == reference
    assert leave_out_secrets({"instructions": "sealed:abc"}, "gone") == {"instructions": "gone"}
