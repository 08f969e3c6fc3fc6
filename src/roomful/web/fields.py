"""Fields that several bodies have."""

from typing import Annotated

import msgspec

from roomful.domain.errors import Invalid
from roomful.domain.shape import ID_PATTERN

GivenId = Annotated[str, msgspec.Meta(extra_json_schema={"pattern": ID_PATTERN})]
"""An id that the caller chose. `check_id` judges it and says more when it is wrong."""
Name = Annotated[str, msgspec.Meta(min_length=1, max_length=200)]


def checked_name(name: str) -> str:
    name = " ".join(name.split())
    if not name:
        raise Invalid("name: say more than spaces")
    return name
