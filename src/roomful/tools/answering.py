"""Who has to agree and who may answer, as an author writes it."""

from roomful.domain.tools import Approval, Approvers
from roomful.tools.reading import Fields, kind_of, one_of, wrong_id

_WHEN = {"always": "always", "new-arguments": "new-arguments"}
_ROLES = ("owner", "member")


def read_approval(fields: Fields, key: str) -> Approval | None:
    """`true`, or an object that says who and when."""
    value = fields.raw(key)
    if value is None or value is False:
        return None
    if value is True:
        return Approval()
    if not isinstance(value, dict):
        return fields.refuse(
            key, f'is {kind_of(value)}: write true, false or {{"approvers": {{"roles": ["owner"]}}}}'
        )
    inner = fields.inner(key)
    assert inner is not None
    inner.only(("approvers", "when"), dict.fromkeys(("roles", "entities"), 'write it inside "approvers"'))
    when = inner.choice("when", _WHEN)
    return Approval(
        approvers=read_approvers(inner, "approvers"),
        when="new-arguments" if when == "new-arguments" else "always",
    )


def read_approvers(fields: Fields, key: str) -> Approvers:
    inner = fields.inner(key)
    if inner is None:
        return Approvers()
    inner.only(("roles", "entities"))
    if not inner.values:
        inner.refuse("", 'names nobody: write "roles" or "entities", or leave it out for every member')
    return Approvers(
        roles=inner.texts("roles", _wrong_role) or (), entities=inner.texts("entities", wrong_id) or ()
    )


def _wrong_role(role: str) -> str | None:
    return None if role in _ROLES else f"has {role[:60]!r} in it, who may not answer: write {one_of(_ROLES)}"
