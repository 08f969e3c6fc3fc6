"""The chat face of a space, asked without a server."""

from typing import Any

import pytest

from roomful.domain.changes import AddMessage
from roomful.domain.messages import Message, ToolCallPart
from roomful.domain.trails import Child, ChildCall
from tests.web.visiting import Visit, story


def delegating(count: int) -> Message:
    call = ChildCall(tool_call_id="c", tool_name="search", status="complete", args={}, result=1)
    child = Child(run_id=None, agent_id="research", name="Research", status="completed", calls=[call])
    parts = [
        ToolCallPart(id=f"prt_{n}", tool_call_id=f"call_{n}", tool_name="ask", status="complete", child=child)
        for n in range(count)
    ]
    return Message(
        id="msg_1",
        space_id="team",
        entity_id="ada",
        seq=0,
        status="final",
        role="assistant",
        parts=[*parts],
        created_at="2026-01-01T00:00:00.000Z",
        updated_at="2026-01-01T00:00:00.000Z",
    )


async def reads(house: Visit, token: str, monkeypatch: pytest.MonkeyPatch) -> tuple[int, Any]:
    store: Any = house.house.store
    asked: list[str] = []
    rows = store._reader.rows

    async def counted(sql: str, *given: Any, **more: Any) -> Any:
        asked.append(sql)
        return await rows(sql, *given, **more)

    with monkeypatch.context() as patched:
        patched.setattr(store._reader, "rows", counted)
        answer = await house.ask("GET", "/api/chat?threadId=team", token=token)
    return len(asked), answer.json


@story()
async def test_the_number_of_reads_is_that_of_a_page_without_delegations(house: Visit) -> None:
    ada = await house.person("ada")
    await house.space("team", ada="owner")
    with pytest.MonkeyPatch.context() as monkeypatch:
        await reads(house, ada, monkeypatch)
        before, nothing = await reads(house, ada, monkeypatch)
        await house.house.store.commit([AddMessage(delegating(40))])
        after, [message] = await reads(house, ada, monkeypatch)

    assert nothing == []
    assert len(message["parts"]) == 80
    assert before == after > 0
