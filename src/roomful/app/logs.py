"""How the log reads: as plain lines, or as one JSON object a line for a machine."""

import logging
from datetime import UTC, datetime

from roomful.domain.shape import clean_json, encode_json
from roomful.runs.watching import AT_WORK
from roomful.settings import Settings


class JsonLines(logging.Formatter):
    """With the run at work, its agent and its space where there is one. An exception is one field."""

    def format(self, record: logging.LogRecord) -> str:
        told: dict[str, str | int | None] = {
            "time": datetime.fromtimestamp(record.created, UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
            "process": record.process,
        }
        if (run := AT_WORK.get()) is not None:
            told |= {"run": run.id, "agent": run.agent_id}
            if space_id := run.active_space_id or run.trigger.space_id:
                told["space"] = space_id
        if record.exc_info:
            told["exception"] = self.formatException(record.exc_info)
        return encode_json(clean_json(told)).decode()


def set_up_logs(settings: Settings, plain: str) -> None:
    """To standard error. `plain` is how a plain line is made."""
    handler = logging.StreamHandler()
    handler.setFormatter(JsonLines() if settings.log_format == "json" else logging.Formatter(plain))
    logging.basicConfig(level=settings.log_level.upper(), handlers=[handler])
