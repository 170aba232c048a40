"""Case 97: sizes in the head of a file are not believed, and a wrong one ends neither the app nor an engine."""

import random
import struct
import tracemalloc
from pathlib import Path

import pytest

from app.client.child import trial_child
from app.client.clock import LoopClock
from app.client.trial import examine
from app.hub.library import Library
from app.verdict import SOUND
from tests.gguf_bytes import Entry, Gguf, number, parts, text, texts
from tests.scripted_children import run

pytestmark = [pytest.mark.crash, pytest.mark.slow]

MOST_BYTES = 200_000_000


def pack(codes: str, *values: int) -> bytes:
    return struct.pack(f"<{codes}", *values)


def head(tensors: int, keys: int, rest: bytes = b"") -> bytes:
    return b"GGUF" + pack("IQQ", 3, tensors, keys) + rest + bytes(64)


def key(name: str, kind: int, value: bytes) -> bytes:
    return text(name) + pack("I", kind) + value


ALIGNMENT = "general.alignment"
HEADS = {
    "keys without end": head(0, 2**62),
    "tensors without end": head(2**62, 0),
    "a key without end": head(0, 1, pack("Q", 2**63)),
    "a key longer than the file": head(0, 1, pack("Q", 2**30) + b"a"),
    "an array longer than the file": head(0, 1, key("a", 9, pack("IQ", 4, 2**60))),
    "a key without a name": head(0, 1, key("", 4, pack("I", 1))),
    "an alignment of a gigabyte": head(0, 1, key(ALIGNMENT, 4, pack("I", 2**30))),
    "an alignment of another kind": head(0, 1, key(ALIGNMENT, 5, pack("i", 32))),
    "no alignment": head(0, 1, key(ALIGNMENT, 4, pack("I", 0))),
    "arrays in arrays": head(0, 1, key("a", 9, pack("IQ", 9, 1) * 2000)),
    "an unknown kind": head(0, 1, key("a", 77, b"")),
    "a key twice": head(0, 2, key("a", 4, pack("I", 1)) * 2),
    "a million dimensions": head(1, 0, text("t") + pack("I", 10**6) + pack("Q", 1) * 8),
    "a tensor of nothing": head(1, 0, text("t") + pack("IQQIQ", 2, 0, 0, 0, 0)),
    "an overflow": head(1, 0, text("t") + pack("IQQIQ", 2, 2**42 + 1, 2**22, 0, 0)),
    "an unknown type": head(1, 0, text("t") + pack("IQIQ", 1, 32, 9999, 0)),
}


def whole(value: int) -> tuple[int, bytes]:
    return 4, number(4, value)


ENTRIES = {
    "no layers": ("llama.block_count", whole(0)),
    "600 layers": ("llama.block_count", whole(600)),
    "a million experts": ("llama.expert_count", whole(10**6)),
    "an odd alignment": (ALIGNMENT, whole(1)),
    "three tokens": ("tokenizer.ggml.tokens", (9, texts([b"a"] * 3))),
    "the same token again and again": ("tokenizer.ggml.tokens", (9, texts([b"a"] * 400))),
    "no heads": ("llama.attention.head_count", whole(0)),
    "no number": ("llama.attention.layer_norm_rms_epsilon", (6, number(6, float("nan")))),
    "a token beyond all": ("tokenizer.ggml.bos_token_id", whole(2**32 - 1)),
    "no width": ("llama.embedding_length", whole(0)),
}
"""One wrong entry each, in a model that is good otherwise."""

HARMLESS = {"a token beyond all"}
"""What llama.cpp itself sets right."""

QUICK = ("a million experts", "no number")


def with_entry(model: Gguf, name: str) -> bytes:
    where, (kind, raw) = ENTRIES[name]
    model.put(Entry(where.encode(), kind, raw))
    return model.written()


def test_a_folder_full_of_them_is_listed_and_the_good_model_is_there(
    tmp_path: Path, talker: Path
) -> None:
    good = talker.read_bytes()
    files = {**HEADS, **{name: with_entry(parts(good), name) for name in ENTRIES}}
    for name, data in files.items():
        (tmp_path / f"{name}.gguf").write_bytes(data)
    (tmp_path / "good.gguf").write_bytes(good)
    tracemalloc.start()
    found = {model.path.stem: model for model in Library(tmp_path).scan()}
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert most < MOST_BYTES
    assert set(found) == {*files, "good"}
    assert [name for name in (*HEADS, "good") if found[name].chats] == ["good"]


@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=[] if name in QUICK else pytest.mark.soak) for name in ENTRIES],
)
def test_a_wrong_entry_is_found_in_a_process_of_its_own(
    name: str, tmp_path: Path, talker: Path
) -> None:
    path = tmp_path / "bad.gguf"
    path.write_bytes(with_entry(parts(talker.read_bytes()), name))
    verdict = run(examine(path, trial_child, LoopClock(), lambda _: None))
    assert (verdict == SOUND) == (name in HARMLESS), verdict
    assert verdict == SOUND or verdict.what


def test_bytes_that_flip_at_the_front_are_listed_or_named(
    tmp_path: Path, talker: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    dice, good = random.Random(97), talker.read_bytes()
    (tmp_path / "good.gguf").write_bytes(good)
    for flip in range(200):
        data = bytearray(good[: 64 << 10])
        data[dice.randrange(4096)] ^= 1 << dice.randrange(8)
        (tmp_path / f"{flip}.gguf").write_bytes(data)
    found = Library(tmp_path).scan()
    assert len(found) == 201
    # All of them end in the middle, so that only the whole one is offered.
    assert [model.path.name for model in found if model.chats] == ["good.gguf"]
