"""`roomful chat`."""

import argparse
import asyncio
from pathlib import Path

from roomful.cli.parsing import Commands
from roomful.domain.errors import Invalid, Unauthorized

_ENVIRONMENT = """\
environment:
  ROOMFUL_URL=http://127.0.0.1:8000
      the gateway
  ROOMFUL_TOKEN=
      who you are
  NO_COLOR=
      set it to anything to see no colours
"""


def add_commands(commands: Commands) -> None:
    chat = commands.add(
        "chat",
        _chat,
        "Talk in a space from the terminal; through a pipe, in plain text.",
        examples=("roomful chat team --token-file token.txt", 'echo "Hello" | roomful chat team'),
        exits={"1": "a run failed, or there is no such gateway, token or space"},
        more=_ENVIRONMENT,
    )
    chat.add_argument("space", metavar="SPACE")
    chat.add_argument("--url", help="the gateway (default ROOMFUL_URL, else http://127.0.0.1:8000)")
    chat.add_argument("--token-file", metavar="FILE", type=Path, help="a file with the token in it")
    chat.add_argument(
        "--token", help="the token; others on this machine can see it: rather set ROOMFUL_TOKEN (default)"
    )


def _chat(arguments: argparse.Namespace) -> int:
    from roomful.client.terminal import chat
    from roomful.settings import chat_settings

    set_here = chat_settings()
    token = arguments.token or _token_in(arguments.token_file) or set_here.token
    if not token:
        raise Unauthorized("who are you? Set ROOMFUL_TOKEN, or name a file with --token-file")
    url = arguments.url or set_here.url
    return asyncio.run(chat(url, token, arguments.space, has_colours=set_here.has_colours))


def _token_in(file: Path | None) -> str:
    if file is None:
        return ""
    try:
        return file.read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise Invalid(f"the token cannot be read from {file}: {error}") from None
