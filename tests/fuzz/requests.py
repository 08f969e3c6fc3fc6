"""Bodies that are sent here, and addresses that tools want to reach."""

import ipaddress
import json
import re
import socket
from collections.abc import Callable
from random import Random
from typing import Any
from urllib.parse import urlsplit

import httpx
import msgspec
from yarl import URL

from roomful.domain.errors import Invalid
from roomful.domain.outbound import EgressRefused
from roomful.domain.shape import clean_json
from roomful.egress.addresses import is_public, pack
from roomful.egress.urls import parse_url
from roomful.tools.urls import wrong_url
from roomful.web.ask import Body
from roomful.web.bodies import NESTING_LIMIT, decode_body
from tests.fuzz import grammar
from tests.fuzz.engine import refused, target


class Note(Body):
    text: str
    more: Any = None


FIELDS = ("text", "text", "more", "mre", "Text", "")


def body(chance: Random) -> bytes:
    draw = chance.random()
    if draw < 0.05:
        depth = chance.randint(60, 68)
        text = '{"text":"[[","more":' + "[" * depth + '"]"' + "]" * depth + "}"
    elif draw < 0.5:
        text = f'{{"text":{grammar.json_string(chance)},"more":{grammar.json_text(chance)}}}'
    else:
        text = grammar.json_object(chance, 3, FIELDS)
    data = text.encode("utf-8", "surrogatepass")
    return grammar.damaged_bytes(chance, data) if chance.random() < 0.4 else data


class _Pairs(dict[str, Any]):
    """An object, and whether a key came twice in it."""

    def __init__(self, pairs: list[tuple[str, Any]]) -> None:
        super().__init__(pairs)
        self.has_twins = len(self) < len(pairs)


def _parsed(data: bytes) -> Any:
    """A full parse that knows what is allowed; ValueError for all else."""

    def refuse(word: str) -> Any:
        raise ValueError(word)

    def finite(digits: str) -> float:
        number = float(digits)
        return number if abs(number) != float("inf") else refuse(digits)

    value = json.loads(data.decode(), parse_constant=refuse, parse_float=finite, object_pairs_hook=_Pairs)
    if _depth(value) > NESTING_LIMIT:
        refuse("deep")
    return value


def _depth(value: Any) -> int:
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else None
    return 0 if inner is None else 1 + max(map(_depth, inner), default=0)


def _refused_body(expected: Any, error: Invalid) -> str:
    """What is wrong in two ways may be refused for either."""
    fields = expected if isinstance(expected, _Pairs) else _Pairs([])
    unknown = [name for name in fields if name not in ("text", "more")]
    assert expected is None or not error.malformed, error.detail
    assert unknown or fields.has_twins or not isinstance(fields.get("text"), str), error.detail
    return refused(error.detail, "unknown" if unknown else "refused")


def check_body(given: bytes) -> str:
    try:
        expected = _parsed(given)
    except (ValueError, RecursionError):
        expected = None
    try:
        read = decode_body(given, Note)
    except Invalid as error:
        return _refused_body(expected, error)
    given_fields = clean_json(expected)
    assert repr(msgspec.to_builtins(read)) == repr({"text": "", "more": None} | given_fields)
    assert not re.search("[\x00\ud800-\udfff]", repr(read.text))
    return "read"


# Addresses of hosts.

HOSTS = (
    "example.com", "127.0.0.1", "localhost", "2130706433", "0x7f.1", "0177.0.0.1", "127.1", "[::1]",
    "[::ffff:127.0.0.1]", "[::ffff:7f00:1]", "[64:ff9b::7f00:1]", "[2002:7f00:1::]", "169.254.169.254",
    "2852039166", "10.0.0.1", "8.8.8.8", "[2001:4860:4860::8888]", "example.com.", "EXAMPLE.com",
    "xn--nxasmq6b", "a@127.0.0.1", "127.0.0.1\\@example.com", "1.1.1.1", "0", "[::]", "[fe80::1%25eth0]",
    "①②⑦.0.0.1", "exa mple.com", "example.com%2f@127.0.0.1", "-a.com",
)  # fmt: skip
TOKENS = (
    "@", "\\", "/", "//", "?", "#", ":", ":80", ":0", ":65536", ":443", "%", "%2e", "%00", "%0d%0a", " ",
    "\t", "\n", "[", "]", "..", "/../", "/./", "%2e%2e/", "http://", "127.0.0.1", "é", "。", "\u200b", ";",
    "&", "a" * 300,
)  # fmt: skip


def url(chance: Random) -> str:
    scheme = chance.choice(("https", "https", "http", "HTTP", "ftp", "file", "gopher", ""))
    host = chance.choice(HOSTS)
    if chance.random() < 0.3:
        host = ".".join(
            chance.choice(("0", "1", "127", "0x7f", "0300", "256", "999", "08"))
            for _ in range(chance.randint(1, 5))
        )
    path = "".join(
        chance.choice(("/", "a", "b/c", "?x=1", "#f", "%41", "@", ":", "/.."))
        for _ in range(chance.randint(0, 4))
    )
    text = f"{scheme}://{host}{chance.choice(('', '', ':443', ':8080', ':00080'))}/{path}"
    return grammar.damaged(chance, text, TOKENS) if chance.random() < 0.6 else text


def _canonical(host: str | None) -> str:
    """As a resolver would take it."""
    host = (host or "").strip("[]").lower()
    try:
        return socket.inet_ntoa(socket.inet_aton(host))
    except (OSError, UnicodeEncodeError):
        pass
    try:
        return str(ipaddress.IPv6Address(host))
    except ValueError:
        return host


PARSERS: tuple[Callable[[str], Any], ...] = (urlsplit, URL, httpx.URL)


def _host_by(parse: Callable[[str], Any], text: str) -> str | None:
    """None from a parser that refuses what others take for an address."""
    try:
        read = parse(text)
    except (ValueError, httpx.InvalidURL):
        return None
    if isinstance(read, httpx.URL):
        return read.raw_host.decode()
    return read.raw_host if isinstance(read, URL) else read.hostname


def check_url(given: str) -> str:
    try:
        found = parse_url(given)
    except EgressRefused as error:
        return refused(error.detail.replace(given, "") if len(given) > 8 else error.detail)
    others = {parse.__name__: _canonical(host) for parse in PARSERS if (host := _host_by(parse, given))}
    assert set(others.values()) == {found.host}, others
    assert urlsplit(given).port in (None, found.port)
    assert "@" not in urlsplit(given).netloc
    assert parse_url(found.url) == found
    packed = pack(found.host)
    if packed is not None and is_public(packed):
        _check_public(packed)
        return "public"
    wrong = wrong_url(given)
    assert wrong is None or wrong.strip()
    return "judged"


CLOSED = ("is_loopback", "is_private", "is_link_local", "is_multicast", "is_unspecified", "is_reserved")
PREFIXES = [
    bytes.fromhex(prefix)
    for prefix in (
        "00" * 10 + "ffff",
        "0064ff9b" + "00" * 8,
        "00" * 12,
        "2002",
        "20010000",
        "fe80",
        "fc00",
        "ff02",
    )
]
FIRST = (127, 10, 169, 172, 192, 100, 224, 0, 255, 8)


def packed_address(chance: Random) -> bytes:
    inner = bytes([chance.choice(FIRST)]) + chance.randbytes(3)
    prefix = chance.choice([*PREFIXES, b"\x26\x00", b"\x2a\x00"])
    if chance.random() < 0.3:
        return inner
    if chance.random() < 0.3:
        return (prefix + chance.randbytes(16))[:16]
    return (
        (prefix + inner + bytes(16))[:16]
        if len(prefix) == 2
        else prefix + inner.rjust(16 - len(prefix), b"\0")
    )


def check_packed(given: bytes) -> str:
    if not is_public(given):
        return "closed"
    _check_public(given)
    return "public"


def _check_public(packed: bytes) -> None:
    """What the standard library knows to be closed never is public."""
    address = ipaddress.ip_address(packed)
    inside = [address]
    if isinstance(address, ipaddress.IPv6Address):
        inside += [one for one in (address.ipv4_mapped, address.sixtofour, *(address.teredo or ())) if one]
        if packed[:12] == bytes.fromhex("0064ff9b0000000000000000"):
            inside = [ipaddress.IPv4Address(packed[12:])]
        if address.ipv4_mapped:
            inside = [address.ipv4_mapped]
    for one in inside:
        kinds = (
            "is_loopback",
            "is_private",
            "is_link_local",
            "is_multicast",
            "is_unspecified",
            "is_reserved",
        )
        assert [kind for kind in kinds if getattr(one, kind)] == [], one


TARGETS = (
    target("body", body, check_body, ("read", "refused", "unknown"), short=2000, long=250_000),
    target("url", url, check_url, ("judged", "public", "refused"), short=1500, long=150_000),
    target("packed", packed_address, check_packed, ("public", "closed"), short=1000, long=100_000),
)
