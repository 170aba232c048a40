"""What a template is told besides the messages: about reasoning, and what day it is.

The names are those that templates written for Hugging Face and llama.cpp look for; each template knows some.
"""

from collections.abc import Callable, Mapping
from datetime import datetime

from app.dialogue import Wishes

_KEPT = {
    "preserve_thinking": True,
    "clear_thinking": False,
    "truncate_history_thinking": False,
    "drop_thinking": False,
}
"""Old reasoning stays in the prompt where the template leaves the choice: what was read then need not be read again."""


def names(wishes: Wishes) -> Mapping[str, object]:
    """The names for these wishes; the day is that of `wishes.now`, or else today."""
    now = _moment(wishes.now)
    told: dict[str, object] = {
        **_KEPT,
        "strftime_now": _formatter(now),
        "date_string": now.strftime("%d %b %Y"),
        "datetime": now.strftime("%b %d %Y"),
        "enable_thinking": wishes.thinking is not False,
    }
    if wishes.thinking is not None:
        # Templates that reason only when asked to have this name for it.
        told["thinking"] = wishes.thinking
    if wishes.effort:
        told["reasoning_effort"] = wishes.effort
    return told


def _moment(seconds: float | None) -> datetime:
    if seconds is None:
        # The beginning of the day, for a template that writes the time as well.
        return datetime.now().astimezone().replace(hour=0, minute=0, second=0, microsecond=0)
    return datetime.fromtimestamp(seconds).astimezone()


def _formatter(now: datetime) -> Callable[[str], str]:
    def strftime_now(form: str) -> str:
        return now.strftime(form)

    return strftime_now
