"""Warm after a restart: states of chats on disk, on real models; foreign or damaged ones are read again silently."""

import weakref
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from app.engine.process import _state_files
from app.engine.state_files import StateFiles, layout
from app.sampling import Sampling
from app.wire import LoadParams, Submit
from tests import tiny_models
from tests.engine.conftest import MakeRig, Rig
from tests.engine_run import Clock

KINDS = tuple(tiny_models.KINDS)
BUDGET = 64 << 20
FIRST = tuple(int(token) for token in np.random.default_rng(1).integers(1, 256, 120))


def ask(rig: Rig, number: int, tokens: tuple[int, ...], owner: int = 7) -> list[int]:
    rig.engine.submit(
        Submit(number, tokens, Sampling(temperature=0), max_tokens=6, ignore_eos=True, owner=owner)
    )
    rig.run()
    return rig.tokens(number)


def put_to_rest(rig: Rig, files: StateFiles) -> None:
    while rig.engine.rest():
        pass
    files.close(60)


def read(rig: Rig) -> int:
    return rig.steps[-1].counters.read


@pytest.fixture
def open_rig(tmp_path: Path, make_rig: MakeRig) -> Callable[[Path], tuple[Rig, StateFiles]]:
    """An engine whose states lie in this test's folder, as after a start of the program."""

    def start(model: Path) -> tuple[Rig, StateFiles]:
        files = StateFiles(tmp_path / "states", f"print of {model.name}", BUDGET)
        return make_rig(model, spill_bytes=BUDGET, files=files), files

    return start


@pytest.mark.parametrize("kind", KINDS)
def test_a_chat_goes_on_after_a_restart_and_reads_only_what_is_new(
    kind: str, tiny_files: dict[str, Path], open_rig: Callable[[Path], tuple[Rig, StateFiles]]
) -> None:
    rig, files = open_rig(tiny_files[kind])
    answer = ask(rig, 1, FIRST)
    put_to_rest(rig, files)
    again, _ = open_rig(tiny_files[kind])
    going_on = (*FIRST, *answer, 5, 6)
    after = ask(again, 2, going_on)
    assert read(again) == 3
    assert after == ask(rig, 2, going_on), "the engine that was never ended says otherwise"


def test_chats_that_share_a_beginning_share_its_file(
    tiny_files: dict[str, Path],
    open_rig: Callable[[Path], tuple[Rig, StateFiles]],
    tmp_path: Path,
) -> None:
    rig, files = open_rig(tiny_files["attention"])
    ask(rig, 1, (*FIRST, 1, 2), owner=1)
    put_to_rest(rig, files)
    alone = sum(path.stat().st_size for path in (tmp_path / "states").iterdir())
    rig, files = open_rig(tiny_files["attention"])
    for owner in range(2, 6):
        ask(rig, owner, (*FIRST, *([owner] * 30)), owner=owner)
    put_to_rest(rig, files)
    together = sum(path.stat().st_size for path in (tmp_path / "states").iterdir())
    # Four tails of 30 tokens beside one beginning of 120.
    assert together < 2.5 * alone
    again, _ = open_rig(tiny_files["attention"])
    for owner in range(2, 6):
        ask(again, owner, (*FIRST, *([owner] * 30), 200), owner=owner)
    assert read(again) == 4


def test_nobodys_state_is_not_written(
    tiny_files: dict[str, Path],
    open_rig: Callable[[Path], tuple[Rig, StateFiles]],
    tmp_path: Path,
) -> None:
    rig, files = open_rig(tiny_files["attention"])
    ask(rig, 1, FIRST, owner=0)
    put_to_rest(rig, files)
    assert list((tmp_path / "states").iterdir()) == []


@pytest.mark.parametrize("kind", KINDS)
def test_what_a_chat_goes_on_from_that_was_nobodys_goes_with_the_chat(
    kind: str,
    tiny_files: dict[str, Path],
    open_rig: Callable[[Path], tuple[Rig, StateFiles]],
    tmp_path: Path,
) -> None:
    rig, files = open_rig(tiny_files[kind])
    ask(rig, 1, FIRST, owner=0)
    rig.engine._pool.evict_all()
    ask(rig, 2, (*FIRST, *rig.tokens(1), 1, 2), owner=7)
    while rig.engine.rest():
        pass
    rig.engine.forget(7)
    files.close(60)
    assert list((tmp_path / "states").iterdir()) == []


def test_a_forgotten_chat_leaves_no_file_and_no_state(
    tiny_files: dict[str, Path],
    open_rig: Callable[[Path], tuple[Rig, StateFiles]],
    tmp_path: Path,
) -> None:
    rig, files = open_rig(tiny_files["attention"])
    ask(rig, 1, FIRST, owner=3)
    while rig.engine.rest():
        pass
    rig.engine.forget(3)
    put_to_rest(rig, files)
    assert list((tmp_path / "states").iterdir()) == []
    before = read(rig)
    ask(rig, 2, FIRST, owner=4)
    assert read(rig) - before == len(FIRST)


def test_the_bytes_of_a_forgotten_chat_are_gone_from_memory(
    tiny_files: dict[str, Path], open_rig: Callable[[Path], tuple[Rig, StateFiles]]
) -> None:
    rig, files = open_rig(tiny_files["attention"])
    ask(rig, 1, FIRST, owner=3)
    put_to_rest(rig, files)
    (blob,) = rig.engine._pool.states.blobs()
    assert blob.file is not None
    tokens = weakref.ref(blob.tokens)
    del blob
    rig.engine.forget(3)
    assert tokens() is None


def test_what_a_killed_engine_had_half_written_is_deleted(
    tiny_files: dict[str, Path],
    open_rig: Callable[[Path], tuple[Rig, StateFiles]],
    tmp_path: Path,
) -> None:
    rig, files = open_rig(tiny_files["attention"])
    ask(rig, 1, FIRST, owner=3)
    put_to_rest(rig, files)
    (whole,) = (tmp_path / "states").iterdir()
    half = whole.with_suffix(".tmp")
    half.write_bytes(whole.read_bytes()[:100])
    open_rig(tiny_files["attention"])
    assert list((tmp_path / "states").iterdir()) == [whole]


@pytest.mark.parametrize(
    "damage",
    [
        lambda raw: raw[: len(raw) // 2],
        lambda raw: raw[:-40] + bytes(40),
        lambda raw: b"",
        lambda raw: b"NOTASTATE" + raw,
        lambda raw: raw.replace(b"print of", b"trick of"),
        lambda raw: raw[:8] + b"\xff\xff\xff\xff" + raw[12:],
        lambda raw: raw[:12] + b"{}" + raw[14:],
    ],
)
def test_a_foreign_or_damaged_file_is_deleted_and_read_again(
    damage: Callable[[bytes], bytes],
    tiny_files: dict[str, Path],
    open_rig: Callable[[Path], tuple[Rig, StateFiles]],
    tmp_path: Path,
) -> None:
    rig, files = open_rig(tiny_files["attention"])
    answer = ask(rig, 1, FIRST)
    put_to_rest(rig, files)
    (path,) = (tmp_path / "states").iterdir()
    assert path.stat().st_mode & 0o077 == 0
    path.write_bytes(damage(path.read_bytes()))
    again, _ = open_rig(tiny_files["attention"])
    assert ask(again, 2, FIRST) == answer
    assert read(again) == len(FIRST)
    assert not path.exists()


def test_the_disk_budget_holds(
    tiny_files: dict[str, Path], make_rig: MakeRig, tmp_path: Path
) -> None:
    files = StateFiles(tmp_path, "print", 200_000)
    rig = make_rig(tiny_files["attention"], spill_bytes=BUDGET, files=files)
    for owner in range(1, 6):
        text = tuple(int(t) for t in np.random.default_rng(owner).integers(1, 256, 100))
        ask(rig, owner, text, owner=owner)
    put_to_rest(rig, files)
    sizes = [path.stat().st_size for path in tmp_path.iterdir()]
    assert sizes
    assert sum(sizes) <= 200_000


def test_a_state_of_other_cells_is_a_foreign_one(
    tiny_files: dict[str, Path], make_rig: MakeRig, tmp_path: Path
) -> None:
    """The same model with its cells compressed reads again, and is right."""
    answers = {}
    for turn, kv_type in enumerate(("f16", "q8_0", "q8_0")):
        params = LoadParams("model", kv_type=kv_type)
        files = StateFiles(tmp_path, layout("print", params, "1.0"), BUDGET)
        rig = make_rig(tiny_files["attention"], kv_type=kv_type, spill_bytes=BUDGET, files=files)
        answers[turn] = ask(rig, 1, (*FIRST, 7))
        assert read(rig) == (1 if turn == 2 else len(FIRST) + 1)
        put_to_rest(rig, files)
    assert answers[1] == answers[2]


def test_the_layout_names_all_that_changes_the_cells() -> None:
    given = layout("print", LoadParams("model"), "1.0")
    assert layout("other", LoadParams("model"), "1.0") != given
    assert layout("print", LoadParams("model", kv_type="q4_0"), "1.0") != given
    assert layout("print", LoadParams("model"), "1.1") != given
    # What does not: the same states serve a pool of another size.
    assert layout("print", LoadParams("model", pool_tokens=512, sequences=2), "1.0") == given


def test_chats_that_leave_the_pool_are_written_while_others_work(
    tiny_files: dict[str, Path], make_rig: MakeRig, tmp_path: Path
) -> None:
    """An engine that is killed at work loses nothing of the chats that were idle."""
    clock = Clock(0.001)
    files = StateFiles(tmp_path, "print", BUDGET)
    rig = make_rig(tiny_files["attention"], spill_bytes=BUDGET, files=files, clock=clock)
    ask(rig, 1, FIRST)
    rig.engine.submit(
        Submit(2, (5, 6, 7), Sampling(temperature=0), max_tokens=40, ignore_eos=True, owner=8)
    )
    rig.step()
    clock.now += 10
    rig.step()
    rig.step()
    files.close(60)
    assert [path.name.split("-")[0] for path in tmp_path.iterdir()] == ["7"]


@pytest.mark.parametrize("kind", KINDS)
def test_a_deleted_chat_leaves_to_others_what_they_go_on_from(
    kind: str, tiny_files: dict[str, Path], make_rig: MakeRig, tmp_path: Path
) -> None:
    """The first chat of some instructions is deleted; the second, which shares them, is not read again."""
    files = StateFiles(tmp_path, "print", BUDGET)
    rig = make_rig(tiny_files[kind], pool_tokens=256, spill_bytes=BUDGET, files=files)
    ask(rig, 1, (*FIRST, 1, 2), owner=3)
    second = (*FIRST, *([9] * 30))
    answer = ask(rig, 2, second, owner=4)
    others = tuple(int(t) for t in np.random.default_rng(9).integers(1, 256, 200))
    ask(rig, 3, others, owner=0)
    rig.engine.forget(3)
    put_to_rest(rig, files)
    owners = {path.name.split("-")[0] for path in tmp_path.iterdir()}
    assert owners == {"4"}
    before = read(rig)
    going_on = (*second, *answer, 5, 6)
    again = ask(rig, 4, going_on, owner=4)
    assert read(rig) - before == 3
    roomy = make_rig(tiny_files[kind], pool_tokens=2048)
    ask(roomy, 2, second)
    assert ask(roomy, 4, going_on) == again
    # After a restart, too.
    fresh = StateFiles(tmp_path, "print", BUDGET)
    later = make_rig(tiny_files[kind], spill_bytes=BUDGET, files=fresh)
    ask(later, 5, going_on, owner=4)
    assert read(later) == 3


def test_the_engine_of_one_model_keeps_the_budget_of_all(tmp_path: Path) -> None:
    other = tmp_path / "another model" / "1-a.state"
    other.parent.mkdir()
    other.write_bytes(b"x" * 100)
    for budget, left in ((100, True), (99, False)):
        params = LoadParams("/m.gguf", states_folder=str(tmp_path), disk_bytes=budget)
        files = _state_files("this model", params)
        assert list(files.scan()) == []
        files.close(60)
        assert other.exists() == left
