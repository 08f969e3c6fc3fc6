"""Addresses in a configuration: what an author may write, and how values get into them.

Scheme, host and port are the author's alone. A value fills one place inside the path or the query, encoded
so that it cannot end its segment, its pair or the path.
"""

import re
import unicodedata
from collections.abc import Mapping
from urllib.parse import quote, unquote

from roomful.domain.shape import Json
from roomful.tools.reading import as_list
from roomful.tools.templates import Argument, Env, Filling, TemplateError, as_text, broken_in, expand, pieces

LONGEST_URL = 16 * 1024
EXAMPLE = "https://api.example.com/path"

_ADDRESS = re.compile(
    r"(?P<origin>https?://(?P<host>[^/?#]*))(?P<path>[^?#]*)(?P<query>\?[^#]*)?(?P<rest>#.*)?",
    re.IGNORECASE | re.DOTALL,
)
_HOST = re.compile(
    r"(?:[A-Za-z0-9](?:[A-Za-z0-9_.-]*[A-Za-z0-9.])?|\[[0-9A-Fa-f:.]+\])(?::(?P<port>\d{1,5}))?"
)
_NOT_IN_URL = re.compile(r"[\x00-\x20\x7f-\x9f\\]")
_NOT_IN_PATH = re.compile(r"[\x00-\x1f\x7f-\x9f]")
_SECRET_PAIR = re.compile(
    r"[?&](?:api[_-]?key|access[_-]?key|access[_-]?token|auth[_-]?token|client[_-]?secret|secret|password|passwd)"
    r"=(?!\{\{|\$\{|&|$)",
    re.IGNORECASE,
)


def wrong_url(text: str, *, filled: bool = False) -> str | None:
    """What is wrong with an address, or None. Only a `filled` one may take arguments from the input."""
    match = _ADDRESS.fullmatch(text)
    if not match:
        return "is not an address: write https://host/path, the scheme and the host as plain text"
    wrong = _wrong_host(match["host"])
    if wrong:
        return wrong
    broken = broken_in(text)
    if broken:
        return f"has {broken!r} in it, which is no placeholder: write {{{{name}}}} or ${{env.NAME}}"
    literal = [piece for piece in pieces(text) if isinstance(piece, str)]
    if any(_NOT_IN_URL.search(piece) for piece in literal):
        return "has a space, a control character or a backslash in it: write it percent-encoded"
    if match["rest"]:
        return 'has a part after "#", which is never sent: leave it out'
    if any(_climbs(segment) for segment in match["path"].split("/")):
        return 'has "." or ".." in its path: write the path that is meant'
    if _SECRET_PAIR.search(match["query"] or ""):
        return "has a secret in its query: write ${env.NAME} there, or use a header"
    if not filled and any(isinstance(piece, Argument) for piece in pieces(text)):
        return "takes no arguments: write the address without {{…}}"
    return None


def expand_url(template: str, args: Mapping[str, Json], env: Env) -> str:
    """The address with every value encoded. What is missing or null is empty."""
    match = _ADDRESS.fullmatch(template)
    wrong = wrong_url(template, filled=True)
    if wrong or not match:
        raise TemplateError(f"the address {wrong}")
    filling = Filling(args, env)
    path = _bounded(_fill(match["path"], filling, forbidden=_NOT_IN_PATH), "path")
    if any(_climbs(segment) for segment in path.split("/")):
        raise TemplateError('a value would put "." or ".." into the path of the address')
    return _bounded(match["origin"] + path + _fill(match["query"] or "", filling), "address")


def expand_query(query: Mapping[str, Json], args: Mapping[str, Json], env: Env) -> str:
    """`a=1&b=2`, to be added to an address. A list gives its key several times; what is missing or null is
    left out."""
    filling = Filling(args, env)
    pairs: list[str] = []
    for key, template in query.items():
        found = pieces(template) if isinstance(template, str) else ()
        if len(found) > 1:
            value: Json = "".join(filling.text(piece, none="") for piece in found)
        else:
            value = expand(template, args, env)
        items = as_list(value)
        given = [item for item in (items if items is not None else [value]) if item is not None]
        pairs += [f"{_quoted(key, key)}={_quoted(as_text(item, key), key)}" for item in given]
    return _bounded("&".join(pairs), "query")


def _fill(template: str, filling: Filling, forbidden: re.Pattern[str] | None = None) -> str:
    done: list[str] = []
    for piece in pieces(template):
        if isinstance(piece, str):
            done.append(piece)
            continue
        text = filling.text(piece, none="")
        if forbidden and forbidden.search(text):
            raise TemplateError(f"{piece.written} would put a control character into the address")
        done.append(_quoted(text, piece.written))
    return "".join(done)


def _wrong_host(host: str) -> str | None:
    if "{" in host:
        return (
            "has a placeholder before its path: write scheme, host and port as plain text, "
            "they may not depend on input or secrets"
        )
    if "@" in host:
        return "has a user name or a password in it: write the address without, and use a header"
    match = _HOST.fullmatch(host)
    if not match or int(match["port"] or 1) not in range(1, 65536):
        return "has no usable host: write a name in plain letters and digits, as in api.example.com"
    return None


def _quoted(text: str, written: str) -> str:
    try:
        return quote(text, safe="")
    except UnicodeEncodeError:
        raise TemplateError(f"{written} is not a text that can be sent") from None


def _bounded(text: str, what: str) -> str:
    if len(text) > LONGEST_URL:
        raise TemplateError(f"the {what} would be longer than {LONGEST_URL} characters")
    return text


def _climbs(segment: str) -> bool:
    """Whether any reader of the path could take the segment, or a part of it, for "." or "..": also one
    that decodes it again and again, drops what follows a semicolon, or takes look-alikes for a dot."""
    for _ in range(8):
        plain = unicodedata.normalize("NFKC", segment)
        if any(step.partition(";")[0] in (".", "..") for step in re.split(r"[/\\]", plain)):
            return True
        segment = unquote(segment)
    return False
