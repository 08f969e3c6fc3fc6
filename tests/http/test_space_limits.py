"""Nobody posts a space full: its members together have a rate, and others cannot use it up."""

from pathlib import Path

import pytest

from roomful.settings import check_settings
from tests.servers.inhouse import InHouse
from tests.servers.roomful import Roomful


def test_a_space_takes_so_many_posts_a_second_from_all_together(tmp_path: Path) -> None:
    with InHouse(tmp_path, limit_space_posts=3) as house:
        ada, bob, eve = house.person("ada"), house.person("bob"), house.person("eve")
        house.space("room", "ada", "bob")
        house.space("other", "ada")
        house.clock.stop()
        for _ in range(5):
            path = "/api/spaces/room/messages"
            assert eve.request("POST", path, {"text": "let me in"}).status_code == 404
        once = {"text": "hi", "clientMessageId": "c1"}
        statuses = [
            who.request("POST", "/api/spaces/room/messages", body).status_code
            for who, body in [
                (ada, once),
                (ada, once),
                (bob, {"text": "hi"}),
                (ada, {"text": "hi"}),
                (bob, {"text": "too much"}),
            ]
        ]
        refused = ada.request("POST", "/api/spaces/room/messages", {"text": "too much"})
        elsewhere = ada.request("POST", "/api/spaces/other/messages", {"text": "hi"})

        assert statuses == [201, 201, 201, 201, 429]
        assert (refused.status_code, refused.headers["retry-after"]) == (429, "1")
        assert "in this space" in refused.json()["detail"]
        assert elsewhere.status_code == 201
        assert len(ada.messages("room")) == 3
        house.clock.move(seconds=1)
        assert ada.request("POST", "/api/spaces/room/messages", {"text": "hi"}).status_code == 201


def test_answers_uploads_and_searches_count_for_a_token(tmp_path: Path) -> None:
    with InHouse(tmp_path, limit_posts=2) as house:
        ada, bob = house.person("ada"), house.person("bob")
        house.space("room", "ada", "bob")
        house.clock.stop()
        asked = [
            ada.request("GET", "/api/search", params={"q": "hi"}),
            ada.request("POST", "/api/blobs", b"abc", headers={"content-type": "text/plain"}),
            ada.request("GET", "/api/search", params={"q": "hi"}),
            ada.request("POST", "/api/blobs", b"abc", headers={"content-type": "text/plain"}),
        ]

        assert [answer.status_code for answer in asked] == [200, 201, 429, 429]
        assert all(answer.headers["retry-after"] == "1" for answer in asked[2:])
        assert bob.request("GET", "/api/search", params={"q": "hi"}).status_code == 200


def test_where_a_request_comes_from_is_believed_of_known_proxies_only(tmp_path: Path) -> None:
    def guesses(house: Roomful) -> list[int]:
        return [
            house.client.get(
                f"{house.url}/api/spaces",
                headers={"authorization": "Bearer wrong", "x-forwarded-for": f"192.0.2.{number}"},
            ).status_code
            for number in range(3)
        ]

    for proxies, statuses in {"127.0.0.1": [401, 401, 401], "192.0.2.99": [401, 429, 429]}.items():
        folder = tmp_path / proxies
        folder.mkdir()
        limits = {"ROOMFUL_PROXIES": proxies, "ROOMFUL_LIMIT_WRONG_TOKENS": "1"}
        with Roomful(folder, **limits) as house:
            assert guesses(house) == statuses


@pytest.mark.parametrize(
    ("said", "posts"),
    [({}, 100), ({"limit_posts": 0}, 0), ({"limit_posts": 7}, 35), ({"limit_space_posts": 3}, 3)],
)
def test_what_is_not_said_of_a_space_follows_from_what_one_may_post(said: dict[str, int], posts: int) -> None:
    assert check_settings(said).space_posts == posts
