"""Tools: configure → build → check. Three dialects come in, one model goes on.

`configure` reads an author's configuration, `model_tools` builds what a model is told, `strip_routing` and
`check_arguments` take what it says back, `expand` and its like fill in an author's templates.
"""

from roomful.tools.build import check_arguments, check_result, model_tools, strip_routing
from roomful.tools.builtins import builtin_tools
from roomful.tools.configure import configure
from roomful.tools.parsing import parse_config
from roomful.tools.problems import ConfigRefused, Problem
from roomful.tools.sealing import (
    find_literal_secrets,
    find_sealed,
    leave_out_secrets,
    open_secret,
    open_secrets,
    reseal_secrets,
    seal_secrets,
)
from roomful.tools.servers import offered_name, offered_tool
from roomful.tools.templates import Env, TemplateError, expand, expand_headers, expand_text
from roomful.tools.urls import expand_query, expand_url

__all__ = [
    "ConfigRefused",
    "Env",
    "Problem",
    "TemplateError",
    "builtin_tools",
    "check_arguments",
    "check_result",
    "configure",
    "expand",
    "expand_headers",
    "expand_query",
    "expand_text",
    "expand_url",
    "find_literal_secrets",
    "find_sealed",
    "leave_out_secrets",
    "model_tools",
    "offered_name",
    "offered_tool",
    "open_secret",
    "open_secrets",
    "parse_config",
    "reseal_secrets",
    "seal_secrets",
    "strip_routing",
]
