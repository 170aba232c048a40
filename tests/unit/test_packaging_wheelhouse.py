"""Compiled wheels are kept by everything that changes them, appear whole, and are compiled once."""

import subprocess
import sys
from pathlib import Path

import pytest

from provision import filelock, llama_build, locks, wheelhouse
from provision.environment import Environment

PACKAGING = Path(wheelhouse.__file__).parent.parent


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("TUTTI_CACHE_DIR", str(tmp_path / "cache"))
    for name in ("CMAKE_ARGS", "CFLAGS", "CXX"):
        monkeypatch.delenv(name, raising=False)
    return tmp_path / "cache"


def test_the_folder_is_outside_the_checkout(monkeypatch: pytest.MonkeyPatch, cache: Path) -> None:
    assert wheelhouse.wheel_dir().parent == cache / "wheels"
    monkeypatch.delenv("TUTTI_CACHE_DIR")
    monkeypatch.setenv("XDG_CACHE_HOME", str(cache / "xdg"))
    if sys.platform == "linux":
        assert wheelhouse.cache_dir() == cache / "xdg" / "tutti"


@pytest.mark.parametrize(
    ("name", "value"), [("CMAKE_ARGS", "-DGGML_CUDA=ON"), ("CFLAGS", "-O1"), ("CXX", "no-such-c++")]
)
def test_other_flags_are_another_wheel(
    monkeypatch: pytest.MonkeyPatch, name: str, value: str
) -> None:
    plain = wheelhouse.wheel_dir()
    assert plain == wheelhouse.wheel_dir()
    monkeypatch.setenv(name, value)
    assert wheelhouse.wheel_dir() != plain


def test_a_wheel_that_is_there_is_taken(cache: Path, tmp_path: Path) -> None:
    said: list[str] = []
    folder = wheelhouse.wheel_dir()
    folder.mkdir(parents=True)
    (folder / "llama_cpp_python-0-py3-none-any.whl").write_bytes(b"wheel")
    wheel = wheelhouse.require_wheel(tmp_path / "log", said.append)
    assert wheel.read_bytes() == b"wheel"
    assert said == []


def test_publishing_shows_the_wheel_whole_and_clears_up(cache: Path, tmp_path: Path) -> None:
    work, target = cache / "build" / "w", wheelhouse.wheel_dir()
    (work / "wheel").mkdir(parents=True)
    (work / "wheel" / "x.whl").write_bytes(b"new")
    models = work / "llama_cpp_python-1.2.3" / "vendor" / "llama.cpp" / "models"
    models.mkdir(parents=True)
    (models / "one.jinja").write_text("template")
    target.mkdir(parents=True)
    (target / "old.whl").write_bytes(b"half")
    wheel = wheelhouse.publish(work / "wheel" / "x.whl", target, work)
    assert sorted(path.name for path in target.iterdir()) == ["models", "x.whl"]
    assert (target / "models" / "one.jinja").read_text() == "template"
    assert wheel.read_bytes() == b"new"
    assert not work.exists()
    assert [path.name for path in target.parent.iterdir()] == [target.name]


def test_the_flags_survive_a_folder_with_spaces(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CMAKE_ARGS", "-DGGML_VULKAN=ON")
    source, work = Path("/a b/source"), Path("/a b")
    made = llama_build.build_environment(source, work)
    assert made["CMAKE_ARGS"].endswith("-DGGML_VULKAN=ON")
    assert "-DLLAVA_BUILD=OFF" in made["CMAKE_ARGS"]
    assert int(made["CMAKE_BUILD_PARALLEL_LEVEL"]) >= 1
    if sys.platform != "win32":
        assert '"-ffile-prefix-map=/a b/source/=./"' in made["CFLAGS"]


def test_an_archive_with_another_hash_is_removed(tmp_path: Path) -> None:
    build = llama_build.Build(tmp_path, tmp_path / "log", lambda _text: None)
    archive = tmp_path / "llama_cpp_python.tar.gz"
    archive.write_bytes(b"not the source")
    with pytest.raises(Exception, match="not the file that the lock names"):
        build.check(archive)
    assert not archive.exists()
    assert llama_build.pin() == locks.pin(locks.path("app"), "llama-cpp-python")


def test_a_virtual_environment_without_pip_does_not_count(tmp_path: Path) -> None:
    environment = Environment(tmp_path / "venv", tmp_path / "log", lambda _text: None)
    assert not environment.works()
    environment.python.parent.mkdir(parents=True)
    environment.python.write_text("#!/bin/sh\nexit 1\n")
    environment.python.chmod(0o755)
    assert not environment.works()


def test_a_lock_is_held_by_one_process_and_freed_by_its_death(tmp_path: Path) -> None:
    lock, waits = tmp_path / "deep" / "x.lock", []
    holder_code = (
        f"import sys; sys.path.insert(0, {str(PACKAGING)!r})\n"
        "from pathlib import Path\nfrom provision import filelock\n"
        "with filelock.held(Path(sys.argv[1]), lambda: None):\n"
        "    print('held', flush=True)\n    sys.stdin.readline()\n"
    )
    with subprocess.Popen(
        [sys.executable, "-c", holder_code, str(lock)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as holder:  # fmt: skip
        assert holder.stdout is not None
        assert holder.stdout.readline() == "held\n"

        def on_wait() -> None:
            waits.append(holder.poll())
            holder.kill()

        with filelock.held(lock, on_wait):
            pass
    assert waits == [None]
