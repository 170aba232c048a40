"""Downloads from a hub that cuts, lies, stalls and changes: real sockets, real files."""

import hashlib
import resource
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from app.errors import HubError, HubProblem
from app.hub import receipts
from app.hub.access import Access
from app.hub.download import Download
from app.hub.line import Cut
from app.hub.part import PartFile, part_path, written_bytes
from app.hub.remote import RemoteModel
from app.hub.standing import Phase
from app.hub.transfer import Patience
from tests.fake_hub import MIB, Content, Does, FakeHub
from tests.hub.conftest import FOR_EVER, QUICK, OnThread, until

pytestmark = pytest.mark.slow
Find = Callable[..., RemoteModel]
TOKEN = "hf_TESTTOKEN123"


def start(
    model: RemoteModel,
    models: Path,
    hub: FakeHub,
    token: str = "",
    patience: Patience = FOR_EVER,
) -> Download:
    return Download(model, models, Access(hub.endpoint, token), patience=patience)


def left_over(models: Path) -> list[str]:
    return sorted(path.name for path in models.rglob("*") if path.is_file() and ".part" in path.name)  # fmt: skip


def proven(path: Path, content: Content) -> None:
    assert hashlib.sha256(path.read_bytes()).hexdigest() == content.sha256


def test_a_file_comes_whole_and_the_token_stays_with_the_hub(hub: FakeHub, models: Path, find: Find) -> None:  # fmt: skip
    content = Content(3 * MIB + 5)
    hub.add("o/r", m__gguf=content)
    path = start(find(), models, hub, TOKEN).run()
    assert path == models / "o" / "r" / "m.gguf"
    proven(path, content)
    assert left_over(models) == []
    receipt = receipts.load(path.parent)["m.gguf"]
    assert receipt.digest == content.sha256
    assert receipts.holds(receipt, path)
    bodies = hub.bodies()
    assert [asked.first for asked in bodies] == [0]
    assert {asked.authorization for asked in bodies} == {None}
    assert bodies[0].headers["accept-encoding"] == "identity"
    assert {asked.authorization for asked in hub.log if "/resolve/" in asked.path} == {
        f"Bearer {TOKEN}"
    }
    assert all(TOKEN.encode() not in path.read_bytes() for path in models.rglob("*") if path.is_file())  # fmt: skip


def test_asking_for_it_again_moves_nothing(hub: FakeHub, models: Path, find: Find) -> None:
    hub.add("o/r", m__gguf=Content(MIB))
    start(find(), models, hub).run()
    start(find(), models, hub).run()
    assert len(hub.bodies()) == 1


def test_an_empty_file_comes_whole(hub: FakeHub, models: Path, find: Find) -> None:
    hub.add("o/r", m__gguf=Content(0))
    assert start(find(), models, hub).run().stat().st_size == 0


def test_after_a_cut_no_byte_is_asked_for_twice(hub: FakeHub, models: Path, find: Find) -> None:
    content = Content(6 * MIB + 1)
    hub.add("o/r", m__gguf=content)
    hub.script = [Does(cut_after=MIB + 77), Does(cut_after=0), Does(cut_after=5), Does(cut_after=3 * MIB)]  # fmt: skip
    proven(start(find(), models, hub).run(), content)
    assert hub.read_twice() == [0, 0, 0, 0]
    assert sum(asked.sent for asked in hub.bodies()) == content.size


def test_a_range_that_is_shorter_than_asked_goes_on_behind_it(hub: FakeHub, models: Path, find: Find) -> None:  # fmt: skip
    content = Content(4 * MIB)
    hub.add("o/r", m__gguf=content)
    hub.script = [Does(short=3 * MIB), Does(short=1)]
    proven(start(find(), models, hub).run(), content)
    assert sum(asked.sent for asked in hub.bodies()) == content.size


def test_a_server_without_ranges_is_read_from_the_front(hub: FakeHub, models: Path, find: Find) -> None:  # fmt: skip
    content = Content(4 * MIB)
    hub.add("o/r", m__gguf=content)
    hub.script = [Does(cut_after=MIB + 7), Does(whole=True)]
    proven(start(find(), models, hub).run(), content)


def test_pause_keeps_what_came_and_resume_goes_on(hub: FakeHub, models: Path, find: Find) -> None:
    content = Content(5 * MIB)
    hub.add("o/r", m__gguf=content)
    hub.script = [Does(stall_after=2 * MIB)]
    model = find()
    first = OnThread(start(model, models, hub))
    until(lambda: first.download.standing().done == 2 * MIB)
    first.download.stop()
    assert isinstance(first.join(), Cut)
    again = start(model, models, hub)
    again.measure()
    assert again.standing().done == 2 * MIB
    proven(again.run(), content)
    assert hub.read_twice() == [0]


@pytest.mark.parametrize(
    ("first", "then"),
    [
        (Does(stall_after=0), Does(stall_after=0)),
        (Does(stall_after=99 * MIB // 100), Does(stall_after=0)),
        (Does(drip_after=MIB // 2), Does(drip_after=0)),
    ],
    ids=["at once", "at 99 %", "drip"],
)
def test_a_transfer_that_hardly_moves_says_so_and_goes_on_later(hub: FakeHub, models: Path, find: Find, first: Does, then: Does) -> None:  # fmt: skip
    content = Content(MIB)
    hub.add("o/r", m__gguf=content)
    hub.script, hub.always = [first], then
    with pytest.raises(HubError) as caught:
        start(find(), models, hub, patience=QUICK).run()
    assert caught.value.problem is HubProblem.STALLED
    hub.always = Does()
    proven(start(find(), models, hub).run(), content)
    assert left_over(models) == []


@pytest.mark.parametrize("does", [Does(stall_after=0), Does(stall_after=MIB // 2), Does(drip_after=0)])  # fmt: skip
def test_stop_ends_a_waiting_transfer(hub: FakeHub, models: Path, find: Find, does: Does) -> None:
    """With waits of an hour, so that only the stop can have ended it."""
    hub.add("o/r", m__gguf=Content(MIB))
    asked = threading.Event()
    hub.script = [
        Does(does.cut_after, does.stall_after, does.drip_after, call_after=(1, asked.set))
    ]
    model = find()
    running = OnThread(start(model, models, hub))
    if does.stall_after != 0:
        assert asked.wait(20)
    else:
        until(hub.bodies)
    running.download.stop()
    assert isinstance(running.join(), Cut)


def test_stop_ends_a_silent_connection(hub: FakeHub, models: Path, find: Find) -> None:
    hub.add("o/r", m__gguf=Content(MIB))
    model = find()
    hub.silent = True
    running = OnThread(start(model, models, hub))
    until(lambda: any("/resolve/" in asked.path for asked in hub.log))
    running.download.stop()
    assert isinstance(running.join(), Cut)


# --- wrong bytes ---------------------------------------------------------------------------------------------


def test_a_block_that_came_wrong_is_found_in_a_second_copy(hub: FakeHub, models: Path, find: Find) -> None:  # fmt: skip
    content = Content(4 * MIB)
    hub.add("o/r", m__gguf=content)
    hub.script = [Does(flip=(2 * MIB + 9,))]
    proven(start(find(), models, hub).run(), content)


def test_a_file_that_is_wrong_on_the_hub_is_not_kept(hub: FakeHub, models: Path, find: Find) -> None:  # fmt: skip
    content = Content(2 * MIB)
    hub.add("o/r", m__gguf=content)
    hub.always = Does(flip=(content.size - 1,))
    with pytest.raises(HubError, match="checksum") as caught:
        start(find(), models, hub).run()
    assert caught.value.problem is HubProblem.CHECKSUM
    assert [path for path in models.rglob("*") if path.is_file()] == []
    hub.always = Does()
    proven(start(find(), models, hub).run(), content)


def damage(path: Path, *places: int) -> None:
    with path.open("r+b") as file:
        for place in places:
            file.seek(place)
            (byte,) = file.read(1)
            file.seek(place)
            file.write(bytes([byte ^ 255]))


def test_blocks_that_the_disk_damaged_are_fetched_again_and_only_they(hub: FakeHub, models: Path, find: Find) -> None:  # fmt: skip
    content = Content(6 * MIB)
    hub.add("o/r", m__gguf=content)
    hub.script = [Does(cut_after=5 * MIB), Does(status=404)]
    model = find()
    with pytest.raises(HubError):
        start(model, models, hub).run()
    part = part_path(models / "o" / "r" / "m.gguf", model.files[0])
    damage(part, 10, MIB * 3 + 4, MIB * 5 + 6)
    before = len(hub.bodies())
    proven(start(model, models, hub).run(), content)
    assert [(asked.first, asked.sent) for asked in hub.bodies()[before:]] == [
        (0, MIB),
        (3 * MIB, MIB),
        (5 * MIB, MIB),
    ]


def test_damage_while_it_is_verified_is_found_and_repaired(hub: FakeHub, models: Path, find: Find) -> None:  # fmt: skip
    """The disk loses a block between writing and the final check."""
    content = Content(3 * MIB)
    hub.add("o/r", m__gguf=content)
    model = find()
    part = part_path(models / "o" / "r" / "m.gguf", model.files[0])

    def lose() -> None:
        until(lambda: written_bytes(models / "o" / "r" / "m.gguf", model.files[0]) == 2 * MIB)
        damage(part, MIB + 3)

    hub.script = [Does(call_after=(3 * MIB - 100, lose))]
    proven(start(model, models, hub).run(), content)
    assert [(asked.first, asked.sent) for asked in hub.bodies()[1:]] == [(MIB, MIB)]


# --- the hub changes its mind --------------------------------------------------------------------------------


def test_a_file_that_changes_under_way_is_never_glued_to_old_bytes(hub: FakeHub, models: Path, find: Find) -> None:  # fmt: skip
    repo = hub.add("o/r", m__gguf=Content(4 * MIB))
    model = find()

    def change() -> None:
        repo.files["m.gguf"] = Content(4 * MIB, seed=9)

    hub.script = [Does(call_after=(2 * MIB, change), cut_after=2 * MIB)]
    with pytest.raises(HubError) as caught:
        start(model, models, hub).run()
    assert caught.value.problem is HubProblem.CHANGED
    proven(start(find(), models, hub).run(), repo.files["m.gguf"])
    assert left_over(models) == []


def test_an_update_keeps_the_old_file_until_the_new_one_is_proven(hub: FakeHub, models: Path, find: Find) -> None:  # fmt: skip
    old, new = Content(2 * MIB), Content(3 * MIB, seed=4)
    repo = hub.add("o/r", m__gguf=old)
    path = start(find(), models, hub).run()
    repo.files["m.gguf"] = new
    model = find()
    hub.always = Does(flip=(7,))
    with path.open("rb") as in_use:
        with pytest.raises(HubError):
            start(model, models, hub).run()
        proven(path, old)
        hub.always = Does()
        start(model, models, hub).run()
        proven(path, new)
        # Whoever had the old file open still reads it.
        assert hashlib.sha256(in_use.read()).hexdigest() == old.sha256


def test_an_expired_address_is_asked_for_anew(hub: FakeHub, models: Path, find: Find) -> None:
    content = Content(2 * MIB)
    hub.add("o/r", m__gguf=content)
    hub.script = [Does(cut_after=MIB), Does(status=403)]
    proven(start(find(), models, hub).run(), content)


@pytest.mark.parametrize("status", [500, 502, 503, 504, 408])
def test_trouble_of_the_server_passes(hub: FakeHub, models: Path, find: Find, status: int) -> None:
    hub.add("o/r", m__gguf=Content(MIB))
    hub.script = [Does(status=status), Does(status=status), Does()]
    start(find(), models, hub).run()
    assert len(hub.bodies()) == 3


def test_a_compressed_answer_is_not_taken_for_the_file(hub: FakeHub, models: Path, find: Find) -> None:  # fmt: skip
    content = Content(MIB)
    hub.add("o/r", m__gguf=content)
    hub.script = [Does(zipped=True)]
    proven(start(find(), models, hub).run(), content)


def test_a_busy_hub_is_asked_again_no_sooner_than_it_said(hub: FakeHub, models: Path, find: Find) -> None:  # fmt: skip
    hub.add("o/r", m__gguf=Content(MIB))
    hub.always = Does(
        status=429, headers=(("Retry-After", "7"), ("RateLimit", '"resolvers";r=0;t=40'))
    )
    running = OnThread(start(find(), models, hub))
    until(lambda: running.download.standing().phase is Phase.WAITING)
    standing = running.download.standing()
    assert standing.error is not None
    assert standing.error.problem is HubProblem.BUSY
    assert standing.error.wait == 40
    assert 30 < standing.wait <= 40
    running.download.stop()
    assert isinstance(running.join(), Cut)
    assert len(hub.bodies()) == 1


# --- several parts -------------------------------------------------------------------------------------------


def split(hub: FakeHub) -> list[Content]:
    contents = [Content(2 * MIB, seed) for seed in (1, 2, 3)]
    repo = hub.add("o/r")
    for number, content in enumerate(contents, 1):
        repo.files[f"q/m-Q8_0-{number:05d}-of-00003.gguf"] = content
    return contents


def test_the_parts_of_a_split_model_are_one_and_appear_together(hub: FakeHub, models: Path, find: Find) -> None:  # fmt: skip
    contents = split(hub)
    model = find()
    assert model.size == 6 * MIB
    hub.script = [Does(), Does(stall_after=MIB)]
    running = OnThread(start(model, models, hub))
    until(lambda: running.download.standing().done == 3 * MIB and len(hub.bodies()) == 2)
    running.download.stop()
    assert isinstance(running.join(), Cut)
    assert list(models.rglob("*.gguf")) == []
    path = start(model, models, hub).run()
    assert path.name == "m-Q8_0-00001-of-00003.gguf"
    for number, content in enumerate(contents, 1):
        proven(path.with_name(f"m-Q8_0-{number:05d}-of-00003.gguf"), content)
    assert left_over(models) == []
    assert [asked.first for asked in hub.bodies()].count(0) == 3


def test_cancel_removes_all_parts_and_empty_folders(hub: FakeHub, models: Path, find: Find) -> None:
    split(hub)
    hub.script = [Does(), Does(status=404)]
    download = start(find(), models, hub)
    with pytest.raises(HubError):
        download.run()
    assert left_over(models)
    download.discard()
    assert list(models.rglob("*")) == []


# --- the disk ------------------------------------------------------------------------------------------------


@pytest.fixture
def small_files() -> Iterator[Callable[[int], None]]:
    """No file larger than so many bytes may be written by this process."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    yield lambda most: resource.setrlimit(resource.RLIMIT_FSIZE, (most, before[1]))
    resource.setrlimit(resource.RLIMIT_FSIZE, before)


def test_a_disk_that_refuses_in_the_middle_keeps_what_came(hub: FakeHub, models: Path, find: Find, small_files: Callable[[int], None]) -> None:  # fmt: skip
    content = Content(4 * MIB)
    hub.add("o/r", m__gguf=content)
    model = find()
    hub.script = [Does(call_after=(MIB + 9, lambda: small_files(2 * MIB)))]
    with pytest.raises(HubError) as caught:
        start(model, models, hub).run()
    assert caught.value.problem is HubProblem.DISK
    small_files(100 * MIB)
    proven(start(model, models, hub).run(), content)
    assert hub.bodies()[-1].first >= MIB


def test_a_file_too_large_for_the_disk_is_refused_before_the_first_byte(hub: FakeHub, models: Path, find: Find, small_files: Callable[[int], None]) -> None:  # fmt: skip
    small_files(MIB)
    hub.add("o/r", m__gguf=Content(2 * MIB))
    with pytest.raises(HubError, match="size is not allowed") as caught:
        start(find(), models, hub).run()
    assert caught.value.problem is HubProblem.DISK
    assert hub.bodies() == []
    assert left_over(models) == []


def test_no_room_is_told_with_both_numbers_before_the_first_byte(hub: FakeHub, models: Path, find: Find) -> None:  # fmt: skip
    hub.add("o/r", m__gguf=Content(MIB))
    download = Download(find(), models, Access(hub.endpoint), others=lambda: 1 << 60)
    with pytest.raises(HubError, match=r"are needed, and .* are free") as caught:
        download.run()
    assert caught.value.problem is HubProblem.DISK
    assert hub.bodies() == []
    assert left_over(models) == []


def test_two_at_once_do_not_write_the_same_part(hub: FakeHub, models: Path, find: Find) -> None:
    hub.add("o/r", m__gguf=Content(MIB))
    model = find()
    with PartFile(models / "o" / "r" / "m.gguf", model.files[0]):
        with pytest.raises(HubError) as caught:
            start(model, models, hub).run()
        assert caught.value.problem is HubProblem.TAKEN
    start(model, models, hub).run()


def test_a_folder_that_cannot_be_written_is_named(hub: FakeHub, tmp_path: Path, find: Find) -> None:
    hub.add("o/r", m__gguf=Content(MIB))
    (tmp_path / "models").write_text("in the way")
    with pytest.raises(HubError) as caught:
        start(find(), tmp_path / "models", hub).run()
    assert caught.value.problem is HubProblem.DISK


def test_a_name_that_leads_out_of_the_folder_is_refused(hub: FakeHub, models: Path, find: Find) -> None:  # fmt: skip
    repo = hub.add("o/r")
    repo.files["../../../m.gguf"] = Content(10)
    with pytest.raises(HubError) as caught:
        find()
    assert caught.value.problem is HubProblem.NAME
