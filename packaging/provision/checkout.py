"""One checkout, set up: its virtual environment holds what the locks name, and a stamp says so.

The stamp makes the second `make run` start at once: it is compared with the lock files, the project file and the
place of the checkout, without starting any program.
"""

import hashlib
import json
import os
import time
from pathlib import Path

from provision import filelock, llama_build, locks, system, wheelhouse
from provision.console import StatusLine
from provision.environment import Environment
from provision.errors import SetupError
from provision.llama_build import PACKAGE

GROUPS = ("app", "dev")
SPACE_MB = 1_200


class Checkout:
    """The folder of the project.  `ready` brings it to the state that a command needs."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.log = root / "build" / "setup.log"
        self._line = StatusLine()
        self._began = time.monotonic()
        self.environment = Environment(root / ".venv", self.log, self._say)
        self._stamp = self.environment.folder / "tutti-setup.json"

    def ready(self, groups: tuple[str, ...]) -> None:
        """Install these lock groups, unless the stamp says that they are there."""
        if not self.missing(groups):
            return
        with filelock.held(self.root / "build" / "setup.lock", self._wait):
            missing = self.missing(groups)
            if missing:
                self._line.start("setting up Tutti; the first time this takes some minutes")
                self._set_up(missing)
                self._line.done(f"set up in {_duration(time.monotonic() - self._began)}")

    def missing_libraries(self, *, window: bool) -> list[str]:
        """System libraries that Qt will want: for drawing without a screen, or for a window on X11."""
        qt = self._qt_folder()
        if qt is None:
            return []
        plugins = [qt / "plugins" / "platforms" / "libqoffscreen.so"]
        if window and not os.environ.get("WAYLAND_DISPLAY"):
            plugins.append(qt / "plugins" / "platforms" / "libqxcb.so")
        return system.missing_libraries([qt / "lib" / "libQt6Widgets.so.6", *plugins])

    def _qt_folder(self) -> Path | None:
        found = self.environment.folder.glob("lib/python*/site-packages/PySide6/Qt")
        return next(iter(found), None)

    def _set_up(self, groups: tuple[str, ...]) -> None:
        system.require_space(self.environment.folder, SPACE_MB, "the virtual environment")
        self.log.parent.mkdir(parents=True, exist_ok=True)
        self.log.write_text("", encoding="utf-8")
        self._keep_cmake_args()
        # The long part first: whoever has to leave knows early whether it works.
        wheel = wheelhouse.require_wheel(self.log, self._say)
        if not self.environment.works():
            self.environment.make()
        if "app" in groups:
            self._install_app(wheel)
        if "dev" in groups:
            self.environment.install_lock(locks.path("dev"))
        self.write_stamp(groups)

    def _install_app(self, wheel: Path) -> None:
        self._say(f"installing {PACKAGE}")
        install: list[str | Path] = [
            "install",
            "--no-deps",
            "--no-index",
            "--force-reinstall",
            wheel,
        ]
        self.environment.pip(install, f"installing {PACKAGE}")
        for lock in ("app", "install", "starter"):
            self.environment.install_lock(locks.path(lock))
        self._say("installing Tutti")
        own: list[str | Path] = [
            "install",
            "--no-deps",
            "--no-index",
            "--no-build-isolation",
            "-e",
            self.root,
        ]
        self.environment.pip(own, "installing Tutti itself")

    def missing(self, groups: tuple[str, ...]) -> tuple[str, ...]:
        """Those of the groups that are not installed as the locks and the project file say now."""
        stamp = self._read_stamp()
        if not self.environment.python.exists():
            stamp = {}
        wanted = os.environ.get("CMAKE_ARGS")
        if wanted is not None and wanted != stamp.get("cmake_args", ""):
            stamp = {}
        return tuple(name for name in groups if stamp.get(name) != self._digest(name))

    def _digest(self, group: str) -> str:
        files = {
            "app": [locks.path("app"), locks.path("install"), locks.path("starter"),
                    llama_build.CORE_ONLY, llama_build.PROCESSOR, self.root / "pyproject.toml"],
            "dev": [locks.path("dev")],
        }[group]  # fmt: skip
        # Scripts in a virtual environment name its place: a moved checkout is set up again.
        digest = hashlib.sha256(str(self.root).encode())
        for file in files:
            digest.update(file.read_bytes())
        return digest.hexdigest()

    def _keep_cmake_args(self) -> None:
        """Flags that were given once (a GPU backend, say) hold until other ones are given."""
        kept = self._read_stamp().get("cmake_args", "")
        if kept:
            os.environ.setdefault("CMAKE_ARGS", kept)

    def _read_stamp(self) -> dict[str, str]:
        try:
            stamp = json.loads(self._stamp.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return {}
        return stamp if isinstance(stamp, dict) else {}

    def write_stamp(self, groups: tuple[str, ...]) -> None:
        """Note that these groups are installed."""
        stamp = {name: value for name, value in self._read_stamp().items() if name in GROUPS}
        stamp |= {name: self._digest(name) for name in groups}
        stamp["cmake_args"] = os.environ.get("CMAKE_ARGS", "")
        beside = self._stamp.with_suffix(".tmp")
        beside.write_text(json.dumps(stamp, indent=2), encoding="utf-8")
        beside.replace(self._stamp)

    def _say(self, text: str) -> None:
        self._line.show(f"  {text}")

    def _wait(self) -> None:
        self._line.start("waiting for another set-up of this checkout")


def require_libraries(checkout: Checkout, *, window: bool) -> None:
    """SetupError that names the missing system libraries and the command that installs them."""
    missing = checkout.missing_libraries(window=window)
    if missing:
        raise SetupError(system.libraries_message(missing, system.package_manager()))


def _duration(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest} s" if minutes else f"{rest} s"
