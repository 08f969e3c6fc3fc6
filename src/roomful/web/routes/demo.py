"""What only the demo has: people that anybody may be, and stories to try."""

import msgspec
from starlette.types import ASGIApp

from roomful.domain.shape import UNSET, Noun, Unset
from roomful.web.ask import AnyRoute, Ask, Route, json_answer
from roomful.web.queries import NoQuery
from roomful.web.rules import ANYONE


class DemoPerson(Noun):
    id: str
    name: str
    token: str
    about: str = ""
    """What they do, in a word or two."""


class DemoWatch(Noun):
    """Somebody's part in a story."""

    person: str
    space_id: str
    does: str
    says: str | Unset = UNSET
    """What they write there, if that is their part."""


class DemoStory(Noun):
    """`text` is what the person `as` writes in the space to begin it."""

    id: str
    title: str
    about: str
    as_: str = msgspec.field(name="as")
    space_id: str
    text: str
    watch: list[DemoWatch]


class DemoStories(Noun):
    stories: list[DemoStory]


async def list_demo_people(ask: Ask[None, NoQuery, None]) -> ASGIApp:
    return json_answer(ask.house.demo_people)


async def list_demo_stories(ask: Ask[None, NoQuery, None]) -> ASGIApp:
    return json_answer({"stories": ask.house.demo_stories})


ROUTES: tuple[AnyRoute, ...] = (
    Route(
        "GET",
        "/api/demo",
        list_demo_people,
        ANYONE,
        "The people of the demo, with their tokens",
        answer=list[DemoPerson],
    ),
    Route(
        "GET",
        "/api/demo/stories",
        list_demo_stories,
        ANYONE,
        "What to try in the demo",
        answer=DemoStories,
    ),
)
