"""A thing that two change, delete or erase at the same time: one of them is first, and it stays so."""

from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from tests.web.test_talk import MESSAGES, furnish
from tests.web.visiting import ADMIN_KEY, Answer, Visit, story


def meanwhile(
    house: Visit, monkeypatch: pytest.MonkeyPatch, step: str, do: Callable[[], Awaitable[Answer]]
) -> list[Answer]:
    """Right before the next request takes this step at the store, somebody else does something."""
    store, done = house.house.store, list[Answer]()

    async def wait(*given: Any) -> Any:
        monkeypatch.undo()
        done.append(await do())
        return await getattr(store, step)(*given)

    monkeypatch.setattr(store, step, wait)
    return done


@story()
async def test_a_change_does_not_bring_back_what_was_deleted_meanwhile(
    house: Visit, monkeypatch: pytest.MonkeyPatch
) -> None:
    ada, bob = await furnish(house)
    said = (await house.ask("POST", MESSAGES, {"text": "oh"}, token=ada)).json["message"]
    path = f"{MESSAGES}/{said['id']}"
    done = meanwhile(house, monkeypatch, "commit", lambda: house.ask("DELETE", path, token=ada))
    changed = await house.ask("PATCH", path, {"text": "oh no"}, token=ada)
    found = (await house.ask("GET", path, token=bob)).json

    assert (changed.status, [one.status for one in done]) == (409, [204])
    assert (found["deleted"], found["parts"]) == (True, [])


@story()
async def test_what_is_changed_meanwhile_is_deleted_all_the_same(
    house: Visit, monkeypatch: pytest.MonkeyPatch
) -> None:
    ada, bob = await furnish(house)
    said = (await house.ask("POST", MESSAGES, {"text": "oh"}, token=ada)).json["message"]
    path = f"{MESSAGES}/{said['id']}"
    done = meanwhile(
        house, monkeypatch, "commit", lambda: house.ask("PATCH", path, {"text": "oh no"}, token=ada)
    )
    deleted = await house.ask("DELETE", path, token=ada)
    found = (await house.ask("GET", path, token=bob)).json

    assert (deleted.status, [one.status for one in done]) == (204, [200])
    assert (found["deleted"], found["parts"]) == (True, [])


@story()
async def test_of_two_changes_at_once_one_is_refused(house: Visit, monkeypatch: pytest.MonkeyPatch) -> None:
    ada, bob = await furnish(house)
    said = (await house.ask("POST", MESSAGES, {"text": "oh"}, token=ada)).json["message"]
    path = f"{MESSAGES}/{said['id']}"
    done = meanwhile(
        house, monkeypatch, "commit", lambda: house.ask("PATCH", path, {"text": "first"}, token=ada)
    )
    changed = await house.ask("PATCH", path, {"text": "second"}, token=ada)
    found = (await house.ask("GET", path, token=bob)).json

    assert (changed.status, [one.status for one in done]) == (409, [200])
    assert found == done[0].json


@pytest.mark.parametrize(("step", "status"), [("message", 404), ("commit", 409)])
@story()
async def test_a_change_brings_no_words_of_an_erased_person_back(
    house: Visit, monkeypatch: pytest.MonkeyPatch, step: str, status: int
) -> None:
    ada, bob = await furnish(house)
    said = (await house.ask("POST", MESSAGES, {"text": "my secret"}, token=bob)).json["message"]
    path = f"{MESSAGES}/{said['id']}"
    bobs = "/api/entities/bob"
    done = meanwhile(house, monkeypatch, step, lambda: house.ask("DELETE", bobs, token=ADMIN_KEY))
    changed = await house.ask("PATCH", path, {"text": "my other secret"}, token=bob)
    found = await house.ask("GET", path, token=ada)

    assert (changed.status, [one.status for one in done]) == (status, [204])
    assert [part["text"] for part in found.json["parts"]] == [""]


SPACE = "/api/spaces/room"


@story()
async def test_who_renames_a_space_does_not_take_back_that_it_is_guarded_now(
    house: Visit, monkeypatch: pytest.MonkeyPatch
) -> None:
    ada, _ = await furnish(house)
    done = meanwhile(
        house, monkeypatch, "commit", lambda: house.ask("PATCH", SPACE, {"flow": "guarded"}, token=ada)
    )
    renamed = await house.ask("PATCH", SPACE, {"name": "New"}, token=ada)
    found = (await house.ask("GET", SPACE, token=ada)).json

    assert (renamed.status, [one.status for one in done]) == (200, [200])
    assert (found["name"], found["flow"]) == ("New", "guarded")
    assert found == renamed.json


@story()
async def test_whoever_owns_a_space_no_more_does_not_change_it(
    house: Visit, monkeypatch: pytest.MonkeyPatch
) -> None:
    ada, bob = await furnish(house)
    members = f"{SPACE}/members"

    async def take_over() -> Answer:
        await house.ask("PATCH", SPACE, {"flow": "guarded"}, token=ada)
        await house.ask("POST", members, {"entityId": "bob", "role": "owner"}, token=ada)
        return await house.ask("POST", members, {"entityId": "ada", "role": "member"}, token=bob)

    done = meanwhile(house, monkeypatch, "commit", take_over)
    renamed = await house.ask("PATCH", SPACE, {"name": "New"}, token=ada)

    assert (renamed.status, [one.status for one in done]) == (403, [200])


@story()
async def test_who_never_is_first_is_told_so(house: Visit, monkeypatch: pytest.MonkeyPatch) -> None:
    ada, _ = await furnish(house)
    store, names = house.house.store, list[str]()
    commit = store.commit

    async def wait(changes: Any) -> Any:
        monkeypatch.setattr(store, "commit", commit)
        names.append(f"Other {len(names)}")
        await house.ask("PATCH", SPACE, {"name": names[-1]}, token=ada)
        monkeypatch.setattr(store, "commit", wait)
        return await commit(changes)

    monkeypatch.setattr(store, "commit", wait)
    refused = await house.ask("PATCH", SPACE, {"wake": "all"}, token=ada)
    monkeypatch.undo()
    found = (await house.ask("GET", SPACE, token=ada)).json

    assert refused.status == 409
    assert (found["name"], found["wake"]) == (names[-1], "none")
