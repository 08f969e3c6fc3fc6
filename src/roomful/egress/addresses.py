"""Which addresses a tool may reach: global unicast, by a table of our own, judged on the packed bytes.

The standard library's `is_global` differs between Python versions and lets several embedded forms of
127.0.0.1 through, so it is not asked.
"""

import ipaddress
import socket
from typing import Final

_DENIED_V4: Final = (
    ("0.0.0.0/8", "this network"),
    ("10.0.0.0/8", "private"),
    ("100.64.0.0/10", "shared by carriers"),
    ("127.0.0.0/8", "loopback"),
    ("168.63.129.16/32", "a cloud's host agent"),
    ("169.254.0.0/16", "link-local"),
    ("172.16.0.0/12", "private"),
    ("192.0.0.0/24", "protocol assignments"),
    ("192.0.2.0/24", "documentation"),
    ("192.88.99.0/24", "6to4 relays"),
    ("192.168.0.0/16", "private"),
    ("198.18.0.0/15", "benchmarking"),
    ("198.51.100.0/24", "documentation"),
    ("203.0.113.0/24", "documentation"),
    ("224.0.0.0/4", "multicast"),
    ("240.0.0.0/4", "reserved, and broadcast"),
)
_GLOBAL_V6: Final = "2000::/3"
"""Everything else is denied: `::/96`, ULA, link-local, site-local, multicast, `64:ff9b:1::/48`."""
_DENIED_V6: Final = (
    ("2001::/23", "protocol assignments: Teredo, benchmarking, ORCHID"),
    ("2001:db8::/32", "documentation"),
    ("2002::/16", "6to4"),
    ("3fff::/20", "documentation"),
)
_CARRIERS_OF_V4: Final = (
    bytes.fromhex("00000000000000000000ffff"),
    bytes.fromhex("0064ff9b0000000000000000"),
)
"""IPv4-mapped and NAT64: in use, so what they carry is judged. The other embeddings are denied whole."""


def _mask(network: str) -> tuple[int, int]:
    parsed = ipaddress.ip_network(network)
    return int(parsed.network_address), int(parsed.netmask)


_V4: Final = tuple(_mask(network) for network, _ in _DENIED_V4)
_V6: Final = tuple(_mask(network) for network, _ in _DENIED_V6)
_V6_GLOBAL: Final = _mask(_GLOBAL_V6)


def is_public(packed: bytes) -> bool:
    """Whether 4 or 16 packed bytes name a global unicast address. Anything else is not public."""
    if len(packed) == 4:
        return not _within(packed, _V4)
    if len(packed) != 16:
        return False
    if packed[:12] in _CARRIERS_OF_V4:
        return is_public(packed[12:])
    return _within(packed, (_V6_GLOBAL,)) and not _within(packed, _V6)


def pack(address: str) -> bytes | None:
    """The bytes of an address in its one canonical spelling; None for anything else, zone ids included."""
    for family in (socket.AF_INET, socket.AF_INET6):
        try:
            return socket.inet_pton(family, address)
        except OSError:
            continue
    return None


def _within(packed: bytes, networks: tuple[tuple[int, int], ...]) -> bool:
    number = int.from_bytes(packed, "big")
    return any(number & mask == network for network, mask in networks)
