"""Loads what the first answer needs (the Markdown parser, the lexers' register) beside the window's own work.

Together they take 130 ms of a core; in the GUI thread that would be one long stall in the middle of the first
answer.  The thread ends by itself.
"""

import threading

from app.ui.colouring import find_lexer
from app.ui.markdown import parser

_begun = threading.Event()


def begin() -> None:
    """Start loading, once in a process."""
    if not _begun.is_set():
        _begun.set()
        threading.Thread(target=_load, name="preload").start()


def _load() -> None:
    parser()
    find_lexer("python")
