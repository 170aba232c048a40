"""Which processes have a model open: told to others, to nobody once it is over, whoever dies."""

import logging
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from app.inuse import User, Uses, here

FIRST = "m-00001-of-00002.gguf"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "in-use"


@pytest.fixture
def model(tmp_path: Path) -> Path:
    path = tmp_path / "models" / "m.gguf"
    path.parent.mkdir()
    path.write_bytes(b"GGUF")
    return path


def programs(folder: Path, *files: Path) -> list[str]:
    """Who uses one of these, as another process sees it."""
    return [user.program for user in Uses(folder, "who asks").others(files)]


def test_a_use_is_seen_by_others_until_it_ends(folder: Path, model: Path) -> None:
    server = Uses(folder, "tutti serve")
    use = server.use(model)
    assert programs(folder, model) == []
    use.begin()
    use.begin()
    assert programs(folder, model) == ["tutti serve"]
    assert programs(folder, model.with_name("other.gguf")) == []
    assert server.others([model]) == ()
    use.end()
    use.begin()
    assert programs(folder, model) == []
    assert list(folder.iterdir()) == []


def test_two_uses_of_one_process_are_one_user_and_end_one_by_one(folder: Path, model: Path) -> None:
    server = Uses(folder, "tutti serve")
    uses = [server.use(model), server.use(model)]
    for use in uses:
        use.begin()
    assert programs(folder, model) == ["tutti serve"]
    uses[0].end()
    assert programs(folder, model) == ["tutti serve"]
    uses[1].end()
    assert programs(folder, model) == []


def test_of_a_split_model_every_part_is_in_use(folder: Path, tmp_path: Path) -> None:
    first, second = tmp_path / FIRST, tmp_path / FIRST.replace("00001-of", "00002-of")
    for path in (first, second):
        path.write_bytes(b"GGUF")
    with Uses(folder, "tutti serve").use(first):
        assert programs(folder, second) == ["tutti serve"]


def test_a_model_is_the_same_whatever_links_lead_to_it(folder: Path, model: Path, tmp_path: Path) -> None:  # fmt: skip
    (tmp_path / "again").symlink_to(model.parent)
    link = tmp_path / "link.gguf"
    link.symlink_to(model)
    with Uses(folder, "by its folder").use(tmp_path / "again" / "m.gguf"):
        assert programs(folder, model) == ["by its folder"]
        assert programs(folder, link) == []  # without the link that one goes on
    with Uses(folder, "by the link").use(link):
        assert programs(folder, model) == ["by the link"]
        assert programs(folder, link) == ["by the link"]


def test_a_process_that_is_killed_uses_nothing_and_leaves_nothing(folder: Path, model: Path) -> None:  # fmt: skip
    code = (
        "import sys; from pathlib import Path; from app.inuse import Uses\n"
        "use = Uses(Path(sys.argv[1]), 'tutti serve').use(sys.argv[2])\n"
        "use.begin(); print('begun', flush=True); sys.stdin.read()"
    )
    command = [sys.executable, "-c", code, str(folder), str(model)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as child:
        assert child.stdout is not None
        assert child.stdout.readline() == b"begun\n"
        (user,) = Uses(folder, "who asks").others([model])
        assert user == User("tutti serve", child.pid)
        assert str(user) == f"tutti serve (process {child.pid})"
        child.kill()
    assert programs(folder, model) == []
    assert list(folder.iterdir()) == []


def test_who_begins_while_others_look_is_seen_afterwards(folder: Path, model: Path) -> None:
    server, over = Uses(folder, "tutti serve"), threading.Event()

    def look() -> None:
        while not over.is_set():
            programs(folder, model)

    lookers = [threading.Thread(target=look) for _ in range(3)]
    for looker in lookers:
        looker.start()
    try:
        for _ in range(100):
            with server.use(model):
                assert programs(folder, model) == ["tutti serve"]
    finally:
        over.set()
        for looker in lookers:
            looker.join()
    assert programs(folder, model) == []


@pytest.mark.parametrize("text", ["", "[]", '{"program": "x"}', '{"program": "x", "pid": "y", "files": []}', "[" * 9000])  # fmt: skip
def test_nonsense_is_nobodys_use(folder: Path, model: Path, text: str) -> None:
    with Uses(folder, "x").use(model):
        (mark,) = folder.iterdir()
        mark.write_text(text)
        assert programs(folder, model) == []


def test_where_nothing_can_be_written_a_model_is_used_all_the_same(
    folder: Path, model: Path, caplog: pytest.LogCaptureFixture
) -> None:
    folder.write_text("a file in its place")
    with caplog.at_level(logging.WARNING), Uses(folder, "x").use(model):
        pass
    assert "cannot be told" in caplog.text
    assert programs(folder, model) == []


def test_all_data_folders_of_a_user_share_it(model: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:  # fmt: skip
    with here("tutti serve").use(model):
        monkeypatch.setenv("TUTTI_DATA_DIR", str(tmp_path / "another"))
        assert [user.program for user in here("who asks").others([model])] == ["tutti serve"]
