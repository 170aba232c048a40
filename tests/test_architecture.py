"""The borders between the parts hold, and the checks that guard them would notice if they did not."""

import ast
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from PySide6.QtCore import QObject, Signal

ROOT = Path(__file__).parent.parent
MODULES = sorted((ROOT / "app").rglob("*.py"))
_LINT = "from importlinter.cli import lint_imports_command; lint_imports_command()"

PLANTED = (
    ("app/chat/planted_qt.py", "import PySide6.QtCore", "app.chat.planted_qt -> PySide6"),
    ("app/store/planted_loop.py", "import qasync", "app.store.planted_loop -> qasync"),
    ("app/hub/planted_qt.py", "import PySide6.QtCore", "app.hub.planted_qt -> PySide6"),
    ("app/hub/plan.py", "import threading", "app.hub.plan -> threading"),
    ("app/ui/planted_llama.py", "import llama_cpp", "app.ui.planted_llama -> llama_cpp"),
    ("app/ui/planted_sql.py", "import sqlite3", "app.ui.planted_sql -> sqlite3"),
    ("app/ui/planted_client.py", "import app.client", "app.ui.planted_client -> app.client"),
    ("app/api/planted_ui.py", "import app.ui", "app.api.planted_ui -> app.ui"),
    ("app/client/planted_store.py", "import app.store", "app.client.planted_store -> app.store"),
    ("app/client/planted_door.py", "import app.engine.core", "app.client.planted_door -> app.engine.core"),
    ("app/chat/planted_up.py", "import app.client", "app.chat.planted_up -> app.client"),
    ("app/engine/planted_chat.py", "import app.chat", "app.engine.planted_chat -> app.chat"),
    ("app/engine/planted_loop.py", "import asyncio", "app.engine.planted_loop -> asyncio"),
    ("app/engine/scheduler.py", "import ctypes", "app.engine.scheduler -> ctypes"),
    ("app/text/stream.py", "import llama_cpp", "app.text.stream -> llama_cpp"),
    ("app/wire.py", "import app.settings", "app.wire -> app.settings"),
)  # fmt: skip


def lint_imports(folder: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", _LINT, "--no-cache"], cwd=folder, capture_output=True, text=True, check=False
    )  # fmt: skip


@pytest.mark.slow
def test_import_contracts_hold() -> None:
    done = lint_imports(ROOT)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.slow
def test_planted_violations_are_caught(tmp_path: Path) -> None:
    shutil.copytree(ROOT / "app", tmp_path / "app", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    for file, line, _ in PLANTED:
        with (tmp_path / file).open("a", encoding="utf-8") as stream:
            stream.write(f"\n{line}\n")
    done = lint_imports(tmp_path)
    assert done.returncode != 0
    missed = [chain for _, _, chain in PLANTED if chain not in done.stdout]
    assert not missed, done.stdout


@pytest.mark.slow
def test_a_package_without_a_layer_is_refused(tmp_path: Path) -> None:
    shutil.copytree(ROOT / "app", tmp_path / "app", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    (tmp_path / "app" / "rogue").mkdir()
    (tmp_path / "app" / "rogue" / "__init__.py").write_text('"""Belongs nowhere."""\n')
    done = lint_imports(tmp_path)
    assert done.returncode != 0
    assert "rogue" in done.stdout


@pytest.mark.slow
@pytest.mark.parametrize(
    ("modules", "absent"),
    [
        (["app.__main__"], ["PySide6", "shiboken6", "qasync", "llama_cpp", "numpy", "huggingface_hub", "httpx2"]),
        (["app.main"], ["llama_cpp"]),
        (["app.engine"], ["PySide6", "shiboken6", "qasync", "jinja2", "sqlite3"]),
        (["app.text"], ["PySide6", "shiboken6", "qasync", "sqlite3"]),
        (["app.chat", "app.client", "app.store", "app.hub", "app.api", "app.cli"], ["PySide6", "shiboken6", "qasync", "llama_cpp"]),
    ],
    ids=lambda value: value[0],
)  # fmt: skip
def test_what_a_process_loads(modules: list[str], absent: list[str]) -> None:
    """In a fresh interpreter, with every module of the named packages imported."""
    names = [name for module in modules for name in with_submodules(module)]
    code = f"import sys\nimport {', '.join(names)}\nprint(*(set({absent!r}) & set(sys.modules)))"
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == []


def with_submodules(module: str) -> list[str]:
    folder = ROOT / module.replace(".", "/")
    files = folder.rglob("*.py") if folder.is_dir() else ()
    names = [".".join(path.relative_to(ROOT).with_suffix("").parts) for path in files]
    return [module, *(name.removesuffix(".__init__") for name in names)]


def test_every_module_says_what_it_is_for() -> None:
    silent = [path for path in MODULES if not ast.get_docstring(ast.parse(path.read_bytes()))]
    assert silent == []


def test_no_module_is_a_drawer_or_too_long() -> None:
    drawers = {"utils", "util", "helpers", "helper", "common", "misc"}
    assert [path for path in MODULES if path.stem in drawers] == []
    lengths = {path: len(path.read_text(encoding="utf-8").splitlines()) for path in MODULES}
    assert {path: length for path, length in lengths.items() if length > 400} == {}


def test_no_file_names_a_package_index_or_somebodys_folder() -> None:
    names = subprocess.run(
        ["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout.split("\0")
    # Put together here, so that this file does not hold them.
    hosts = (
        "pypi" + r"\.org",
        "pythonhosted" + r"\.org",
        "registry" + r"\.npmjs",
        "deb" + r"\.debian",
    )
    folders = ("/ro" + "ot/", "/ho" + r"me/\w", "/Us" + r"ers/\w", "/wo" + r"rk/\w")
    pattern = re.compile("|".join((*hosts, *folders)))
    found = {}
    for name in filter(None, names):
        path = ROOT / name
        if path.is_file() and path.suffix not in {".png", ".gguf"}:
            hits = pattern.findall(path.read_text(encoding="utf-8", errors="replace"))
            found.update({name: hits} if hits else {})
    assert found == {}


def test_emitting_a_signal_keeps_the_references_of_true() -> None:
    """PySide6 6.12.0 drops one at every emit, until Python 3.11 aborts; Python 3.12 hides it."""

    class Source(QObject):
        fired = Signal(bool)

    source = Source()
    before = sys.getrefcount(True)
    for _ in range(1000):
        source.fired.emit(False)
    assert abs(sys.getrefcount(True) - before) < 100
