"""The last door holds even if everything before it were wrong."""

import asyncio
import ssl

import aiohttp
import pytest

from roomful.egress.connecting import session_to
from tests.egress.endpoints import answering, http


@pytest.mark.parametrize("host", ["127.0.0.1", "2130706433", "127.1"])
def test_a_socket_goes_only_to_a_judged_address_although_literals_ask_no_resolver(host: str) -> None:
    async def main() -> None:
        async with answering(http(200)) as endpoint:
            async with session_to(["192.0.2.1"], idle=1, tls=ssl.create_default_context()) as session:
                with pytest.raises(aiohttp.ClientError):
                    await session.get(f"http://{host}:{endpoint.port}/")

            assert endpoint.connections == 0

    asyncio.run(main())


def test_a_judged_address_is_reached_under_any_name() -> None:
    async def main() -> None:
        async with answering(http(200)) as endpoint:
            async with session_to(["127.0.0.1"], idle=1, tls=ssl.create_default_context()) as session:
                response = await session.get(f"http://some.test:{endpoint.port}/")

            assert response.status == 200
            assert endpoint.requests[0][1]["host"] == f"some.test:{endpoint.port}"

    asyncio.run(main())
