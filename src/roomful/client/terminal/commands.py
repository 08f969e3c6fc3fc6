"""What can be said to the terminal itself: lines that begin with a slash."""

from collections.abc import Awaitable, Callable, Sequence
from typing import NamedTuple, Protocol

from roomful.client.client import Client
from roomful.client.following import LiveSpace, WaitingCard
from roomful.client.terminal.harmless import one_line


class Here(Protocol):
    """What a command may do to the session."""

    client: Client
    space_id: str

    @property
    def space(self) -> LiveSpace | None: ...
    def say(self, *lines: str) -> None: ...
    def cards(self) -> Sequence[WaitingCard]: ...
    def name(self, entity_id: str) -> str: ...
    async def switch(self, space_id: str) -> None: ...
    def begin_form(self, card: WaitingCard) -> None: ...
    def leave(self) -> None: ...


class Command(NamedTuple):
    usage: str
    summary: str
    run: Callable[[Here, str], Awaitable[None]]


def is_command(line: str) -> bool:
    return line.startswith("/") and line[1:].strip().partition(" ")[0] in COMMANDS


async def obey(here: Here, line: str) -> None:
    """What is refused is raised."""
    name, _, rest = line[1:].strip().partition(" ")
    await COMMANDS[name].run(here, rest.strip())


async def _help(here: Here, _: str) -> None:
    here.say(*(f"{command.usage:<16} {command.summary}" for command in COMMANDS.values()))
    here.say("Ctrl-C leaves a form or clears the line, Ctrl-D ends")


async def _quit(here: Here, _: str) -> None:
    here.leave()


async def _who(here: Here, _: str) -> None:
    for member in await here.client.members(here.space_id):
        here.say(f"{one_line(member.name)} ({member.entity_id}), {member.kind}, {member.role}")


async def _spaces(here: Here, _: str) -> None:
    for space in await here.client.spaces():
        unread = f", {space.unread} unread" if space.unread else ""
        mark = "*" if space.id == here.space_id else " "
        here.say(f"{mark} {space.id}: {one_line(space.name)}{unread}")


async def _switch(here: Here, space_id: str) -> None:
    if not space_id:
        here.say("which one? /spaces lists them")
    else:
        await here.switch(space_id)


async def _stop(here: Here, run_id: str) -> None:
    """The named run, or every run at work here."""
    at_work = here.space.runs if here.space is not None else ()
    wanted = [run_id] if run_id else list(at_work)
    if not wanted:
        here.say("nobody is at work here")
    for one in wanted:
        run = await here.client.cancel(one)
        here.say(f"{here.name(run.agent_id)}'s run {run.id}: {run.status}")


async def _answer(here: Here, which: str) -> None:
    if (card := _chosen(here, which)) is not None:
        here.begin_form(card)


async def _close(here: Here, which: str) -> None:
    if (card := _chosen(here, which)) is not None:
        await here.client.close_poll(card.run_id, card.part.tool_call_id)


def _chosen(here: Here, which: str) -> WaitingCard | None:
    cards = here.cards()
    if not cards:
        here.say("no card waits for an answer here")
        return None
    held_up = [card for card in cards if card.run is not None]
    if not which and len(held_up or cards) == 1:
        return (held_up or cards)[0]
    if which.isdecimal() and 1 <= int(which) <= len(cards):
        return cards[int(which) - 1]
    here.say(*(f"{number}) {one_line(card.part.tool_name)}" for number, card in enumerate(cards, 1)))
    return None


COMMANDS: dict[str, Command] = {
    "answer": Command("/answer [N]", "answer the card that waits, or the Nth of them", _answer),
    "close": Command("/close [N]", "end a poll", _close),
    "stop": Command("/stop [RUN]", "stop a run, or all that are at work here", _stop),
    "switch": Command("/switch SPACE", "go to another space", _switch),
    "spaces": Command("/spaces", "list my spaces", _spaces),
    "who": Command("/who", "list who is here", _who),
    "help": Command("/help", "list these", _help),
    "quit": Command("/quit", "leave", _quit),
}
