from pathlib import Path

import pytest

from app.api.key import KeyFile, KeyProblem


@pytest.mark.parametrize("content", [b"key", b"key\n", b"  key\r\n", b"k" * 4096])
def test_a_key_is_read_without_the_space_around_it(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "key").write_bytes(content)
    assert KeyFile(tmp_path / "key")() == content.strip()


@pytest.mark.parametrize(
    "content", [b"", b" \n", b"two keys", b"one\ntwo", b"k\xc3\xa9y", b"k" * 4097, b"a\x00"]
)
def test_what_is_no_key_is_refused_without_showing_it(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "key").write_bytes(content)
    with pytest.raises(KeyProblem) as caught:
        KeyFile(tmp_path / "key")
    assert "two" not in str(caught.value)


def test_a_missing_file_and_a_folder_are_refused(tmp_path: Path) -> None:
    for path in (tmp_path, tmp_path / "no"):
        with pytest.raises(KeyProblem, match="cannot be read"):
            KeyFile(path)


def test_a_changed_key_counts_and_a_broken_one_opens_nothing(tmp_path: Path) -> None:
    path = tmp_path / "key"
    path.write_text("first")
    key = KeyFile(path)
    path.write_text("second!")
    assert key() == b"second!"
    path.write_text("no key")
    assert key() == b""
    path.unlink()
    assert key() == b""
    path.write_text("third")
    assert key() == b"third"
