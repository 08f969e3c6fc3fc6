"""A Roomful as an MCP server, driven by the official client of both eras."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from mcp_types import TextResourceContents

from tests.http.mcp_scene import scene
from tests.http.test_approvals import ARGS, PAY
from tests.http.test_waiting import FORM
from tests.servers.fake_openai import Answer, FakeOpenAI, call, hold, text
from tests.servers.mcp_guest import ERAS, text_of
from tests.servers.roomful import Roomful

TOOLS = {
    "list_spaces",
    "read_messages",
    "search_messages",
    "post_message",
    "wait_for_runs",
    "stop_run",
    "list_cards",
    "answer_card",
}


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Roomful]:
    with Roomful(tmp_path_factory.mktemp("house")) as house:
        yield house


@pytest.fixture(params=ERAS)
def era(request: pytest.FixtureRequest) -> str:
    return request.param


@pytest.mark.parametrize("mode", [*ERAS, "auto"])
def test_the_tools_are_few_and_strict(house: Roomful, model: FakeOpenAI, mode: str) -> None:
    play = scene(house, model, mode)

    async def look(client: Any) -> Any:
        return client.session.protocol_version, (await client.list_tools()).tools

    version, tools = play.guest().ask(look)
    assert version == ("2025-11-25" if mode == "legacy" else "2026-07-28")
    assert {tool.name for tool in tools} == TOOLS
    reading = {tool.name for tool in tools if tool.annotations.read_only_hint}
    assert reading == TOOLS - {"post_message", "stop_run", "answer_card"}
    for tool in tools:
        assert tool.description
        assert tool.input_schema["type"] == tool.output_schema["type"] == "object"
        assert tool.input_schema["additionalProperties"] is False


def test_it_is_as_the_document_says(
    house: Roomful, model: FakeOpenAI, capsys: pytest.CaptureFixture[str]
) -> None:
    document = (Path(__file__).parents[2] / "docs/clients/mcp.md").read_text()
    play = scene(house, model, "auto")
    model.answer(Answer(text("1299 dollars.")))
    [program] = re.findall(r"```python\n(.*?)```", document, re.DOTALL)
    for shown, here in [("http://127.0.0.1:8000", house.url), ("TOKEN", play.ada.token), ("team", play.room)]:
        assert shown in program
        program = program.replace(shown, here)
    exec(program, {})
    assert "1299 dollars." in capsys.readouterr().out
    assert set(re.findall(r"^\| `(\w+)` \|", document, re.MULTILINE)) == TOOLS


def test_my_spaces_and_who_is_in_them(house: Roomful, model: FakeOpenAI, era: str) -> None:
    play = scene(house, model, era, others=("idle",))
    play.grace.say(play.room, "hello")
    result = play.guest().call("list_spaces")
    idle = play.agent.replace("bot", "idle")
    people = [
        {"entityId": play.agent, "name": play.agent.title(), "kind": "agent", "role": "member"},
        {"entityId": idle, "name": idle.title(), "kind": "agent", "role": "member"},
        {"entityId": play.ada.id, "name": "Ada", "kind": "human", "role": "member"},
        {"entityId": play.grace.id, "name": "Grace", "kind": "human", "role": "owner"},
    ]
    assert result.structured_content == {
        "spaces": [
            {
                "id": play.room,
                "name": play.room.title(),
                "members": people,
                "memberCount": 4,
                "role": "member",
                "unread": 1,
                "lastSeq": 1,
            }
        ],
        "hasMore": False,
    }
    assert f"spaceId {play.room}, 1 unread" in text_of(result)
    assert f"{play.agent}, an agent" in text_of(result)


def test_what_is_posted_is_read_there_and_over_rest(house: Roomful, model: FakeOpenAI, era: str) -> None:
    play = scene(house, model, era, others=("idle",))
    first = play.grace.say(play.room, "one")["message"]
    asked = {"spaceId": play.room, "text": "two", "mentions": [play.grace.id], "replyTo": first["id"]}
    posted = play.guest().data("post_message", **asked)
    read = play.guest().call("read_messages", spaceId=play.room)
    assert (posted["runs"], posted["isOver"]) == ([], True)
    assert posted["message"]["replyTo"] == first["id"]
    assert posted["message"]["mentions"] == [play.grace.id]
    assert read.structured_content == {"messages": play.ada.messages(play.room), "hasMore": False}
    assert read.structured_content["messages"][1] == posted["message"]
    head = f"[2] Ada ({play.ada.id}) at {posted['message']['createdAt']}, {posted['message']['id']}"
    assert text_of(read).splitlines()[1:] == ["  one", f"{head}, in reply to {first['id']}:", "  two"]
    older = play.guest().data("read_messages", spaceId=play.room, before=2)
    newer = play.guest().data("read_messages", spaceId=play.room, after=1)
    assert [older["messages"], newer["messages"]] == [[first], [posted["message"]]]


def test_the_same_client_message_id_posts_once_over_both_doors(
    house: Roomful, model: FakeOpenAI, era: str
) -> None:
    play = scene(house, model, era, others=("idle",))
    sent = {"text": "once", "clientMessageId": "a", "mentions": [play.grace.id]}
    first = play.guest().data("post_message", spaceId=play.room, **sent)
    again = play.guest().data("post_message", spaceId=play.room, **sent)
    over_rest = play.ada.post(f"/api/spaces/{play.room}/messages", sent, expect=201)
    other = play.guest().refused("post_message", spaceId=play.room, **sent | {"text": "twice"})
    assert (first["replayed"], again["replayed"], other["code"]) == (False, True, "conflict")
    assert first["message"] == again["message"] == over_rest["message"]
    assert len(play.ada.messages(play.room)) == 1


def test_one_posts_and_waits_for_the_reply(house: Roomful, model: FakeOpenAI, era: str) -> None:
    play = scene(house, model, era)
    model.answer(Answer(text("Fine, thank you.")))
    guest = play.guest()
    result = guest.call("post_message", spaceId=play.room, text="How are you?", waitSeconds=30)
    outcome = result.structured_content
    assert [run["status"] for run in outcome["runs"]] == ["completed"]
    assert outcome["messages"] == play.ada.messages(play.room)[1:]
    assert outcome["messages"][0]["parts"][0]["text"] == "Fine, thank you."
    assert "  Fine, thank you." in text_of(result).splitlines()
    assert [progress for progress, _ in guest.progress] == [
        float(number + 1) for number in range(len(guest.progress))
    ]
    assert guest.progress[-1][1] == f"{play.agent} is completed"


def test_one_waits_again_when_the_time_was_up(house: Roomful, model: FakeOpenAI, era: str) -> None:
    play = scene(house, model, era)
    model.answer(Answer([hold(), *text("At last.")]))
    posted = play.guest().data("post_message", spaceId=play.room, text="Take your time")
    [run] = posted["runs"]
    asked = {"spaceId": play.room, "runIds": [run["runId"]]}
    early = play.guest().data("wait_for_runs", **asked, timeoutSeconds=0)
    assert (early["isOver"], early["messages"]) == (False, [])
    model.release()
    late = play.guest().data("wait_for_runs", **asked, timeoutSeconds=30)
    assert (late["isOver"], late["runs"][0]["status"]) == (True, "completed")
    assert late["messages"][0]["parts"][0]["text"] == "At last."


def test_a_client_that_goes_away_leaves_the_run_at_work(house: Roomful, model: FakeOpenAI) -> None:
    play = scene(house, model, "legacy")
    model.answer(Answer([hold(), *text("Said to nobody.")]))
    arguments = {"spaceId": play.room, "text": "go", "waitSeconds": 300}
    params = {"name": "post_message", "arguments": arguments, "_meta": {"progressToken": 1}}
    headers = {"authorization": f"Bearer {play.ada.token}", "accept": "application/json, text/event-stream"}
    with (
        play.ada.listen(play.room) as listener,
        httpx.Client(timeout=30) as client,
        client.stream(
            "POST",
            f"{house.url}/mcp",
            headers=headers,
            json={"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params},
        ) as stream,
    ):
        assert stream.headers["content-type"] == "text/event-stream"
        model.wait_for_requests(1)
        stream.close()
        model.release()
        listener.wait_for("run.completed")
    assert play.ada.messages(play.room)[-1]["parts"][0]["text"] == "Said to nobody."


def test_a_call_is_approved_with_other_arguments_and_only_once(
    house: Roomful, model: FakeOpenAI, era: str
) -> None:
    play = scene(house, model, era, {**PAY, "approval": {"approvers": {"roles": ["owner"]}}})
    run_id, card = play.waiting("pay", ARGS)
    [message] = [one for one in play.ada.messages(play.room) if one["entityId"] == play.agent]
    assert card == {
        "spaceId": play.room,
        "messageId": message["id"],
        "runId": run_id,
        "callId": message["parts"][0]["toolCallId"],
        "agentId": play.agent,
        "kind": "approval",
        "toolName": "pay",
        "answerableBy": ["every owner"],
        "args": ARGS,
    }
    assert play.guest().data("list_cards") == {"cards": [card], "hasMore": False}
    answer = {"runId": run_id, "callId": card["callId"]}
    member = play.guest().refused("answer_card", **answer, approved=True)
    assert (member["code"], "every owner" in member["detail"]) == ("forbidden", True)
    owner = play.guest(play.grace)
    assert owner.refused("answer_card", **answer, approved=True, args={"amount": "lots"})["code"] == "invalid"
    assert owner.refused("answer_card", **answer, approved=True, result=1)["code"] == "invalid"
    assert owner.refused("answer_card", **answer, reason="no")["code"] == "invalid"
    assert owner.refused("answer_card", **answer)["code"] == "invalid"
    other = {"amount": 5, "to": "ACME"}
    assert owner.data("answer_card", **answer, approved=True, args=other)["status"] == "accepted"
    part = play.finished(run_id)[0]["parts"][0]
    assert (part["args"], part["result"], part["answeredBy"]) == (other, other, play.grace.id)
    late = owner.call("answer_card", **answer, approved=False, reason="too late")
    assert late.is_error
    assert late.structured_content["code"] == "conflict"
    assert late.structured_content["outcome"]["answeredBy"] == play.grace.id
    assert f'"answeredBy":"{play.grace.id}"' in text_of(late)
    assert play.guest().data("list_cards")["cards"] == []


def test_a_refusal_says_why(house: Roomful, model: FakeOpenAI, era: str) -> None:
    play = scene(house, model, era, PAY)
    run_id, card = play.waiting("pay", ARGS)
    answer = {"runId": run_id, "callId": card["callId"]}
    play.guest().data("answer_card", **answer, approved=False, reason="too much")
    part = play.finished(run_id)[0]["parts"][0]
    assert (part["status"], part["error"]) == ("error", f"{play.ada.id} did not approve this call: too much")


def test_a_form_is_filled_in_as_its_schema_says(house: Roomful, model: FakeOpenAI, era: str) -> None:
    schema = {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}
    play = scene(house, model, era, {**FORM, "resultSchema": schema})
    run_id, card = play.waiting("form", {"q": "Your name?"})
    assert (card["kind"], card["args"], card["resultSchema"]) == ("answer", {"q": "Your name?"}, schema)
    answer = {"runId": run_id, "callId": card["callId"]}
    assert play.guest().refused("answer_card", **answer, result={"name": 7})["code"] == "invalid"
    play.guest().data("answer_card", **answer, result={"name": "Ada"})
    assert play.finished(run_id)[0]["parts"][0]["result"] == {"name": "Ada"}
    assert json.loads(model.requests[1].messages[-1]["content"]) == {"name": "Ada"}


def test_a_poll_is_voted_in_and_closed(house: Roomful, model: FakeOpenAI, era: str) -> None:
    poll = {**FORM, "execution": {"mode": "no-execution", "answers": "each"}}
    play = scene(house, model, era, {**poll, "approvers": {"roles": ["owner"]}})
    run_id, card = play.waiting("form", {"q": "Pizza?"})
    answer = {"runId": run_id, "callId": card["callId"]}
    assert card["kind"] == "poll"
    for who, word in [(play.ada, "no"), (play.grace, "yes"), (play.ada, "yes")]:
        play.guest(who).data("answer_card", **answer, result=word)
    [card] = play.guest().data("list_cards", spaceId=play.room)["cards"]
    cast = {one["entityId"]: one["result"] for one in card["answers"]}
    assert cast == {play.ada.id: "yes", play.grace.id: "yes"}
    assert play.guest().refused("answer_card", **answer, close=True)["code"] == "forbidden"
    play.guest(play.grace).data("answer_card", **answer, close=True)
    assert len(play.finished(run_id)[0]["parts"][0]["answers"]) == 2


def test_a_card_that_nobody_waits_for_is_listed_too(house: Roomful, model: FakeOpenAI, era: str) -> None:
    play = scene(house, model, era, {**FORM, "execution": {"mode": "no-execution", "wait": False}})
    model.answer(Answer(call("form", {"q": "Later?"})), Answer(text("I go on.")))
    posted = play.guest().data("post_message", spaceId=play.room, text="go", waitSeconds=30)
    assert [run["status"] for run in posted["runs"]] == ["completed"]
    [card] = play.guest().data("list_cards")["cards"]
    model.answer(Answer(text("I heard.")))
    play.guest().data("answer_card", runId=card["runId"], callId=card["callId"], result="yes")
    assert play.guest().data("list_cards")["cards"] == []


def test_a_card_that_a_run_waits_for_is_listed_however_old_it_is(house: Roomful, model: FakeOpenAI) -> None:
    play = scene(house, model, "2026-07-28", PAY, others=("idle",))
    model.answer(Answer(call("pay", ARGS)))
    asked = {"spaceId": play.room, "text": "go", "mentions": [play.agent], "waitSeconds": 30}
    [card] = play.guest().data("post_message", **asked)["cards"]
    for number in range(51):
        play.grace.say(play.room, f"number {number}")
    assert play.guest().data("list_cards")["cards"] == [card]


def test_a_run_is_stopped_for_good(house: Roomful, model: FakeOpenAI, era: str) -> None:
    play = scene(house, model, era, PAY)
    run_id, _ = play.waiting("pay", ARGS)
    stopped = play.guest().data("stop_run", runId=run_id)
    assert stopped == {"runId": run_id, "agentId": play.agent, "status": "canceled"}
    assert play.guest().data("list_cards")["cards"] == []


def test_words_are_found_in_my_spaces_alone(house: Roomful, model: FakeOpenAI, era: str) -> None:
    play = scene(house, model, era, others=("idle",))
    other = house.space(f"{play.room}-other", play.grace.id)
    said = play.grace.say(play.room, f"needle{play.room}")["message"]
    play.grace.say(other, f"needle{play.room}")
    found = play.guest().data("search_messages", query=f"needle{play.room}")
    both = play.guest(play.grace).data("search_messages", query=f"needle{play.room}")
    assert found == {"results": [{"spaceId": play.room, "message": said}]}
    assert {hit["spaceId"] for hit in both["results"]} == {play.room, other}


def test_spaces_and_messages_are_resources(house: Roomful, model: FakeOpenAI, era: str) -> None:
    play = scene(house, model, era, others=("idle",))
    said = play.grace.say(play.room, "hello")["message"]
    guest, uri = play.guest(), f"roomful://spaces/{play.room}"
    [resource] = guest.ask(lambda client: client.list_resources()).resources
    assert (resource.uri, resource.name, resource.mime_type) == (uri, play.room, "text/plain")
    templates = guest.ask(lambda client: client.list_resource_templates()).resource_templates
    assert [template.uri_template for template in templates] == [
        "roomful://spaces/{spaceId}",
        "roomful://spaces/{spaceId}/messages/{messageId}",
    ]
    [space] = guest.ask(lambda client: client.read_resource(uri)).contents
    [message] = guest.ask(lambda client: client.read_resource(f"{uri}/messages/{said['id']}")).contents
    assert isinstance(space, TextResourceContents)
    assert isinstance(message, TextResourceContents)
    assert space.text == text_of(guest.call("read_messages", spaceId=play.room))
    assert json.loads(message.text) == said
