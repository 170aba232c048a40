"""The lock files name versions and hashes and no address; they cover what the project file asks for."""

import hashlib
import re
import tomllib
from pathlib import Path

import pytest

import lock
from provision import locks

ROOT = Path(__file__).parent.parent.parent
NAMES = sorted(lock.INPUTS)


def canonical(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def wanted(requirements: list[str]) -> set[str]:
    return {canonical(re.split(r"[\s<>=!~;\[]", text, maxsplit=1)[0]) for text in requirements}


@pytest.mark.parametrize("name", NAMES)
def test_every_entry_is_exact_and_hashed(name: str) -> None:
    text = locks.path(name).read_text(encoding="utf-8")
    pins = locks.pins(locks.path(name))
    entries = [line for line in text.splitlines() if line and not line.startswith((" ", "#"))]
    assert len(pins) == len(entries) > 0
    assert all(pin.hashes for pin in pins)
    assert not re.search(r"://|--index|--find-links|file:", text)


def test_the_locks_cover_the_project_file() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    app = {canonical(pin.name) for pin in locks.pins(locks.path("app"))}
    dev = {canonical(pin.name) for pin in locks.pins(locks.path("dev"))}
    assert wanted(project["project"]["dependencies"]) <= app
    assert wanted(project["dependency-groups"]["dev"]) <= dev
    assert wanted(project["build-system"]["requires"]) <= {
        canonical(pin.name) for pin in locks.pins(locks.path("install"))
    }


@pytest.mark.parametrize("name", ["dev", "install"])
def test_locks_that_share_an_environment_agree(name: str) -> None:
    app = {(pin.name, pin.text.partition(" ")[0]) for pin in locks.pins(locks.path("app"))}
    names = {name for name, _ in app}
    other = {(pin.name, pin.text.partition(" ")[0]) for pin in locks.pins(locks.path(name))}
    assert {entry for entry in other if entry[0] in names} <= app


def test_the_faulty_qt_binding_is_not_locked() -> None:
    assert locks.pin(locks.path("app"), "pyside6-essentials").version != "6.12.0"


def test_llama_comes_as_one_source_archive() -> None:
    pin = locks.pin(locks.path("app"), "llama-cpp-python")
    assert len(pin.hashes) == 1
    assert pin.text.startswith(f"llama-cpp-python=={pin.version} ")


def test_a_package_that_is_not_locked_is_an_error() -> None:
    with pytest.raises(KeyError):
        locks.pin(locks.path("app"), "torch")


def test_sha256_is_that_of_the_content(tmp_path: Path) -> None:
    file = tmp_path / "x"
    file.write_bytes(b"abc" * 1_000_000)
    assert locks.sha256(file) == hashlib.sha256(b"abc" * 1_000_000).hexdigest()
