"""The list of downloads: pressed, closed and opened again while the network does what it wants."""

import os
import shutil
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from app.errors import HubProblem
from app.hub import receipts
from app.hub.access import Access
from app.hub.downloads import Downloads
from app.hub.remote import RemoteModel
from app.hub.standing import Row, State
from tests.fake_hub import MIB, Content, Does, FakeHub
from tests.hub.conftest import FOR_EVER, until

pytestmark = pytest.mark.slow
Find = Callable[..., RemoteModel]


@pytest.fixture
def open_list(hub: FakeHub, models: Path) -> Iterator[Callable[[], Downloads]]:
    opened: list[Downloads] = []

    def build() -> Downloads:
        opened.append(Downloads(models, Access(hub.endpoint), patience=FOR_EVER))
        return opened[-1]

    yield build
    for downloads in opened:
        downloads.close()


def row(downloads: Downloads, key: str) -> Row:
    return next(row for row in downloads.rows() if row.key == key)


def is_in(downloads: Downloads, key: str, state: State) -> bool:
    return row(downloads, key).state is state


def test_pause_resume_and_the_end(hub: FakeHub, models: Path, find: Find, open_list: Callable[[], Downloads]) -> None:  # fmt: skip
    hub.add("o/r", m__gguf=Content(3 * MIB))
    hub.script = [Does(stall_after=2 * MIB)]
    downloads = open_list()
    key = downloads.add(find())
    until(lambda: row(downloads, key).standing.done >= MIB)
    downloads.pause(key)
    assert is_in(downloads, key, State.PAUSED)
    downloads.resume(key)
    until(lambda: is_in(downloads, key, State.DONE))
    assert (models / "o" / "r" / "m.gguf").stat().st_size == 3 * MIB
    assert not (models / "downloads.json").exists()
    assert row(downloads, key).standing.done == 3 * MIB


def test_two_at_once_and_the_rest_in_order(hub: FakeHub, find: Find, open_list: Callable[[], Downloads]) -> None:  # fmt: skip
    hub.add("o/r", a__gguf=Content(MIB), b__gguf=Content(MIB, 1), c__gguf=Content(MIB, 2))
    hub.always = Does(stall_after=10)
    downloads = open_list()
    keys = [downloads.add(find(wanted=f"{name}.gguf")) for name in "abc"]
    assert [row(downloads, key).state for key in keys] == [State.RUNNING, State.RUNNING, State.WAITING]  # fmt: skip
    hub.always = Does()
    downloads.cancel(keys[0])
    until(lambda: is_in(downloads, keys[2], State.DONE))
    assert keys[0] not in [one.key for one in downloads.rows()]


def test_what_another_tutti_brings_stays_when_it_is_cancelled_here(
    hub: FakeHub, models: Path, find: Find, open_list: Callable[[], Downloads]
) -> None:
    hub.add("o/r", m__gguf=Content(3 * MIB))
    model = find()
    hub.script = [Does(stall_after=2 * MIB)]
    theirs, ours = open_list(), Downloads(models, Access(hub.endpoint), patience=FOR_EVER)
    key = theirs.add(model)
    until(lambda: row(theirs, key).standing.done >= MIB)
    ours.add(model)
    until(lambda: is_in(ours, key, State.FAILED))
    error = row(ours, key).error
    assert error is not None
    assert error.problem is HubProblem.TAKEN
    ours.cancel(key)
    ours.close()
    (part,) = models.rglob("*.part")
    assert part.stat().st_size == 3 * MIB
    theirs.pause(key)
    theirs.resume(key)
    until(lambda: is_in(theirs, key, State.DONE))
    assert (models / "o" / "r" / "m.gguf").stat().st_size == 3 * MIB
    assert (hub.bodies()[-1].first or 0) >= MIB


def test_an_end_leaves_the_part_of_another_version_that_another_tutti_brings(
    hub: FakeHub, models: Path, find: Find, open_list: Callable[[], Downloads]
) -> None:
    repo = hub.add("o/r", m__gguf=Content(3 * MIB))
    old = find()
    hub.script = [Does(stall_after=2 * MIB)]
    theirs, ours = open_list(), Downloads(models, Access(hub.endpoint), patience=FOR_EVER)
    key = theirs.add(old)
    until(lambda: row(theirs, key).standing.done >= MIB)
    repo.files["m.gguf"] = Content(3 * MIB, 1)
    new = find()
    assert new.key != key
    ours.add(new)
    until(lambda: is_in(ours, new.key, State.DONE))
    ours.close()
    assert [path.name for path in models.rglob("*.part")] == [
        f"m.gguf.{old.files[0].digest[:8]}.part"
    ]


def test_of_two_files_of_a_repository_that_come_at_once_both_are_known(
    hub: FakeHub, models: Path, find: Find, open_list: Callable[[], Downloads]
) -> None:
    hub.add("o/r", a__gguf=Content(2 * MIB), b__gguf=Content(MIB, 1))
    other_is_there = threading.Event()

    def wait() -> None:
        other_is_there.wait()

    hub.script = [Does(call_after=(MIB, wait))]
    downloads = open_list()
    first = downloads.add(find(wanted="a.gguf"))
    until(hub.bodies)
    second = downloads.add(find(wanted="b.gguf"))
    until(lambda: is_in(downloads, second, State.DONE))
    assert set(receipts.load(models / "o" / "r")) == {"b.gguf"}
    other_is_there.set()
    until(lambda: is_in(downloads, first, State.DONE))
    assert set(receipts.load(models / "o" / "r")) == {"a.gguf", "b.gguf"}


def test_cancel_and_the_same_again_at_once(hub: FakeHub, models: Path, find: Find, open_list: Callable[[], Downloads]) -> None:  # fmt: skip
    hub.add("o/r", m__gguf=Content(2 * MIB))
    hub.script = [Does(stall_after=MIB)]
    downloads = open_list()
    model = find()
    key = downloads.add(model)
    until(hub.bodies)
    downloads.cancel(key)
    assert downloads.rows() == []
    assert downloads.add(model) == key
    until(lambda: is_in(downloads, key, State.DONE))
    assert [path.name for path in models.rglob("*.part*")] == []


def test_cancel_of_one_that_rests_removes_its_part(hub: FakeHub, models: Path, find: Find, open_list: Callable[[], Downloads]) -> None:  # fmt: skip
    hub.add("o/r", m__gguf=Content(2 * MIB))
    hub.script = [Does(stall_after=MIB)]
    downloads = open_list()
    key = downloads.add(find())
    until(lambda: row(downloads, key).standing.done >= MIB)
    downloads.pause(key)
    until(lambda: not any(one.name.startswith("download ") for one in threading.enumerate()))
    downloads.cancel(key)
    until(lambda: not any(folders or files for _, folders, files in os.walk(models)))


def test_the_list_goes_on_after_a_restart(hub: FakeHub, models: Path, find: Find, open_list: Callable[[], Downloads]) -> None:  # fmt: skip
    hub.add("o/r", a__gguf=Content(2 * MIB), b__gguf=Content(2 * MIB, 1))
    hub.script = [Does(stall_after=MIB), Does(stall_after=MIB)]
    first = open_list()
    running, resting = (first.add(find(wanted=f"{name}.gguf")) for name in "ab")
    until(lambda: all(one.standing.done >= MIB for one in first.rows()))
    first.pause(resting)
    first.close()
    second = open_list()
    second.restore()
    until(lambda: is_in(second, running, State.DONE))
    until(lambda: row(second, resting).standing.done >= MIB)
    assert is_in(second, resting, State.PAUSED)
    assert min(asked.first for asked in hub.bodies()[2:]) >= MIB


def test_a_failure_is_on_its_row_and_can_be_tried_again(hub: FakeHub, find: Find, open_list: Callable[[], Downloads]) -> None:  # fmt: skip
    repo = hub.add("o/r", m__gguf=Content(MIB))
    model = find()
    repo.gated = True
    downloads = open_list()
    key = downloads.add(model)
    until(lambda: is_in(downloads, key, State.FAILED))
    error = row(downloads, key).error
    assert error is not None
    assert error.problem is HubProblem.GATED
    assert error.page == f"{hub.endpoint}/o/r"
    repo.gated = False
    downloads.resume(key)
    until(lambda: is_in(downloads, key, State.DONE))


def test_of_two_that_fit_only_one_by_one_the_second_is_refused(hub: FakeHub, find: Find, tmp_path: Path, open_list: Callable[[], Downloads]) -> None:  # fmt: skip
    size = int(shutil.disk_usage(tmp_path).free * 0.6)
    hub.add("o/r", a__gguf=Content(size, sha256="a" * 64), b__gguf=Content(size, sha256="b" * 64))
    hub.always = Does(stall_after=10)
    downloads = open_list()
    first, second = (downloads.add(find(wanted=f"{name}.gguf")) for name in "ab")
    until(lambda: is_in(downloads, second, State.FAILED))
    assert row(downloads, second).error.problem is HubProblem.DISK
    assert all("b.gguf" not in asked.path for asked in hub.bodies())
    until(hub.bodies)
    downloads.cancel(first)


@pytest.mark.parametrize("text", ["", "{", "[1, null, {}]", '[{"model": {"repo": "../x", "commit": "c", "files": []}}]', "[" * 100_000])  # fmt: skip
def test_a_spoilt_list_is_no_reason_not_to_start(hub: FakeHub, models: Path, open_list: Callable[[], Downloads], text: str) -> None:  # fmt: skip
    models.mkdir()
    (models / "downloads.json").write_text(text)
    downloads = open_list()
    downloads.restore()
    assert downloads.rows() == []


def test_a_limit_on_the_speed_holds_a_transfer_back(hub: FakeHub, find: Find, open_list: Callable[[], Downloads]) -> None:  # fmt: skip
    hub.add("o/r", m__gguf=Content(8 * MIB))
    downloads = open_list()
    downloads.limit(at_once=1, bytes_per_second=100_000)
    key = downloads.add(find())
    until(lambda: row(downloads, key).standing.done > 0)
    assert row(downloads, key).standing.done < MIB
    downloads.limit(at_once=1, bytes_per_second=0)
    until(lambda: is_in(downloads, key, State.DONE))
