"""What people agreed to once and for all in a space, to be looked at and taken back."""

from starlette.types import ASGIApp

from roomful.domain.changes import RemoveGrant
from roomful.domain.grants import Grant
from roomful.domain.shape import Noun
from roomful.domain.spaces import Space
from roomful.web.ask import AnyRoute, Ask, Route, json_answer, no_content
from roomful.web.queries import NoQuery
from roomful.web.rules import READS_SPACE, WRITES_SPACE


class Grants(Noun):
    grants: list[Grant]


async def list_grants(ask: Ask[None, NoQuery, Space]) -> ASGIApp:
    return json_answer(Grants(await ask.house.store.grants_in(ask.about.id)))


async def revoke_grant(ask: Ask[None, NoQuery, Space]) -> ASGIApp:
    """Whoever may approve here may also say that it must be asked again."""
    grant_id = ask.params["grantId"]
    told = ask.audit("grant.revoked", space_ids=(ask.about.id,), grant_id=grant_id)
    await ask.house.store.commit([RemoveGrant(ask.about.id, grant_id), told])
    return no_content()


ROUTES: tuple[AnyRoute, ...] = (
    Route(
        "GET",
        "/api/spaces/{id}/grants",
        list_grants,
        READS_SPACE,
        "Approvals that are remembered here",
        answer=Grants,
    ),
    Route(
        "DELETE",
        "/api/spaces/{id}/grants/{grantId}",
        revoke_grant,
        WRITES_SPACE,
        "Forget one: it must be asked again",
        status=204,
    ),
)
