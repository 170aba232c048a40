"""Entry of the frozen program: the app, or one of its child processes.

A program started by double click may have no stdout and stderr, and libraries write to them: they get a sink
before anything else.  Children start here too and are led off by `freeze_support`.
"""

import multiprocessing
import os
import sys


def give_streams() -> None:
    """Replace streams that are not there."""
    if sys.stdout is None:
        sys.stdout = open(os.devnull, "w", encoding="utf-8")  # noqa: PTH123, SIM115
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w", encoding="utf-8")  # noqa: PTH123, SIM115


if __name__ == "__main__":
    give_streams()
    multiprocessing.freeze_support()

    from app.__main__ import main

    sys.exit(main())
