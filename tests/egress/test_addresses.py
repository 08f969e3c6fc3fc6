"""The table: both ends of every range that is denied are denied, and their neighbours are not."""

import ipaddress

import pytest

from roomful.egress.addresses import is_public, pack

DENIED = [
    "0.0.0.0/8",
    "10.0.0.0/8",
    "100.64.0.0/10",
    "127.0.0.0/8",
    "168.63.129.16/32",
    "169.254.0.0/16",
    "172.16.0.0/12",
    "192.0.0.0/24",
    "192.0.2.0/24",
    "192.88.99.0/24",
    "192.168.0.0/16",
    "198.18.0.0/15",
    "198.51.100.0/24",
    "203.0.113.0/24",
    "224.0.0.0/3",
    "::/96",
    "64:ff9b:1::/48",
    "100::/64",
    "2001::/23",
    "2001:db8::/32",
    "2002::/16",
    "3fff::/20",
    "5f00::/16",
    "fc00::/7",
    "fe80::/10",
    "fec0::/10",
    "ff00::/8",
]
PUBLIC = [
    "1.1.1.1",
    "8.8.8.8",
    "9.255.255.255",
    "11.0.0.0",
    "100.63.255.255",
    "100.128.0.0",
    "126.255.255.255",
    "128.0.0.0",
    "168.63.129.15",
    "169.253.255.255",
    "169.255.0.0",
    "172.15.255.255",
    "172.32.0.0",
    "192.0.1.0",
    "192.167.255.255",
    "192.169.0.0",
    "198.17.255.255",
    "198.20.0.0",
    "223.255.255.255",
    "2000::1",
    "2001:200::1",
    "2001:4860:4860::8888",
    "2606:4700:4700::1111",
    "2003::1",
    "3ffe:ffff::1",
    "::ffff:8.8.8.8",
    "64:ff9b::8.8.8.8",
]


@pytest.mark.parametrize("network", DENIED)
def test_a_denied_range_is_denied_to_both_ends(network: str) -> None:
    parsed = ipaddress.ip_network(network)

    assert not is_public(parsed[0].packed)
    assert not is_public(parsed[-1].packed)


@pytest.mark.parametrize("address", PUBLIC)
def test_a_public_address_is_public(address: str) -> None:
    packed = pack(address)

    assert packed
    assert is_public(packed)


@pytest.mark.parametrize("inner", ["127.0.0.1", "10.0.0.1", "169.254.169.254", "100.64.0.1", "224.0.0.1"])
@pytest.mark.parametrize(
    "prefix",
    ["::ffff:", "::", "64:ff9b::", "64:ff9b:1::", "2002:", "::ffff:0:", "fe80::5efe:", "2001:0:0:0:0:0:"],
)
def test_an_inner_address_is_not_public_in_any_wrapping(prefix: str, inner: str) -> None:
    groups = f"{int(ipaddress.IPv4Address(inner)) >> 16:x}:{int(ipaddress.IPv4Address(inner)) & 0xFFFF:x}"
    packed = pack(f"2002:{groups}::" if prefix == "2002:" else prefix + groups)

    assert packed
    assert not is_public(packed)


@pytest.mark.parametrize("packed", [b"", b"\x08", b"\x08" * 5, b"\x20" * 15, b"\x20" * 17])
def test_bytes_that_are_no_address_are_not_public(packed: bytes) -> None:
    assert not is_public(packed)


@pytest.mark.parametrize(
    "text", ["", "127.1", "0x7f000001", "fe80::1%lo", "localhost", "1.2.3.4 ", "01.2.3.4"]
)
def test_only_canonical_spellings_are_packed(text: str) -> None:
    assert pack(text) is None
