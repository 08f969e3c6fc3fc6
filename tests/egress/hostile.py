"""URLs that must not get out, by class. `PORT` stands for the port of the listener that waits for them."""

import ipaddress
from collections.abc import Iterator

INNER_V4 = (
    "127.0.0.1",
    "127.0.0.2",
    "127.255.255.254",
    "0.0.0.0",
    "10.0.0.1",
    "172.16.0.1",
    "172.31.255.255",
    "192.168.0.1",
    "169.254.169.254",
    "100.64.0.1",
    "100.100.100.200",
    "192.0.0.192",
    "192.0.2.1",
    "198.18.0.1",
    "198.51.100.7",
    "203.0.113.9",
    "168.63.129.16",
    "224.0.0.1",
    "240.0.0.1",
    "255.255.255.255",
)
INNER_NAMES = (
    "localhost",
    "ip6-localhost",
    "internal.test",
    "v6.test",
    "mixed.test",
    "mapped.test",
    "zone.test",
)
# 2d00::/8 is global unicast that was never given to anybody: judged public, and no such host can answer.
NAMES = {
    "localhost": [["127.0.0.1", "::1"]],
    "ip6-localhost": [["::1"]],
    "internal.test": [["10.1.2.3"]],
    "v6.test": [["fd00::7"]],
    "mixed.test": [["2d00::1", "127.0.0.1"]],
    "mapped.test": [["::ffff:127.0.0.1"]],
    "zone.test": [["fe80::1%lo"]],
    "public.test": [["2d00::1"]],
}


def numeric_v4() -> Iterator[str]:
    """Every spelling that inet_aton reads: whole, in two, three and four parts, in three bases."""
    for address in INNER_V4:
        number = int(ipaddress.IPv4Address(address))
        a, b, c, d = number.to_bytes(4, "big")
        low3, low2 = number & 0xFFFFFF, number & 0xFFFF
        yield from (address, str(number), hex(number), f"0{number:o}", f"0X{number:08X}", f"0x{number:016x}")
        yield from (f"{a}.{low3}", f"{a}.{b}.{low2}", f"0x{a:x}.{low3}", f"0{a:o}.0x{b:x}.{low2}")
        yield from (f"0{a:o}.0{b:o}.0{c:o}.0{d:o}", f"0x{a:02x}.0x{b:02x}.0x{c:02x}.0x{d:02x}")
        yield f"000{a:o}.{b}.0x{c:x}.000{d:o}"


def embedded_v6() -> Iterator[str]:
    """IPv4 inside IPv6, in every wrapping that some stack undoes."""
    for address in INNER_V4:
        number = int(ipaddress.IPv4Address(address))
        groups = f"{number >> 16:x}:{number & 0xFFFF:x}"
        inverted = number ^ 0xFFFFFFFF
        yield from (
            f"[::ffff:{address}]",
            f"[::ffff:{groups}]",
            f"[0:0:0:0:0:ffff:{groups}]",
            f"[::{address}]",
        )
        yield from (f"[64:ff9b::{groups}]", f"[64:ff9b:1::{groups}]", f"[2002:{groups}::1]")
        yield f"[2001:0:4136:e378:8000:63bf:{inverted >> 16:x}:{inverted & 0xFFFF:x}]"


def plain_v6() -> Iterator[str]:
    yield from ("[::1]", "[0:0:0:0:0:0:0:1]", "[::]", "[0000::0001]", "[fe80::1]", "[febf::1]", "[fec0::1]")
    yield from ("[fc00::1]", "[fd00:ec2::254]", "[fd20:ce::254]", "[ff02::1]", "[ff0e::1]", "[100::1]")
    yield from ("[2001:db8::1]", "[3fff::1]", "[2001:2::1]", "[2001:10::1]", "[5f00::1]", "[4000::1]")
    yield from (
        "[fe80::1%25lo]",
        "[fe80::1%lo]",
        "[::1%25lo]",
        "[::1%lo]",
        "[v1.a]",
        "[]",
        "[::1",
        "::1",
        "::1]",
    )


def disguised_hosts() -> Iterator[str]:
    """What one parser reads as an innocent host and another as ours."""
    for user in ("a@", "a:b@", "example.com@", "example.com:80@", "example.com%40", "@", ":@", "a@b@"):
        yield f"{user}127.0.0.1"
    for glue in (
        "\\@",
        "\\",
        "#@",
        "?@",
        ";@",
        "%5c@",
        "%23@",
        "%2f",
        "\t",
        " ",
        "\r\n",
        "\n",
        "\x00",
        "%00",
        "%0d%0a",
    ):
        yield from (f"example.com{glue}127.0.0.1", f"127.0.0.1{glue}example.com")
    yield from ("127.0.0.1.", "127.0.0.1..", ".127.0.0.1", "127..0.1", "localhost.", "LOCALHOST", "LocalHost")
    yield from (
        "%31%32%37.0.0.1",
        "127%2e0%2e0%2e1",
        "127.0.0.1%2f",
        "loc%61lhost",
        "[127.0.0.1]",
        "(127.0.0.1)",
    )
    yield from (
        "127\u30020\u30020\u30021",
        "127\uff0e0\uff0e0\uff0e1",
        "\u2460\u2461\u2466.\u24ea.\u24ea.\u2460",
        "\uff11\uff12\uff17.\uff10.\uff10.\uff11",
        "\u24db\u24de\u24d2\u24d0\u24db\u24d7\u24de\u24e2\u24e3",
        "loc\u0430lhost",
        "127\u00ad.0.0.1",
    )
    yield from (
        "127.0.0.1\u200b",
        "\u200d127.0.0.1",
        "127.0.0.1\ufeff",
        "localhost\u0000",
        "\u017f.test",
        "127.0.0.1,example.com",
    )
    yield from (
        "127.0.0.1;example.com",
        "127.0.0.1|x",
        "{127.0.0.1}",
        "127.0.0.1^",
        "-127.0.0.1",
        '"127.0.0.1"',
        "",
    )
    yield from (
        "a" * 254,
        "x." * 130 + "test",
        "a" * 64 + ".test",
        "<127.0.0.1>",
        "127.0.0.1`",
        "$(127.0.0.1)",
        "*",
    )


def hosts() -> Iterator[str]:
    yield from numeric_v4()
    yield from embedded_v6()
    yield from plain_v6()
    yield from disguised_hosts()
    yield from INNER_NAMES


def schemes() -> Iterator[str]:
    for scheme in (
        "file",
        "gopher",
        "ftp",
        "dict",
        "ldap",
        "unix",
        "http+unix",
        "ws",
        "wss",
        "jar:http",
        "tftp",
    ):
        yield f"{scheme}://127.0.0.1:PORT/"
    yield from (
        "//127.0.0.1:PORT/",
        "127.0.0.1:PORT/",
        "http:127.0.0.1:PORT/",
        "http:/127.0.0.1:PORT/",
        "/x",
        "",
    )
    yield from (
        "http:///127.0.0.1:PORT/",
        "http:////127.0.0.1:PORT/",
        "http:\\\\127.0.0.1:PORT/",
        "file:///etc/passwd",
    )
    yield from (
        " http://127.0.0.1:PORT/",
        "http://127.0.0.1:PORT/ ",
        "\thttp://127.0.0.1:PORT/",
        "url:http://127.0.0.1:PORT/",
    )
    yield from (
        "data:text/plain,hi",
        "javascript:alert(1)",
        "http\x00://127.0.0.1:PORT/",
        "ht\ntp://127.0.0.1:PORT/",
    )


def ports() -> Iterator[str]:
    """An open host, but doors that are not for tools, and ports that are no ports."""
    for port in (
        0,
        1,
        21,
        22,
        23,
        25,
        53,
        110,
        143,
        389,
        445,
        3306,
        5432,
        6379,
        8000,
        9200,
        11211,
        27017,
        65536,
        99999,
    ):
        yield f"http://public.test:{port}/"
    for port in ("-1", "+80", "080", "0x50", "8_0", "80a", "", " 80", "\uff18\uff10", "80:80", "4294967376"):
        yield f"http://public.test:{port}/"


def paths() -> Iterator[str]:
    for path in (
        "/../x",
        "/a/../../x",
        "/./x",
        "/%2e%2e/x",
        "/.%2E/x",
        "/a/..",
        "/%zz",
        "/a b",
        "/a\\b",
        "/a\nb",
        "/\u00e9",
    ):
        yield f"http://public.test{path}"
    yield "http://public.test/" + "a" * 9000


def urls() -> list[str]:
    """All of them, each once."""
    found = [f"{scheme}://{host}:PORT/" for host in hosts() for scheme in ("http", "https")]
    return list(dict.fromkeys([*found, *schemes(), *ports(), *paths()]))
