"""The same model in other quantisations: found by what is in the files, not taken for one that is only shaped alike."""

from pathlib import Path

import gguf
import pytest

from app.hub.library import Library
from app.hub.smaller import least_share, smaller


def model(path: Path, *, width: int = 64, title: str = "", file_type: int = 7) -> Path:
    """The head of one, with as much in it as tells models apart."""
    writer = gguf.GGUFWriter(path, "llama")
    writer.add_embedding_length(width)
    writer.add_block_count(2)
    writer.add_head_count(2)
    writer.add_context_length(2048)
    writer.add_vocab_size(256)
    writer.add_file_type(file_type)
    if title:
        writer.add_name(title)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.close()
    return path


def test_the_same_model_is_known_by_its_name_or_its_title(tmp_path: Path) -> None:
    failed = model(tmp_path / "tiny-chat-Q8_0.gguf", title="Tiny chat")
    model(tmp_path / "tiny-chat-Q4_K_M.gguf", file_type=15)
    model(tmp_path / "renamed.gguf", title="Tiny chat", file_type=12)
    model(tmp_path / "other-chat-Q4_K_M.gguf", title="Other chat", file_type=15)
    model(tmp_path / "tiny-chat-Q5_K_M.gguf", title="Tiny chat", width=128, file_type=17)
    (tmp_path / "tiny-chat-Q2_K.gguf").write_bytes(b"GGUF\x03")
    found, share = smaller(Library(tmp_path), failed)
    assert sorted((Path(one.path).name, one.label) for one in found) == [
        ("renamed.gguf", "Q3_K_M"),
        ("tiny-chat-Q4_K_M.gguf", "Q4_K_M"),
    ]
    assert all(one.model.layers and one.model.weights for one in found)
    assert 0.4 < share < 0.5


def test_a_file_that_is_gone_has_nothing_smaller(tmp_path: Path) -> None:
    model(tmp_path / "tiny-Q4_K_M.gguf")
    assert smaller(Library(tmp_path), tmp_path / "tiny-Q8_0.gguf") == ((), 1.0)


@pytest.mark.parametrize(
    ("quantisation", "low", "high"),
    [
        ("F16", 0.2, 0.3),
        ("UD-Q4_K_XL", 0.7, 0.9),
        ("Q3_K_M", 1, 1),
        ("IQ2_XS", 1, 1),
        ("MXFP4", 0.7, 0.9),
        ("", 1, 1),
    ],
)
def test_how_much_smaller_it_could_be(quantisation: str, low: float, high: float) -> None:
    assert low <= least_share(quantisation) <= high
