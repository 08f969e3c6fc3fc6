"""Two gateways, as the other tests of several have them."""

from tests.http.conftest import cluster, postgres, redis, world

__all__ = ["cluster", "postgres", "redis", "world"]
