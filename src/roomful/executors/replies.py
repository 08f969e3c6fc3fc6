"""What an endpoint answered, as an outcome."""

import re
from contextlib import suppress
from http import HTTPStatus
from typing import Final

import msgspec

from roomful.domain.outbound import OutboundResponse
from roomful.domain.outcomes import Done, Failed, Outcome
from roomful.domain.shape import Json, clean_json, clean_text, decode_json
from roomful.executors.masking import Masker
from roomful.tools.reading import children_of

DEEPEST: Final = 64
_EXCERPT: Final = 300
_TOO_DEEP: Final = f"the endpoint's JSON is nested deeper than {DEEPEST}"
_JSON_TYPE: Final = re.compile(r"application/(?:[\w.+-]+\+)?json|text/json")
_CHARSET: Final = re.compile(r"charset=\"?([\w.:-]{1,40})")
_KIND: Final = re.compile(r"[\w.+-]{1,60}/[\w.+-]{1,60}")
_MARKUP: Final = re.compile(r"text/html|(?:text|application)/(?:[\w.+-]+\+)?xml")
_BLANKS: Final = re.compile(r"[\s\x00-\x1f\x7f-\x9f]+")


class BadReply(Exception):
    """An answer that cannot be a result, in a sentence without secrets."""


class _NotJson(BadReply):
    pass


def outcome_of(response: OutboundResponse, masker: Masker) -> Outcome:
    if not 200 <= response.status < 300:
        return Failed(_refusal(response, masker))
    try:
        return Done(masker.json(value_of(response, masker)))
    except BadReply as bad:
        return Failed(str(bad))


def value_of(response: OutboundResponse, masker: Masker) -> Json:
    """JSON where it says so or can be read so, else text; nothing at all is null. Raises BadReply."""
    media_type = response.headers.get("content-type", "").lower()
    if not response.body.strip():
        return None
    if _JSON_TYPE.match(media_type):
        return _json(response.body, masker)
    if not _MARKUP.match(media_type):
        with suppress(_NotJson):
            return _json(response.body, masker)
    return clean_text(_text(response.body, media_type))


def _json(body: bytes, masker: Masker) -> Json:
    try:
        value = decode_json(body.removeprefix(b"\xef\xbb\xbf"))
    except RecursionError:
        raise BadReply(_TOO_DEEP) from None
    except (msgspec.MsgspecError, UnicodeDecodeError):
        raise _NotJson(
            f"the endpoint says it sends JSON, but this is none: {_excerpt(body, masker)}"
        ) from None
    level, depth = [value], 0
    while level:
        depth += 1
        if depth > DEEPEST + 1:
            raise BadReply(_TOO_DEEP)
        level = [child for item in level for child in children_of(item)]
    return clean_json(value)


def _text(body: bytes, media_type: str) -> str:
    charset = _CHARSET.search(media_type)
    try:
        return body.decode(charset[1] if charset else "utf-8")
    except (UnicodeDecodeError, LookupError):
        if media_type.startswith("text/"):
            return body.decode("utf-8", "replace")
    kind = _KIND.match(media_type)
    told = kind[0] if kind else "an unknown type"
    raise BadReply(f"the endpoint sent {len(body)} bytes of {told}, which are neither JSON nor text")


def _refusal(response: OutboundResponse, masker: Masker) -> str:
    try:
        phrase = f" {HTTPStatus(response.status).phrase}"
    except ValueError:
        phrase = ""
    if 300 <= response.status < 400:
        return f"the endpoint answered HTTP {response.status}{phrase}; redirects are not followed"
    said = _excerpt(response.body, masker)
    return f"the endpoint answered HTTP {response.status}{phrase}{': ' if said else ''}{said}"


def _excerpt(body: bytes, masker: Masker) -> str:
    """The beginning of a body. It is masked while it is long, so that no secret is cut in two before."""
    text = masker.text(body[:65_536].decode("utf-8", "replace"))
    plain = clean_text(_BLANKS.sub(" ", text).strip())
    return plain if len(plain) <= _EXCERPT else plain[: _EXCERPT - 1] + "…"
