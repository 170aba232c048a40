"""Plans for real files: read once, measured at each load, and shown as they were made."""

from collections.abc import Callable
from pathlib import Path

from app.sizing.machine import Machine
from app.sizing.planner import NO_OUTLOOK, Planner
from app.sizing.profiles import RESERVE, Own
from tests import tiny_models

GB = 1 << 30


def measuring(*free: int) -> Callable[[], Machine]:
    """Each look finds the next of these."""
    looks = iter(free)
    return lambda: Machine(next(looks), 2)


def test_the_numbers_follow_the_file(tmp_path: Path) -> None:
    path = tmp_path / "m.gguf"
    tiny_models.attention(path)
    plan = Planner(measuring(4 * GB)).load(str(path), "production")
    # 16 chats of 2,048 tokens: more than this model was trained for is of no use.
    assert (plan.pool_tokens, plan.sequences, plan.pool_bytes) == (32_768, 16, 32_768 * 512)


def test_a_loaded_model_is_shown_what_it_was_given(tmp_path: Path) -> None:
    path, other = str(tmp_path / "m.gguf"), str(tmp_path / "other.gguf")
    for name in (path, other):
        tiny_models.attention(Path(name))
    # Once loaded, it holds a part of what was free.
    planner = Planner(measuring(4 * GB, GB // 4, 2 * GB))
    given = planner.load(path, "auto", Own(sequences=3))
    assert planner.outlook(path).plan("auto", Own(sequences=3)) == given
    assert planner.outlook(path).machine.free == 4 * GB
    assert planner.outlook(other).machine.free == GB // 4
    planner.load(path, "auto")
    assert planner.outlook(path).machine.free == 2 * GB, "each load is measured anew"


def test_a_file_that_changes_is_read_again(tmp_path: Path) -> None:
    path = tmp_path / "m.gguf"
    tiny_models.attention(path)
    planner = Planner(lambda: Machine(GB, 2))
    before = planner.outlook(str(path)).model
    path.unlink()
    tiny_models.hybrid(path)
    assert planner.outlook(str(path)).model.recurrent
    assert not before.recurrent


def test_of_a_file_that_cannot_be_read_nothing_is_known(tmp_path: Path) -> None:
    (tmp_path / "no.gguf").write_bytes(b"nonsense")
    planner = Planner(lambda: Machine(GB, 2))
    for path in ("", str(tmp_path / "gone.gguf"), str(tmp_path / "no.gguf")):
        outlook = planner.outlook(path)
        assert not outlook.known
        assert outlook.plan("production").pool_tokens == 16_384
    assert not NO_OUTLOOK.known


def test_a_model_fits_beside_others_by_what_they_may_still_take(tmp_path: Path) -> None:
    one, two = str(tmp_path / "one.gguf"), str(tmp_path / "two.gguf")
    for name in (one, two):
        tiny_models.attention(Path(name))
    planner = Planner(lambda: Machine(RESERVE + 4 * GB, 2))
    alone = planner.load(two, "auto")
    assert planner.load(one, "auto", Own(spill_megabytes=1024)).mmap
    assert planner.fits(two, "auto", beside=[one])
    beside = planner.load(two, "auto", beside=[one])
    assert beside.spill_megabytes < alone.spill_megabytes, "what the first may take is its own"
    assert planner.outlook(two).machine.free == RESERVE + 3 * GB - Path(one).stat().st_size
    much = Own(spill_megabytes=3000)
    assert planner.fits(two, "auto", much)
    assert not planner.fits(two, "auto", much, beside=[one])


def test_a_model_is_not_squeezed_in_beside_others(tmp_path: Path) -> None:
    path = str(tmp_path / "m.gguf")
    tiny_models.attention(Path(path))
    planner = Planner(lambda: Machine(2 * GB, 2))
    assert planner.fits(path, "auto")
    assert not planner.fits(path, "edge"), "a small machine has one model at a time"
    assert planner.fits(path, "edge", Own(pool_tokens=512)), "or as the user wants it"
    assert not planner.fits(str(tmp_path / "gone.gguf"), "auto"), "nothing is known of it"
    assert not Planner(lambda: Machine(RESERVE, 2)).fits(path, "auto")
