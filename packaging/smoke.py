"""Try a Tutti that is installed or frozen, as a stranger's machine would: `packaging/smoke.py PROGRAM`.

PROGRAM is the frozen folder (`dist/tutti`) or an installed command (`.venv/bin/tutti`).  It runs from `/` with an
empty home and next to no environment: its self-test, then its window under a screen of its own, closed by the
keyboard; nothing may be left running.  Of a frozen folder every library must be resolved.  Wants Xvfb, openbox and
xdotool; standard library only.
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

_SELFTEST_SECONDS = 180
_WINDOW_SECONDS = 60
_END_SECONDS = 30
_POLL_SECONDS = 0.1
_FOR_WAYLAND = re.compile(r"wayland|libQt6Wl", re.IGNORECASE)


_Answer = TypeVar("_Answer", str, bool)


class SmokeError(Exception):
    """Something does not work; the text says what."""


def main(arguments: list[str]) -> int:
    """Run all the trials; the first that fails ends it."""
    target = Path(arguments[0] if arguments else "dist/tutti").absolute()
    frozen = target.is_dir()
    program = target / "tutti" if frozen else target
    try:
        with tempfile.TemporaryDirectory(prefix="tutti-smoke-") as home:
            if frozen:
                check_libraries(target)
            check_selftest(program, home)
            check_window(program, home)
    except SmokeError as error:
        print(f"smoke: {error}", file=sys.stderr)
        return 1
    print("smoke: all well")
    return 0


def check_libraries(folder: Path) -> None:
    """Every library in the folder finds what it needs, in the folder or in the system."""
    env = {"PATH": os.defpath, "LD_LIBRARY_PATH": str(folder / "_internal")}
    files = [path for path in folder.rglob("*") if is_elf(path)]
    missing: set[tuple[str, str]] = set()
    for path in files:
        done = subprocess.run(["ldd", path], capture_output=True, text=True, env=env, check=False)
        missing |= {
            (line.split()[0], str(path.relative_to(folder)))
            for line in done.stdout.splitlines()
            if "not found" in line
        }
    needed = sorted(f"{name} (wanted by {file})" for name, file in missing if is_needed(name, file))
    if needed:
        raise SmokeError(f"unresolved libraries: {', '.join(needed)}")
    print(f"smoke: {len(files)} libraries resolved")
    if missing:
        print(
            f"smoke: not here, as on a machine without Wayland: {', '.join(sorted(dict(missing)))}"
        )


def is_needed(library: str, wanted_by: str) -> bool:
    """Whether a missing library is a fault.  Those of Wayland are the system's own, never ours: where a machine has
    none, Qt's parts for Wayland are not used."""
    return not (library.startswith("libwayland-") and _FOR_WAYLAND.search(wanted_by) is not None)


def is_elf(path: Path) -> bool:
    """Whether that is a program or a library."""
    if path.is_symlink() or not path.is_file():
        return False
    with path.open("rb") as file:
        return file.read(4) == b"\x7fELF"


def check_selftest(program: Path, home: str) -> None:
    """`tutti selftest` ends with 0."""
    began = time.monotonic()
    try:
        done = subprocess.run(
            [program, "selftest"], cwd="/", env=bare_environment(home), capture_output=True, text=True,
            timeout=_SELFTEST_SECONDS, check=False,
        )  # fmt: skip
    except subprocess.TimeoutExpired as error:
        raise SmokeError(f"selftest did not end within {_SELFTEST_SECONDS} s") from error
    if done.returncode != 0:
        said = (done.stdout + done.stderr).strip()
        raise SmokeError(f"selftest ended with {done.returncode}:\n{said}\n{logs(home)}")
    print(done.stdout.rstrip())
    print(f"smoke: selftest passed in {time.monotonic() - began:.1f} s")


def check_window(program: Path, home: str) -> None:
    """The window appears, closes by the keyboard, and leaves no process behind."""
    require_tools("Xvfb", "openbox", "xdotool")
    with screen(home) as env:
        began = time.monotonic()
        # A session of its own: whatever it starts can be told from the rest of the machine.
        app = subprocess.Popen([program], cwd="/", env=env, start_new_session=True)
        try:
            window = wait_for(lambda: visible_window(app, env), _WINDOW_SECONDS)
            if not window:
                raise SmokeError(f"no window within {_WINDOW_SECONDS} s\n{logs(home)}")
            print(f"smoke: window after {time.monotonic() - began:.1f} s")
            subprocess.run(["xdotool", "windowactivate", "--sync", window], env=env, check=True)
            subprocess.run(["xdotool", "key", "alt+F4"], env=env, check=True)
            if not wait_for(lambda: app.poll() is not None, _END_SECONDS):
                raise SmokeError(f"did not end within {_END_SECONDS} s after its window was closed")
            if app.returncode != 0:
                raise SmokeError(f"the window's process ended with {app.returncode}\n{logs(home)}")
            if not wait_for(lambda: not processes_of_session(app.pid), _END_SECONDS):
                raise SmokeError(f"processes left behind: {processes_of_session(app.pid)}")
        finally:
            for pid in processes_of_session(app.pid):
                os.kill(pid, 9)
            app.wait()
    print("smoke: closed, nothing left running")


def bare_environment(home: str) -> dict[str, str]:
    """What `env -i` would leave, with a home that holds nothing."""
    # Without a session bus Qt may start one, which would outlive the program.
    bus = {"DBUS_SESSION_BUS_ADDRESS": "disabled:"}
    return {"HOME": home, "PATH": "/usr/bin:/bin", "LC_ALL": "C.UTF-8", **bus}


@contextmanager
def screen(home: str) -> Iterator[dict[str, str]]:
    """An X server with a window manager; gives the environment that leads to it."""
    reading, writing = os.pipe()
    server = subprocess.Popen(
        ["Xvfb", "-displayfd", str(writing), "-screen", "0", "1280x800x24", "-nolisten", "tcp"],
        pass_fds=[writing],
        stderr=subprocess.DEVNULL,
    )
    os.close(writing)
    try:
        with os.fdopen(reading) as answer:
            display = answer.readline().strip()
        if not display:
            raise SmokeError("Xvfb did not start")
        env = {**bare_environment(home), "DISPLAY": f":{display}"}
        manager = subprocess.Popen(
            ["openbox"], env=env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        try:
            if not wait_for(lambda: has_window_manager(env), _WINDOW_SECONDS):
                raise SmokeError("openbox did not start")
            yield env
        finally:
            manager.terminate()
            manager.wait()
    finally:
        server.terminate()
        server.wait()


def has_window_manager(env: dict[str, str]) -> bool:
    """Whether somebody manages the windows of this screen yet."""
    done = subprocess.run(
        ["xdotool", "get_num_desktops"], env=env, capture_output=True, check=False
    )
    return done.returncode == 0


def visible_window(app: "subprocess.Popen[bytes]", env: dict[str, str]) -> str:
    """The window that belongs to the program, or an empty text."""
    if app.poll() is not None:
        raise SmokeError(f"the program ended with {app.returncode} before it showed a window")
    done = subprocess.run(
        ["xdotool", "search", "--onlyvisible", "--pid", str(app.pid)],
        env=env, capture_output=True, text=True, check=False,
    )  # fmt: skip
    return done.stdout.partition("\n")[0]


def wait_for(condition: Callable[[], _Answer], seconds: float) -> _Answer:
    """Ask until the answer is yes or the time is over; the last answer."""
    end = time.monotonic() + seconds
    while True:
        answer = condition()
        if answer or time.monotonic() > end:
            return answer
        time.sleep(_POLL_SECONDS)


def processes_of_session(session: int) -> list[int]:
    """The processes of a session that still run."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            # "pid (name) state parent group session ...": the name may hold anything.
            fields = (folder / "stat").read_text(errors="replace").rpartition(")")[2].split()
        except OSError:
            continue
        if int(fields[3]) == session and fields[0] != "Z":
            found.append(int(folder.name))
    return found


def logs(home: str) -> str:
    """The ends of the log files that the program wrote."""
    parts = []
    for path in sorted(Path(home).rglob("*.log")):
        tail = path.read_text(encoding="utf-8", errors="replace")[-2000:]
        parts.append(f"--- {path.name}\n{tail}")
    return "\n".join(parts)


def require_tools(*names: str) -> None:
    """Refuse when a tool of this test is missing."""
    missing = [name for name in names if shutil.which(name) is None]
    if missing:
        raise SmokeError(f"not installed: {', '.join(missing)}")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
