"""Every story of the demo, told over HTTP from its own data: what each space sees, and no other does."""

from collections.abc import Iterator
from typing import Any

import pytest

from roomful.app.demo.outside import weather_in
from tests.http.playing import Demo, Play, in_words
from tests.requirements import requirement
from tests.servers.roomful import Event, Roomful

YES: dict[str, Any] = {"approved": True}


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Demo]:
    with Roomful(tmp_path_factory.mktemp("demo"), "--demo") as house:
        yield Demo(house)


def asked_in(play: Play) -> tuple[str, str]:
    """The first message of every story."""
    return play.story["as"], play.story["text"]


@pytest.mark.parametrize(("number", "name"), [(1, "MacBook Pro"), (2, "Dell XPS 15")])
def test_a_laptop_that_is_selected_is_bought(demo: Demo, number: int, name: str) -> None:
    with Play(demo, "laptops") as play:
        play.ended()
        [_, shelf] = play.messages("shopping")
        play.answer(shelf["parts"][number], "ada", result={"selected": True})
        play.in_space("shopping").wait_for("run.completed", 2)
        cards = ["[ProductCard: waiting]"] * 2
        cards[number - 1] = "[ProductCard: complete]"
        assert play.seen() == {
            "shopping": [
                asked_in(play),
                ("shop", "Here are some laptops:", *cards, "Want me to add any to your cart?"),
                ("shop", f"Good choice! The {name} is in your cart."),
            ]
        }


@requirement("C-14")
@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (YES, "Finance approved it: the 50,000 dollars are yours."),
        ({"approved": False, "reason": "Not this year."}, "Finance rejected it: Not this year."),
        ({"approved": False}, "Finance rejected it and gave no reason."),
    ],
)
def test_finance_decides_and_the_head_office_hears_it(demo: Demo, answer: Any, said: str) -> None:
    with Play(demo, "approval") as play:
        form = play.asked("finance", "showApprovalForm")
        assert form["args"]["amount"] == 50_000
        play.answer(form, "grace", result=answer)
        play.ended()
        begun = "I am asking Finance for 50,000 dollars for the marketing of the fourth quarter."
        assert play.seen() == {
            "hq": [asked_in(play), ("aide", begun, said)],
            "finance": [("aide", "[ApprovalForm: complete]")],
        }
        assert play.messages("finance")[0]["parts"][0]["answeredBy"] == "grace"


@requirement("D-12")
@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (YES, "All done: the banner hangs in Design and Finance approved the 50,000 dollars."),
        ({"approved": False}, "The banner hangs in Design, but Finance did not approve the money."),
    ],
)
def test_one_run_shows_something_in_three_spaces(demo: Demo, answer: Any, said: str) -> None:
    with Play(demo, "campaign") as play:
        play.answer(play.asked("finance", "showApprovalForm"), "grace", result=answer)
        play.ended()
        assert play.seen() == {
            "marketing": [
                asked_in(play),
                ("campaigner", "A banner for Design and a form for Finance, coming up.", said),
            ],
            "design": [("campaigner", "[ImageResult: complete]", "A first banner for the spring campaign.")],
            "finance": [("campaigner", "[ApprovalForm: complete]")],
        }
        [picture] = play.messages("design")[0]["parts"][0]["result"]["images"]
        seen = demo.people["noa"].request("GET", picture["url"])
        assert (seen.status_code, seen.headers["content-type"]) == (200, "image/png")
        assert demo.people["omar"].request("GET", picture["url"]).status_code == 404


@requirement("D-10")
def test_charts_appear_where_they_were_sent(demo: Demo) -> None:
    with Play(demo, "charts") as play:
        play.ended()
        assert play.seen() == {
            "finance": [
                asked_in(play),
                (
                    "analyst",
                    "I am drawing it for the leadership.",
                    "Three charts and a table are in Leadership now.",
                ),
            ],
            "leadership": [
                (
                    "analyst",
                    "The fourth quarter in three charts and a table.",
                    *["[Chart: complete]"] * 3,
                    "[Table: complete]",
                )
            ],
        }
        [_, *charts, table] = play.messages("leadership")[0]["parts"]
        assert [chart["result"]["type"] for chart in charts] == ["bar", "line", "pie"]
        assert all(part["args"] == part["result"] for part in (*charts, table))


@requirement("D-09")
def test_a_service_outside_is_asked_and_its_answer_seen(demo: Demo) -> None:
    with Play(demo, "weather") as play:
        play.ended()
        told = weather_in("New York")
        said = f"It is {told['sky']} in New York, at {told['temperature']} \u00b0C. The vans can go."
        assert play.seen() == {
            "ops": [
                asked_in(play),
                ("dispatcher", "I look at the weather first.", "[fetchWeatherData: complete]", said),
            ]
        }
        call = play.messages("ops")[1]["parts"][1]
        assert (call["args"], call["result"]) == ({"city": "New York"}, told)


def inside(part: dict[str, Any]) -> list[Any]:
    """The calls of a sub-agent, each with its status and the calls inside it."""
    return [
        (call["toolName"], call["status"], inside(call))
        if "child" in call
        else (call["toolName"], call["status"])
        for call in part["child"]["calls"]
    ]


def test_sub_agents_ask_further_and_try_again(demo: Demo) -> None:
    with Play(demo, "research") as play:
        play.ended()
        assert play.seen().keys() == {"research"}
        authors = [message["entityId"] for message in play.messages("research")]
        assert authors == ["ada", "lead", "critic", "lead"]
    with Play(demo, "research-more") as play:
        play.ended()
        said = "As in offices, so in hospitals: a ward with 45 nurses did it, and 32 hours each were enough."
        assert play.seen() == {
            "research": [
                asked_in(play),
                ("lead", "[askLibrarian: complete]", "[askStatistician: complete]", said),
            ]
        }
        [librarian, statistician, _] = play.messages("research")[1]["parts"]
        assert inside(librarian) == [("askArchivist", "complete", [("openBox", "complete")])]
        assert inside(statistician) == [("divide", "error"), ("divide", "complete")]


def test_agents_that_mention_each_other_speak_in_turn(demo: Demo) -> None:
    with Play(demo, "relay") as play:
        play.in_space("newsroom").wait_for("run.completed", 3)
        [first, *others] = play.seen()["newsroom"]
        assert play.seen().keys() == {"newsroom"}
        assert first == asked_in(play)
        assert [author for author, _ in others] == ["writer", "editor", "publisher"]
        assert others[-1][1] == "It is out: “Our new office opens on Monday.”"


@pytest.mark.parametrize(
    ("votes", "said"),
    [
        ({"husam": "Pizza", "grace": "Sushi", "ada": "Pizza"}, "Pizza wins. I have booked a table."),
        (
            {"husam": "Pizza", "grace": "Sushi", "omar": "Sushi", "noa": "Pizza", "ada": "Sushi"},
            "Sushi wins. I have booked a table.",
        ),
        (
            {"husam": "Pizza", "grace": "Sushi", "omar": "Sushi", "noa": "Pizza", "ada": "Falafel"},
            "Pizza and Sushi are level, so I toss a coin: Pizza.",
        ),
        (
            {"husam": "Pizza", "ada": "Sushi"},
            "Everybody wants something else, so I toss a coin: Pizza.",
        ),
        ({"ada": "Falafel"}, "One vote only: Falafel it is."),
        ({}, "Nobody voted, so everybody brings a sandwich."),
    ],
)
def test_everybody_votes_and_an_owner_ends_it(demo: Demo, votes: dict[str, str], said: str) -> None:
    with Play(demo, "poll") as play:
        poll = play.asked("team", "startPoll")
        for who, choice in votes.items():
            play.answer(poll, who, result={"choice": choice})
        shown = demo.people["noa"].messages("team")[-1]["parts"][-1]
        assert (shown.get("approvers"), shown["closers"]) == (None, {"roles": ["owner"], "entities": []})
        play.answer(poll, "husam", close=True, expect=403)
        play.answer(poll, "ada", close=True)
        play.ended()
        told = ("host", "Let us vote. Ada closes the poll.", "[Poll: complete]", said)
        assert play.seen() == {"team": [asked_in(play), told]}


def test_forms_ask_for_choices_a_date_and_a_file(demo: Demo) -> None:
    noa = demo.people["noa"]
    with Play(demo, "offsite") as play:
        play.answer(play.asked("studio", "askChoice"), "noa", result={"choice": "cabin"})
        when = play.asked("studio", "pickDate")
        play.answer(play.asked("studio", "askChoice"), "noa", result={"choices": ["Hiking", "Cooking"]})
        play.answer(when, "noa", result={"date": "2026-12-01"})
        file = noa.post("/api/blobs", b"Noa,Omar", headers={"content-type": "text/csv"}, expect=201)
        named = {"name": "guests.csv", **file}
        assert demo.people["omar"].request("GET", file["url"]).status_code == 404
        play.answer(play.asked("studio", "pickFile"), "noa", result={"files": [named]})
        play.ended()
        assert demo.people["omar"].request("GET", file["url"]).content == b"Noa,Omar"
        assert demo.people["grace"].request("GET", file["url"]).status_code == 404
        assert play.seen() == {
            "studio": [
                asked_in(play),
                (
                    "planner",
                    "Gladly. First the place.",
                    "[Choice: complete]",
                    "The cabin, good. Two more questions.",
                    "[Choice: complete]",
                    "[DatePicker: complete]",
                    "2026-12-01 it is.",
                    "[FilePicker: complete]",
                    "I have guests.csv. The offsite is planned.",
                ),
            ]
        }


@pytest.mark.parametrize(
    ("answer", "status", "said"),
    [
        (YES, "complete", "I have paid 480 dollars to Acme Print."),
        (
            {"approved": True, "args": {"vendor": "Acme Print", "amount": 450}},
            "complete",
            "I have paid 450 dollars to Acme Print.",
        ),
        ({"approved": False, "reason": "Paid last week."}, "error", "Then I do not pay."),
    ],
)
def test_a_payment_waits_for_the_owners_consent(demo: Demo, answer: Any, status: str, said: str) -> None:
    with Play(demo, "invoice") as play:
        payment = play.asked("finance", "payInvoice")
        play.answer(payment, "ada", result=YES, expect=403)
        play.answer(payment, "grace", result=answer)
        play.ended()
        told = ("treasurer", "I have the invoice of Acme Print here.", f"[payInvoice: {status}]", said)
        assert play.seen() == {"finance": [asked_in(play), told]}
        assert play.messages("finance")[1]["parts"][1]["asks"] == "approval"


def test_one_tool_shows_that_it_works_and_another_one_everything(demo: Demo) -> None:
    with Play(demo, "stock") as play:
        play.ended()
        thinks = "(thinks)"
        assert play.seen() == {
            "ops": [
                asked_in(play),
                (
                    "keeper",
                    thinks,
                    "[searchInventory: complete]",
                    thinks,
                    "[countShelf: complete]",
                    "Yes: 64 folding chairs are on shelf B4.",
                ),
            ]
        }
        [_, quiet, _, loud, _] = play.messages("ops")[1]["parts"]
        assert not quiet.keys() & {"args", "result"}
        assert loud["args"] == {"shelf": "B4"}
        assert loud["result"]["pieces"] == 64


@pytest.mark.parametrize(
    ("story_id", "how", "said"),
    [
        ("queue", "queued", ["Tasks: oil the door (Omar), choose the curtains (Noa)."]),
        ("steer", "steered", ["Understood, blue then. The second wall is blue."]),
    ],
)
def test_what_comes_meanwhile_waits_or_changes_what_is_done(
    demo: Demo, story_id: str, how: str, said: list[str]
) -> None:
    with Play(demo, story_id) as play:
        studio = play.in_space("studio")
        studio.wait_for("text-start", runId=play.run_id)
        [part] = play.story["watch"]
        [woken] = demo.people[part["person"]].say(part["spaceId"], part["says"])["runs"]
        assert (woken["runId"] == play.run_id) == (how == "steered")
        play.ended(run_id=woken["runId"])
        [first, second, *_] = play.messages("studio")
        meant = next(one for one in play.messages("studio") if one["entityId"] == part["person"])
        assert [one["how"] for one in meant["woke"]] == [how]
        assert in_words(first["parts"][0]) == play.story["text"]
        assert second["runId"] == play.run_id
        last = [one for one in play.messages("studio") if one.get("runId") == woken["runId"]][-1]
        assert [in_words(part) for part in last["parts"]][-1:] == said
        assert play.seen().keys() == {"studio"}


@pytest.mark.parametrize(
    ("story_id", "begins", "cards"),
    [
        ("markdown", "## How to hang a picture", []),
        ("hebrew", "הנה ", ["Chart"]),
        ("seats", "These are the seats", ["SeatMap"]),
    ],
)
def test_the_gallery_shows_what_messages_look_like(
    demo: Demo, story_id: str, begins: str, cards: list[str]
) -> None:
    with Play(demo, story_id) as play:
        play.ended()
        assert play.seen().keys() == {"gallery"}
        [question, answer] = play.messages("gallery")
        assert in_words(question["parts"][0]) == play.story["text"]
        assert answer["parts"][0]["text"].startswith(begins)
        assert [part["customUI"] for part in answer["parts"] if part["type"] == "tool_call"] == cards


def test_what_an_agent_writes_is_seen_while_it_writes(demo: Demo) -> None:
    with Play(demo, "markdown") as play:
        play.ended()

        def deltas(events: list[Event]) -> int:
            return sum(event.name == "text-delta" for event in events)

        assert play.in_space("gallery").wait(deltas) > 20


def test_every_space_says_what_to_try_there(demo: Demo) -> None:
    for space_id, reader in demo.readers.items():
        people = reader.get(f"/api/spaces/{space_id}/members")["members"]
        owner = next(one["entityId"] for one in people if one["role"] == "owner")
        with demo.people[owner].listen(space_id) as listener:
            [run] = demo.people[owner].say(space_id, "Hello")["runs"]
            listener.wait_for("run.completed", runId=run["runId"])
        [*_, answer] = demo.people[owner].messages(space_id)
        assert answer["runId"] == run["runId"]
        assert answer["parts"][-1]["type"] == "text", space_id
