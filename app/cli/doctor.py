"""`tutti doctor`: what is installed, where things lie, and what is missing.

It loads no model, starts an engine only to ask for its devices, and shows no chat text, no key and no token, so that its output can be posted.
Exit code 0 when nothing is missing, 1 otherwise.
"""

import asyncio
import importlib.metadata
import json
import os
import platform
import shutil
import sqlite3
import sys
from collections.abc import Callable
from contextlib import closing, suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path

import psutil

from app import __version__, paths
from app.cli.libraries import missing_libraries
from app.cli.say import say
from app.device import Device
from app.errors import EngineDied

PACKAGES = ("pyside6-essentials", "qasync", "llama-cpp-python", "starlette", "uvicorn")


@dataclass(frozen=True, slots=True)
class Folder:
    """`free_bytes` of its disk; `problem` "" when it can be written."""

    name: str
    path: str
    free_bytes: int
    problem: str


@dataclass(frozen=True, slots=True)
class ModelFile:
    """A model that could be loaded."""

    path: str
    bytes: int
    starter: bool


@dataclass(frozen=True, slots=True)
class DatabaseState:
    """`state` is "none yet", "ok" or what is wrong, without any content."""

    path: str
    bytes: int
    schema: int
    state: str


@dataclass(frozen=True, slots=True)
class Report:
    """All of it; `problems` are sentences, with the command that helps where there is one."""

    versions: dict[str, str]
    machine: dict[str, str | int]
    devices: list[Device]
    folders: list[Folder]
    models: list[ModelFile]
    database: DatabaseState
    missing_libraries: dict[str, str] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)


def run(*, as_json: bool) -> int:
    report = examine()
    say(json.dumps(asdict(report), indent=2) if as_json else as_text(report))
    return 1 if report.problems else 0


def examine() -> Report:
    """Look at this machine."""
    libraries = missing_libraries() if sys.platform == "linux" else {}
    found, failure = devices()
    report = Report(versions(), machine(), found, folders(), models(), database_state(), libraries)
    report.problems.extend([*failure, *_problems(report)])
    return report


def versions() -> dict[str, str]:
    found = {
        "tutti": __version__,
        "python": platform.python_version(),
        "system": platform.platform(),
    }
    return found | {name: _version(name) for name in PACKAGES}


def _version(package: str) -> str:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        # A frozen build carries the package without its metadata.
        return "unknown" if getattr(sys, "frozen", False) else "not installed"


def machine() -> dict[str, str | int]:
    memory = psutil.virtual_memory()
    return {
        "processor": _processor(),
        "cores": psutil.cpu_count(logical=False) or 0,
        "threads": psutil.cpu_count() or 0,
        "memory_bytes": memory.total,
        "memory_available_bytes": memory.available,
    }


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        lines = []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor() or platform.machine()


def devices() -> tuple[list[Device], list[str]]:
    """What llama.cpp can compute on, and why that is not known, if so."""
    from app.client.child import engine_devices

    try:
        return list(asyncio.run(engine_devices())), []
    except EngineDied as error:
        return [], [f"The engine does not start: {error}"]


def folders() -> list[Folder]:
    named = {"data": paths.data_dir, "models": paths.models_dir, "logs": paths.logs_dir}
    return [_folder(name, place) for name, place in named.items()]


def _folder(name: str, place: Callable[[], Path]) -> Folder:
    try:
        path = place()
        problem = "" if os.access(path, os.W_OK | os.X_OK) else "cannot be written"
        return Folder(name, str(path), shutil.disk_usage(path).free, problem)
    except OSError as error:
        return Folder(name, str(error.filename or ""), 0, f"cannot be made ({error.strerror})")


def models() -> list[ModelFile]:
    """The starter model, and what lies in the models folder."""
    starter, found = None, set()
    # A folder that cannot be made is told by `folders`.
    with suppress(OSError):
        starter = paths.starter_model()
        found = {path for path in paths.models_dir().rglob("*.gguf") if path.is_file()}
    if starter is not None:
        found.add(starter)
    return [ModelFile(str(path), path.stat().st_size, path == starter) for path in sorted(found)]


def database_state() -> DatabaseState:
    from app.store.conversations import database_path

    try:
        return database(database_path())
    except OSError as error:
        return DatabaseState("", 0, 0, f"out of reach ({error.strerror})")


def database(path: Path) -> DatabaseState:
    """Opened for reading only; a running app is not disturbed."""
    if not path.is_file():
        return DatabaseState(str(path), 0, 0, "none yet")
    size = path.stat().st_size
    try:
        with closing(
            sqlite3.connect(f"{path.as_uri()}?mode=ro", uri=True, timeout=1)
        ) as connection:
            schema = int(connection.execute("PRAGMA user_version").fetchone()[0])
            verdict = connection.execute("PRAGMA quick_check(1)").fetchone()[0]
    except sqlite3.Error as error:
        return DatabaseState(str(path), size, 0, f"cannot be read ({error})")
    return DatabaseState(str(path), size, schema, "ok" if verdict == "ok" else "damaged")


def _problems(report: Report) -> list[str]:
    problems = [
        f"The {folder.name} folder {folder.problem}: {folder.path}."
        for folder in report.folders
        if folder.problem
    ]
    if not report.models:
        problems.append("There is no model yet; the starter model is not installed.")
    if report.database.state not in ("ok", "none yet"):
        problems.append(f"The chat database is {report.database.state}.")
    if report.missing_libraries:
        packages = " ".join(sorted(set(report.missing_libraries.values())))
        problems.append(f"The window needs system libraries: sudo apt-get install {packages}")
    return problems


def as_text(report: Report) -> str:
    lines = [f"{name:20} {value}" for name, value in report.versions.items()]
    lines += ["", *(f"{name:20} {_shown(name, value)}" for name, value in report.machine.items())]
    lines += ["", *(f"{'device':20} {_device(item)}" for item in report.devices)]
    lines += [
        "",
        *(
            f"{item.name + ' folder':20} {item.path} ({_size(item.free_bytes)} free)"
            for item in report.folders
        ),
    ]
    lines += [
        "",
        *(
            f"{'starter model' if item.starter else 'model':20} {item.path} ({_size(item.bytes)})"
            for item in report.models
        ),
    ]
    lines += [
        f"{'database':20} {report.database.path} ({_size(report.database.bytes)}, {report.database.state})",
        "",
    ]
    return "\n".join([*lines, *(report.problems or ["Nothing is missing."])])


def _shown(name: str, value: str | int) -> str:
    return _size(value) if isinstance(value, int) and name.endswith("bytes") else str(value)


def _device(item: Device) -> str:
    memory = f" ({_size(item.memory_free)} of {_size(item.memory)} free)" if item.gpu else ""
    return f"{item.name}: {item.description}{memory}"


def _size(count: int) -> str:
    return f"{count / 1e9:.1f} GB" if count >= 1e9 else f"{count / 1e6:.1f} MB"
