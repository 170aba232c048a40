"""Case 59: a download leaves room for the chats, also when something else fills the disk meanwhile."""

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from app.errors import HubError, HubProblem
from app.hub.access import Access
from app.hub.download import Download
from app.hub.transfer import Patience
from tests.fake_hub import MIB, Content, Does, FakeHub
from tests.hub.conftest import find, hub, models

__all__ = ["find", "hub", "models"]

pytestmark = pytest.mark.slow

SIZE = 72 * MIB


def test_a_disk_that_something_else_fills_ends_it_before_the_reserve_and_keeps_what_came(
    hub: FakeHub, models: Path, find: Callable[..., object]
) -> None:
    """Room is looked for every 64 MiB; what the others want grows behind the first of them."""
    hub.add("o/r", m__gguf=Content(SIZE))
    model = find()
    wanted = [0]

    def fill() -> None:
        wanted[0] = shutil.disk_usage(models.parent).free

    def download() -> Download:
        return Download(model, models, Access(hub.endpoint), patience=Patience(), others=lambda: wanted[0])  # type: ignore[arg-type]  # fmt: skip

    hub.script = [Does(call_after=(40 * MIB, fill))]
    with pytest.raises(HubError, match=r"of which .* are kept for the chats") as caught:
        download().run()
    assert caught.value.problem is HubProblem.DISK
    wanted[0] = 0
    again = download()
    again.measure()
    assert again.standing().done >= 60 * MIB
    assert again.run().stat().st_size == SIZE
    assert hub.bodies()[-1].first >= 60 * MIB, "what had come was fetched again"
