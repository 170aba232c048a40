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
    stream = sys.stderr if error else sys.stdout
    try:
        stream.write(f"{_writable(text, stream.encoding)}\n")
        stream.flush()
    except OSError:
        _log.warning("Nobody reads the output any more: %s", text)


def _writable(text: str, encoding: str | None) -> str:
    """Names are a stranger's: what the stream has no letters for is spelled out, instead of ending the command."""
    coded = encoding or "utf-8"
    return text.encode(coded, "backslashreplace").decode(coded)
