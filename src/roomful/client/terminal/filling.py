"""Which card is being answered at the prompt, and which were put off."""

from collections.abc import Callable, Sequence
from typing import Any, cast

from roomful.client.client import Client
from roomful.client.following import WaitingCard
from roomful.client.terminal.forms import Form, Question
from roomful.client.terminal.harmless import one_line
from roomful.domain.errors import Conflict, Invalid
from roomful.domain.messages import Message, ToolCallPart
from roomful.domain.shape import UNSET


class Filling:
    """One card at a time. Whoever leaves one is not asked again, unless they ask for it."""

    def __init__(self, client: Client, say: Callable[[str], None], name: Callable[[str], str]) -> None:
        self._client = client
        self._say = say
        self._name = name
        self._put_off: set[str] = set()
        self._form: Form | None = None
        self.card: WaitingCard | None = None

    @property
    def question(self) -> Question | None:
        return self._form.question if self._form is not None else None

    def begin(self, card: WaitingCard) -> None:
        self.card, self._form = card, Form(card.part)

    def leave(self) -> None:
        assert self.card is not None
        self._put_off.add(self.card.part.tool_call_id)
        self.card = self._form = None

    def answer(self, said: str) -> tuple[WaitingCard, Form] | None:
        """The whole form, once this answer completes it."""
        form, card = self._form, self.card
        assert form is not None
        assert card is not None
        if (problem := form.answer(said)) is not None:
            self._say(one_line(problem))
        elif form.question is None:
            self.leave()
            return card, form
        return None

    async def send(self, card: WaitingCard, form: Form) -> None:
        call_id = card.part.tool_call_id
        try:
            await self._client.answer(card.run_id, call_id, form.result)
        except Conflict as conflict:
            by = cast("dict[str, Any]", conflict.outcome or {}).get("answeredBy")
            self._say(f"already answered by {self._name(str(by))}" if by else one_line(conflict.detail))
        except Invalid:
            self._put_off.discard(call_id)
            raise

    def look_after(
        self, cards: Sequence[WaitingCard], messages: Sequence[Message], *, is_typing: bool
    ) -> None:
        """A card that was settled meanwhile is over. One that holds up a run is asked when nothing is being
        typed."""
        waiting = {card.part.tool_call_id: card for card in cards}
        if self.card is not None and self.card.part.tool_call_id not in waiting:
            self._say(self._settled(self.card.part.id, messages))
            self.leave()
        if self.card is None and not is_typing:
            asked = [card for card in cards if card.run and card.part.tool_call_id not in self._put_off]
            if asked:
                self.begin(asked[0])

    def _settled(self, part_id: str, messages: Sequence[Message]) -> str:
        for part in (part for message in messages for part in message.parts if part.id == part_id):
            if isinstance(part, ToolCallPart) and part.answered_by is not UNSET:
                return f"already answered by {self._name(part.answered_by)}"
        return "this card does not wait any more"
