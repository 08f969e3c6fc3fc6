"""Fields that several bodies have."""

from typing import Annotated

import msgspec

from roomful.domain.errors import Invalid

GivenId = Annotated[str, msgspec.Meta(extra_json_schema={"pattern": "^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$"})]
"""An id that the caller chose. `check_id` judges it and says more when it is wrong."""
Name = Annotated[str, msgspec.Meta(min_length=1, max_length=200)]


def checked_name(name: str) -> str:
    name = " ".join(name.split())
    if not name:
        raise Invalid("name: say more than spaces")
    return name
