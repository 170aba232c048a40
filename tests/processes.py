"""Which processes belong to a test, or to a run of the program that it started."""

import sys
from collections.abc import Sequence
from pathlib import Path

import psutil

_RUN = "import runpy, sys; runpy.run_module(sys.argv.pop(1), run_name='__main__')"


def processes_of(data_folder: Path) -> list[psutil.Process]:
    """All living processes, children and orphans too, whose environment names this folder as theirs."""
    found = []
    for process in psutil.process_iter():
        try:
            environment = process.environ()
            dead = process.status() == psutil.STATUS_ZOMBIE
        except psutil.Error:
            continue
        if environment.get("TUTTI_DATA_DIR") == str(data_folder) and not dead:
            found.append(process)
    return found


def children() -> list[psutil.Process]:
    """The living children of this process, but for Python's own helper."""
    found = []
    for child in psutil.Process().children():
        try:
            if "resource_tracker" not in " ".join(child.cmdline()):
                found.append(child)
        except psutil.Error:  # it has ended meanwhile
            continue
    return found


def driver(module: str, *arguments: str, options: Sequence[str] = ()) -> list[str]:
    """The command that runs a module of the tests as a program, with these options of Python.

    Its child processes begin with none of it, as those of the real program do: with `-m` each of them would import the
    module first, and all of the window with it.
    """
    return [sys.executable, *options, "-c", _RUN, module, *arguments]
