"""What is removed leaves nobody at work for it, however many there are."""

import pytest

from roomful.domain.changes import AddEntity, PutAgent, PutMember
from roomful.domain.ports import ALL
from roomful.domain.run_changes import AddRun
from roomful.domain.runs import ACTIVE, Run, Trigger
from tests.store.things import agent, entity
from tests.web.visiting import ADMIN_KEY, Visit, story

MANY = 101


@pytest.mark.parametrize("path", ["/api/agents/bot", "/api/spaces/room"])
@story()
async def test_every_run_is_stopped_first(house: Visit, path: str) -> None:
    store = house.house.store
    await house.space("room")
    await store.commit(
        [AddEntity(entity("bot", kind="agent")), PutAgent(agent("bot")), PutMember("room", "bot", "member")]
    )
    runs = [
        Run(
            id=f"run_{number}",
            agent_id="bot",
            status="waiting_tool",
            trigger=Trigger(type="message", space_id="room"),
            root_run_id=f"run_{number}",
            created_at=house.house.clock.iso(),
            shown_in=["room"],
        )
        for number in range(MANY)
    ]
    await store.commit([AddRun(run) for run in runs])

    assert (await house.ask("DELETE", path, token=ADMIN_KEY)).status == 204
    assert await store.runs(statuses=ACTIVE, limit=ALL) == []
    assert len(await store.runs(statuses=("canceled",), limit=ALL)) == MANY
