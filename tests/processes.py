"""Which processes belong to a run of the program: those that were started on its data folder."""

from pathlib import Path

import psutil


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
