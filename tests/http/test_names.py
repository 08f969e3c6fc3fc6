"""Agents and spaces share one set of ids."""

from concurrent.futures import ThreadPoolExecutor
from typing import Any

from tests.requirements import requirement
from tests.servers.roomful import Roomful


def agent(id: str) -> dict[str, Any]:
    return {"id": id, "name": id.title(), "model": "scripted:hello", "instructions": "Be kind."}


@requirement("B-09")
def test_an_agent_may_not_take_the_id_of_a_space_nor_a_space_that_of_an_agent(house: Roomful) -> None:
    ada = house.person("ada")
    house.space("room")
    ada.post("/api/agents", agent("helper"), expect=201)
    outside = {"id": "visitor", "name": "Visitor", "kind": "agent"}
    house.admin.post("/api/entities", outside, expect=201)

    refused = ada.post("/api/agents", agent("room"), expect=409)
    assert refused["detail"] == "There is a space room already, and an agent may not have its id."
    refused = house.admin.post("/api/entities", outside | {"id": "room"}, expect=409)
    assert refused["detail"] == "There is a space room already, and an agent may not have its id."
    for taken in ("helper", "visitor"):
        refused = ada.post("/api/spaces", {"id": taken, "name": "Room"}, expect=409)
        assert refused["detail"] == f"There is an agent {taken} already, and a space may not have its id."
    ada.post("/api/spaces", {"id": "ada", "name": "A person's id is free"}, expect=201)


@requirement("B-09")
def test_of_an_agent_and_a_space_that_race_for_an_id_one_gets_it(house: Roomful) -> None:
    ada = house.person("ada")
    with ThreadPoolExecutor(2) as pool:
        for number in range(10):
            id = f"id{number}"
            made = pool.submit(ada.request, "POST", "/api/agents", agent(id))
            opened = pool.submit(ada.request, "POST", "/api/spaces", {"id": id, "name": id})
            assert sorted([made.result().status_code, opened.result().status_code]) == [201, 409]
