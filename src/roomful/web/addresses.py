"""The address of this gateway, for those who are told to come to another path of it."""

import re

from starlette.datastructures import Headers

from roomful.web.house import House

_HOST = re.compile(r"(?:\[[0-9A-Fa-f:.]+\]|[\w.-]+)(?::\d+)?", re.ASCII)


def own_address(house: House, headers: Headers, scheme: str) -> str:
    """As the operator gave it, else as the caller reached us: the name in `Host` was found to be ours."""
    if house.public_url:
        return house.public_url.rstrip("/")
    host = _HOST.match(headers.get("host", ""))
    return f"{scheme}://{host.group() if host else 'localhost'}"
