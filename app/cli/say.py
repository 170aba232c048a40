"""Words of a command for the person or program that started it."""

import logging
import sys

_log = logging.getLogger(__name__)


def say(text: str) -> None:
    """One line on stdout, at once.  That nobody reads it is not a reason to stop."""
    _print(text, error=False)


def note(text: str) -> None:
    """One line on stderr."""
    _print(f"tutti: {text}", error=True)


def _print(text: str, *, error: bool) -> None:
    try:
        print(text, file=sys.stderr if error else sys.stdout, flush=True)
    except OSError:
        _log.warning("Nobody reads the output any more: %s", text)
