"""A real screen: Xvfb with a window manager, for the program as a person starts it."""

import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.processes import driver

WATCHDOG = 240
ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="session")
def display() -> Iterator[str]:
    """The name of a fresh X display, 1280 x 800, with openbox where it is installed."""
    server = shutil.which("Xvfb")
    assert server, "these tests need Xvfb (Debian: apt-get install xvfb)"
    read_end, write_end = os.pipe()
    process = subprocess.Popen(
        [server, "-displayfd", str(write_end), "-screen", "0", "1280x800x24", "-nolisten", "tcp"],
        pass_fds=(write_end,),
        stderr=subprocess.DEVNULL,
    )
    os.close(write_end)
    with os.fdopen(read_end) as told:
        name = f":{told.readline().strip()}"
    manager = shutil.which("openbox")
    window_manager = (
        subprocess.Popen([manager], env={**os.environ, "DISPLAY": name}, stderr=subprocess.DEVNULL)
        if manager
        else None
    )
    yield name
    for child in filter(None, (window_manager, process)):
        child.terminate()
        child.wait(WATCHDOG)


def run_driver(
    name: str, display: str, folder: Path, *arguments: str
) -> "subprocess.CompletedProcess[str]":
    """Run `tests/e2e/<name>.py` in a process of its own on the real screen."""
    environment = {
        **os.environ,
        "DISPLAY": display,
        # Where there is no session bus, Qt may start one that outlives the program.
        "DBUS_SESSION_BUS_ADDRESS": os.environ.get("DBUS_SESSION_BUS_ADDRESS", "disabled:"),
        "QT_QPA_PLATFORM": "xcb",
        "TUTTI_DATA_DIR": str(folder / "data"),
        "TUTTI_DECODE_LOG": str(folder / "decode.jsonl"),
    }
    return subprocess.run(
        driver(f"tests.e2e.{name}", *arguments, options=("-X", "faulthandler")),
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
        timeout=WATCHDOG,
        check=False,
    )
