"""A library's errors in words that a model may read: no address, no URL, nothing that the host wrote."""

from collections.abc import Generator
from contextlib import contextmanager

import aiohttp

from roomful.domain.outbound import EgressFailed


@contextmanager
def told() -> Generator[None, None, None]:
    try:
        yield
    except (aiohttp.ClientSSLError, aiohttp.ServerFingerprintMismatch):
        raise EgressFailed("the host's certificate is not valid, or TLS failed") from None
    except aiohttp.ServerTimeoutError:
        raise EgressFailed("the host does not answer, or fell silent") from None
    except aiohttp.ClientConnectorError:
        raise EgressFailed("no connection to the host can be made") from None
    except aiohttp.ClientPayloadError:
        raise EgressFailed("the answer broke off or is malformed") from None
    except aiohttp.ClientResponseError:
        raise EgressFailed("the answer is not HTTP, or its headers are too large") from None
    except (aiohttp.ClientError, OSError):
        raise EgressFailed("the connection to the host broke") from None
