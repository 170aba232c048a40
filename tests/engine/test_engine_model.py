"""Files that are no usable model are refused in words."""

from pathlib import Path
from typing import Any

import pytest

from app import llama
from app.engine.model import LoadCancelledError, Model
from app.errors import ModelError
from app.modelfile import fingerprint
from app.wire import LoadParams


def load(api: Any, path: Path, progress: Any = lambda fraction: True) -> Model:
    return Model(api, LoadParams(str(path)), llama.NativeLog(api), progress)


@pytest.mark.parametrize(
    ("content", "word"),
    [
        (b"", "not a model in the GGUF format"),
        (b"PK\x03\x04 something else", "not a model in the GGUF format"),
        (b"GGUF\x09\x00\x00\x00" + b"\0" * 64, "version 9"),
        (b"GGUF\x03\x00\x00\x00" + b"\xff" * 64, "cannot be loaded"),
    ],
)
def test_refusals(api: Any, tmp_path: Path, content: bytes, word: str) -> None:
    path = tmp_path / "file.gguf"
    path.write_bytes(content)
    with pytest.raises(ModelError, match=word):
        load(api, path)


def test_missing_file_and_folder(api: Any, tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="no file"):
        load(api, tmp_path / "none.gguf")
    with pytest.raises(ModelError, match="is a folder"):
        load(api, tmp_path)


def test_half_a_file_is_refused_with_the_librarys_reason(
    api: Any, tmp_path: Path, tiny_files: dict[str, Path]
) -> None:
    whole = tiny_files["attention"].read_bytes()
    path = tmp_path / "half.gguf"
    path.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(ModelError, match=r"half\.gguf” cannot be loaded \(.{10}"):
        load(api, path)


def test_load_tells_progress_and_can_be_cancelled(
    api: Any, tmp_path: Path, tiny_files: dict[str, Path]
) -> None:
    told: list[float] = []
    model = load(api, tiny_files["attention"], lambda fraction: told.append(fraction) or True)
    model.close()
    assert told == sorted(told)
    assert told[-1] == 1.0
    with pytest.raises(LoadCancelledError):
        load(api, tiny_files["attention"], lambda fraction: False)


def test_the_devices_name_the_processor(api: Any) -> None:
    names = {device.name: device for device in llama.devices(api)}
    assert not names["CPU"].gpu
    assert names["CPU"].description
    assert [device.gpu for device in llama.devices(api)] == sorted(
        (device.gpu for device in llama.devices(api)), reverse=True
    )
    assert llama.device_handle(api, "CPU")
    assert llama.device_handle(api, "no such device") is None


@pytest.mark.parametrize("name", ["CPU", "cpu"])
def test_a_device_can_be_named(api: Any, tiny_files: dict[str, Path], name: str) -> None:
    params = LoadParams(str(tiny_files["attention"]), device=name)
    model = Model(api, params, llama.NativeLog(api), lambda _: True)
    assert model.handle
    model.close()


def test_a_device_that_is_not_there_is_refused_with_those_there_are(
    api: Any, tiny_files: dict[str, Path]
) -> None:
    params = LoadParams(str(tiny_files["attention"]), device="CUDA7")
    with pytest.raises(ModelError, match=r"no device “CUDA7” here; there is .*CPU"):
        Model(api, params, llama.NativeLog(api), lambda _: True)


def test_a_file_that_is_replaced_while_it_is_loaded_is_refused(
    api: Any, tiny_files: dict[str, Path], tmp_path: Path
) -> None:
    path, other = tmp_path / "tiny.gguf", tmp_path / "other.gguf"
    path.write_bytes(tiny_files["attention"].read_bytes())
    other.write_bytes(tiny_files["recurrent"].read_bytes())

    def progress(_fraction: float) -> bool:
        if other.exists():
            other.replace(path)
        return True

    with pytest.raises(ModelError, match="has changed while it was being loaded"):
        load(api, path, progress)


def test_files_that_differ_in_their_weights_only_have_different_fingerprints(
    tmp_path: Path,
) -> None:
    """The first megabytes hold names and words; two models of one family may have them in common."""
    size = 12 << 20
    first = tmp_path / "first.gguf"
    first.write_bytes(bytes(size))
    again = tmp_path / "again.gguf"
    again.write_bytes(bytes(size))
    assert fingerprint(first) == fingerprint(again)
    for start in (0, 5 << 20, size - (1 << 20)):
        raw = bytearray(size)
        raw[start : start + (1 << 20)] = b"w" * (1 << 20)
        again.write_bytes(raw)
        assert fingerprint(first) != fingerprint(again)
    again.write_bytes(bytes(size + 1))
    assert fingerprint(first) != fingerprint(again)
