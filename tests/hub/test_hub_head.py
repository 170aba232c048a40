"""The head of a file on the hub, by ranges: the same as that of the file on disk, in few requests."""

from collections.abc import Callable
from pathlib import Path

import pytest

from app.errors import HubError
from app.hub.access import Access
from app.hub.head import remote_footprint
from app.hub.remote import RemoteModel
from app.sizing.footprint import read_footprint
from tests import tiny_models
from tests.fake_hub import MIB, Content, Does, FakeHub

pytestmark = pytest.mark.slow
Find = Callable[..., RemoteModel]


def test_a_remote_model_is_known_without_a_download(hub: FakeHub, starter: Path, find: Find) -> None:  # fmt: skip
    hub.add("o/r", m_Q4_1__gguf=Content(data=starter.read_bytes()))
    assert remote_footprint(find(), Access(hub.endpoint)) == read_footprint(starter)
    assert len(hub.bodies()) <= 3
    assert sum(asked.sent for asked in hub.bodies()) < 4 * MIB


def test_a_file_smaller_than_the_first_step_is_read_whole(hub: FakeHub, tmp_path: Path, find: Find) -> None:  # fmt: skip
    path = tmp_path / "tiny.gguf"
    tiny_models.attention(path)
    hub.add("o/r", tiny__gguf=Content(data=path.read_bytes()))
    assert remote_footprint(find(), Access(hub.endpoint)) == read_footprint(path)


def test_a_server_without_ranges_is_left_after_what_was_wanted(hub: FakeHub, starter: Path, find: Find) -> None:  # fmt: skip
    hub.add("o/r", m_Q4_1__gguf=Content(data=starter.read_bytes()))
    hub.always = Does(whole=True)
    assert remote_footprint(find(), Access(hub.endpoint)) == read_footprint(starter)


@pytest.mark.parametrize("data", [b"", b"no model", b"GGUF\x03\x00\x00\x00" + b"\xff" * 3_000_000])
def test_nonsense_says_nothing(hub: FakeHub, find: Find, data: bytes) -> None:
    hub.add("o/r", m__gguf=Content(data=data))
    assert remote_footprint(find(), Access(hub.endpoint)) is None


def test_a_refusal_is_told(hub: FakeHub, find: Find) -> None:
    repo = hub.add("o/r", m__gguf=Content(MIB))
    model = find()
    repo.gated = True
    with pytest.raises(HubError):
        remote_footprint(model, Access(hub.endpoint))
