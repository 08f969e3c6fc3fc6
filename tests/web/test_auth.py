"""Who is asking is found out in one way, and nothing but a valid token helps."""

import asyncio
import dataclasses
import hashlib
import logging

import pytest
from starlette.datastructures import Headers

from roomful.domain.changes import RevokeTokens
from roomful.domain.entities import Token
from roomful.domain.errors import Unauthorized
from roomful.web.auth import Credential, check_host, extract
from roomful.web.bodies import BODY_LIMIT
from roomful.web.limits import Limits
from tests.store.things import HandClock
from tests.web.visiting import ADMIN_KEY, Answer, Visit, story

OWN_PAGE = {"origin": "http://127.0.0.1:8000"}


def headers(*pairs: tuple[str, str]) -> Headers:
    return Headers(raw=[(name.encode(), value.encode()) for name, value in pairs])


def digest(token: str) -> bytes:
    return hashlib.sha256(token.encode()).digest()


def test_a_bearer_token_is_found_whatever_the_case_of_its_scheme() -> None:
    assert extract(headers(("authorization", "bearer abc"))) == Credential(digest("abc"))


def test_a_cookie_is_found_among_others() -> None:
    found = extract(headers(("cookie", "a=b; roomful_session=abc; c=d")))

    assert found == Credential(digest("abc"), by_cookie=True)


def test_the_header_counts_more_than_the_cookie() -> None:
    found = extract(headers(("cookie", "roomful_session=abc"), ("authorization", "Bearer def")))

    assert found == Credential(digest("def"))


def test_nothing_is_nobody() -> None:
    assert extract(headers(("cookie", "a=b"))) is None


@pytest.mark.parametrize(
    "given",
    [
        pytest.param([("authorization", "Basic YWRh")], id="another scheme"),
        pytest.param([("authorization", "Bearer")], id="no token"),
        pytest.param([("authorization", "Bearer a"), ("authorization", "Bearer b")], id="two headers"),
        pytest.param([("cookie", "roomful_session=a"), ("cookie", "roomful_session=b")], id="two cookies"),
    ],
)
def test_what_is_unclear_is_refused(given: list[tuple[str, str]]) -> None:
    with pytest.raises(Unauthorized):
        extract(headers(*given))


@pytest.mark.parametrize(
    ("host", "is_ours"),
    [
        ("localhost", True),
        ("LocalHost:8000", True),
        ("localhost.", True),
        ("127.0.0.1:9", True),
        ("[::1]:8000", True),
        ("evil.example", False),
        ("localhost.evil.example", False),
        ("evil.example:localhost", False),
        ("", False),
    ],
)
def test_a_host_is_known_by_its_name(host: str, is_ours: bool) -> None:
    assert check_host(headers(("host", host)), frozenset({"localhost", "127.0.0.1", "::1"})) == is_ours


@story()
async def test_a_name_that_is_not_ours_gets_nothing(house: Visit) -> None:
    for path in ("/healthz", "/", "/nowhere", "/api/spaces"):
        answer = await house.ask("GET", path, token=ADMIN_KEY, headers={"host": "rebound.example"})
        assert (answer.status, answer.json["code"]) == (421, "invalid")


@story()
async def test_a_wrong_token_and_no_token_are_refused(house: Visit) -> None:
    nobody = await house.ask("GET", "/api/spaces")
    stranger = await house.ask("GET", "/api/spaces", token="wrong")

    assert (nobody.status, stranger.status) == (401, 401)
    assert nobody.headers["www-authenticate"].startswith("Bearer")


@pytest.mark.parametrize("name", ["token", "access_token", "api_key", "Authorization"])
@story()
async def test_a_token_in_an_address_is_refused_and_not_repeated(house: Visit, name: str) -> None:
    ada = await house.person("ada")
    answer = await house.ask("GET", f"/api/spaces?{name}={ada}")

    assert answer.status == 401
    assert "logs" in answer.json["detail"]
    assert ada not in answer.body.decode()


@story()
async def test_the_admin_key_acts_for_somebody_by_name(house: Visit) -> None:
    ada = await house.person("ada")
    me = await house.ask("GET", "/api/session", token=ADMIN_KEY, headers={"x-roomful-as": "ada"})
    nobody = await house.ask("GET", "/api/session", token=ADMIN_KEY)
    unknown = await house.ask("GET", "/api/session", token=ADMIN_KEY, headers={"x-roomful-as": "eve"})
    by_ada = await house.ask("GET", "/api/session", token=ada, headers={"x-roomful-as": "ada"})

    assert me.json["id"] == "ada"
    assert (nobody.status, unknown.status, by_ada.status) == (403, 422, 403)


@story()
async def test_acting_for_somebody_one_is_no_admin(house: Visit) -> None:
    await house.person("ada")
    body = {"name": "Eve"}
    answer = await house.ask("POST", "/api/entities", body, token=ADMIN_KEY, headers={"x-roomful-as": "ada"})

    assert answer.status == 403


@story()
async def test_a_token_revoked_here_is_refused_at_once(house: Visit) -> None:
    ada = await house.person("ada")
    assert (await house.ask("GET", "/api/spaces", token=ada)).status == 200
    assert (await house.ask("DELETE", "/api/entities/ada/tokens/tok_ada", token=ada)).status == 204
    assert (await house.ask("GET", "/api/spaces", token=ada)).status == 401


TIME = HandClock()


@story(clock=TIME)
async def test_a_token_revoked_elsewhere_is_refused_a_second_later(house: Visit) -> None:
    ada = await house.person("ada")
    assert (await house.ask("GET", "/api/spaces", token=ada)).status == 200
    await house.house.store.commit([RevokeTokens("ada", "tok_ada")])
    TIME.seconds += 1
    assert (await house.ask("GET", "/api/spaces", token=ada)).status == 401


@story()
async def test_a_strange_header_does_not_hide_what_is_open_to_anyone(house: Visit) -> None:
    assert (await house.ask("GET", "/healthz", headers={"authorization": "Basic eA=="})).status == 200


def cookie_of(answer: Answer) -> dict[str, str]:
    return {"cookie": answer.headers["set-cookie"].partition(";")[0]}


@story()
async def test_a_session_is_a_token_of_its_own_in_a_cookie(house: Visit) -> None:
    ada = await house.person("ada")
    made = await house.ask("POST", "/api/session", {"token": ada}, headers=OWN_PAGE)
    cookie = cookie_of(made)

    assert (made.status, made.json["id"]) == (200, "ada")
    attributes = made.headers["set-cookie"].lower()
    assert "httponly" in attributes
    assert "samesite=strict" in attributes
    assert "secure" not in attributes
    assert ada not in attributes
    assert (await house.ask("GET", "/api/session", headers=cookie)).json["id"] == "ada"
    assert (await house.ask("DELETE", "/api/session", headers=cookie | OWN_PAGE)).status == 204
    assert (await house.ask("GET", "/api/session", headers=cookie)).status == 401
    assert (await house.ask("GET", "/api/session", token=ada)).status == 200


@pytest.mark.parametrize(
    "origin",
    [
        pytest.param({}, id="none"),
        pytest.param({"origin": "null"}, id="null"),
        pytest.param({"origin": "http://evil.example"}, id="another"),
        pytest.param({"origin": "http://127.0.0.1:9000"}, id="another port"),
    ],
)
@story()
async def test_with_the_cookie_only_the_own_page_changes_anything(
    house: Visit, origin: dict[str, str]
) -> None:
    ada = await house.person("ada")
    cookie = cookie_of(await house.ask("POST", "/api/session", {"token": ada}))
    body = {"name": "Mine"}

    assert (await house.ask("POST", "/api/spaces", body, headers=cookie | origin)).status == 403
    assert (await house.ask("GET", "/api/spaces", headers=cookie | origin)).json == {"spaces": []}
    assert (await house.ask("POST", "/api/spaces", body, headers=cookie | OWN_PAGE)).status == 201
    assert (await house.ask("POST", "/api/spaces", body, token=ada, headers=origin)).status == 201


@story()
async def test_another_page_cannot_sign_anybody_in(house: Visit) -> None:
    ada = await house.person("ada")
    answer = await house.ask(
        "POST", "/api/session", {"token": ada}, headers={"origin": "http://evil.example"}
    )

    assert answer.status == 403
    assert "set-cookie" not in answer.headers


@story()
async def test_the_admin_key_does_not_sign_in(house: Visit) -> None:
    assert (await house.ask("POST", "/api/session", {"token": ADMIN_KEY})).status == 422
    assert (await house.ask("POST", "/api/session", {"token": "wrong"})).status == 401


@story()
async def test_the_oldest_of_too_many_sessions_ends(house: Visit) -> None:
    ada = await house.person("ada")
    cookies = [cookie_of(await house.ask("POST", "/api/session", {"token": ada})) for _ in range(21)]

    assert (await house.ask("GET", "/api/session", headers=cookies[0])).status == 401
    assert (await house.ask("GET", "/api/session", headers=cookies[-1])).status == 200
    assert len((await house.ask("GET", "/api/entities/ada/tokens", token=ada)).json["tokens"]) == 21


@story()
async def test_who_signs_in_at_the_same_time_gets_in_though_there_are_too_many(
    house: Visit, monkeypatch: pytest.MonkeyPatch
) -> None:
    ada = await house.person("ada")
    for _ in range(20):
        await house.ask("POST", "/api/session", {"token": ada})
    tokens, waiting = house.house.store.tokens, 3
    all_have_read = asyncio.Barrier(waiting)

    async def read_together(entity_id: str) -> list[Token]:
        nonlocal waiting
        found, waiting = await tokens(entity_id), waiting - 1
        if waiting >= 0:
            await all_have_read.wait()
        return found

    monkeypatch.setattr(house.house.store, "tokens", read_together)
    signing = [house.ask("POST", "/api/session", {"token": ada}) for _ in range(3)]
    made = await asyncio.gather(*signing)

    assert [one.status for one in made] == [200] * 3
    for one in made:
        assert (await house.ask("GET", "/api/session", headers=cookie_of(one))).status == 200
    assert len((await house.ask("GET", "/api/entities/ada/tokens", token=ada)).json["tokens"]) == 21


@story()
async def test_at_the_door_nobody_is_no_error(house: Visit) -> None:
    ada = await house.person("ada")
    cookie = cookie_of(await house.ask("POST", "/api/session", {"token": ada}, headers=OWN_PAGE))

    nobody = await house.ask("GET", "/api/door")
    stranger = await house.ask("GET", "/api/door", token="no-such-token")
    by_token = await house.ask("GET", "/api/door", token=ada)
    by_cookie = await house.ask("GET", "/api/door", headers=cookie)

    assert (nobody.status, nobody.json) == (200, {"people": []})
    assert (stranger.status, stranger.json) == (200, {"people": []})
    assert by_token.json["me"]["id"] == by_cookie.json["me"]["id"] == "ada"


@story(public_url="https://rooms.example")
async def test_behind_a_public_https_address_the_cookie_is_for_https_alone(house: Visit) -> None:
    ada = await house.person("ada")
    made = await house.ask("POST", "/api/session", {"token": ada}, headers=OWN_PAGE)
    left = await house.ask("DELETE", "/api/session", headers=cookie_of(made) | OWN_PAGE)

    assert "; secure" in made.headers["set-cookie"].lower()
    assert "; secure" in left.headers["set-cookie"].lower()


@story(limits=Limits(1, 0))
async def test_errors_protect_the_browser_too(house: Visit) -> None:
    ada = await house.person("ada")
    deep = b"[" * 10_000
    answers = {
        401: await house.ask("GET", "/api/spaces"),
        404: await house.ask("GET", "/nowhere"),
        405: await house.ask("PUT", "/api/spaces"),
        421: await house.ask("GET", "/", headers={"host": "rebound.example"}),
        400: await house.ask("POST", "/api/spaces", deep, token=ada),
        413: await house.ask("POST", "/api/spaces", b"x" * (BODY_LIMIT + 1), token=ada),
        200: await house.ask("GET", "/api/search?q=a", token=ada),
        429: await house.ask("GET", "/api/search?q=a", token=ada),
    }

    assert {status: answer.status for status, answer in answers.items()} == {s: s for s in answers}
    for answer in answers.values():
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert answer.headers["x-frame-options"] == "DENY"
        assert "default-src 'none'" in answer.headers["content-security-policy"]
        assert not [name for name in answer.headers if name.startswith("access-control")]


@story()
async def test_a_token_is_never_logged(house: Visit, caplog: pytest.LogCaptureFixture) -> None:
    ada = await house.person("ada", token="tok-4711-canary")
    broken = dataclasses.replace(house.house, is_ready=_breaks)
    with caplog.at_level(logging.DEBUG):
        for path in (f"/api/spaces?token={ada}", f"/api/stream?access_token={ada}", "/api/spaces"):
            await house.ask("GET", path, token=ada)
        answer = await Visit(broken, house.answers).ask("GET", "/readyz", token=ada)

    assert answer.status == 500
    assert "err_" in caplog.text
    assert ada not in caplog.text


async def _breaks() -> bool:
    raise ValueError("unforeseen")
