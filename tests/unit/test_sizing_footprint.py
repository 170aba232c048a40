"""What a model costs, from what its file says; llama.cpp's own figures are in tests/engine/test_engine_footprint.py."""

from pathlib import Path

import pytest

from app.errors import ModelError
from app.sizing.footprint import Footprint, Layer, footprint, read_footprint
from app.sizing.header import Header
from tests import tiny_models


def model(architecture: str, layers: int = 6, **facts: object) -> Footprint:
    """Of a header with these facts (`__` for a dot); heads of 32 unless told otherwise."""
    usual: dict[str, object] = {
        "block_count": layers,
        "context_length": 4096,
        "embedding_length": 128,
        "attention__head_count": 4,
    }
    values: dict[str, object] = {"general.architecture": architecture}
    arrays = {}
    for name, value in (usual | facts).items():
        key = f"{architecture}.{name.replace('__', '.')}"
        if isinstance(value, tuple):
            arrays[key] = value
        else:
            values[key] = value
    lengths = {key: len(value) for key, value in arrays.items()}
    return footprint(Header(values, arrays, lengths), 1000)  # type: ignore[arg-type]


def test_heads_give_the_length_of_keys_and_values() -> None:
    assert model("llama").layers == (Layer(128, 128),) * 6
    assert model("llama", attention__head_count_kv=1).layers == (Layer(32, 32),) * 6
    lengths = {"attention__key_length": 64, "attention__value_length": 32}
    assert model("llama", **lengths).layers == (Layer(256, 128),) * 6


@pytest.mark.parametrize(
    ("architecture", "facts", "windows"),
    [
        ("gemma3", {"attention__sliding_window": 512}, "wwwwwf"),
        ("gemma2", {"attention__sliding_window": 512}, "wfwfwf"),
        ("smallthinker", {"attention__sliding_window": 512}, "fwwwfw"),
        ("gemma3", {}, "ffffff"),
        ("phi3", {"attention__sliding_window": 512}, "ffffff"),
        ("somebody", {"attention__sliding_window": 512}, "ffffff"),
        (
            "somebody",
            {
                "attention__sliding_window": 512,
                "attention__sliding_window_pattern": (True, False, True, False, True, True),
            },
            "wfwfww",
        ),
        (
            "gemma3",
            {"attention__sliding_window": 512, "attention__sliding_window_pattern": 3},
            "wwfwwf",
        ),
    ],
)
def test_layers_that_see_a_window(
    architecture: str, facts: dict[str, object], windows: str
) -> None:
    found = model(architecture, **facts)
    assert "".join("w" if layer.window else "f" for layer in found.layers) == windows


def test_layers_without_heads_keep_a_state() -> None:
    found = model("lfm2", 4, attention__head_count_kv=(0, 4, 0, 4), shortconv__l_cache=3)
    assert found.layers == (Layer(state=256), Layer(128, 128)) * 2
    assert found.recurrent


def test_a_layer_that_is_one_of_three() -> None:
    ssm = {"ssm__conv_kernel": 4, "ssm__inner_size": 256, "ssm__state_size": 16}
    facts = {"attention__head_count_kv": (0, 0, 4), "feed_forward_length": (0, 512, 0)}
    found = model("nemotron_h", 3, **facts, **ssm)
    assert [(layer.keys, bool(layer.state)) for layer in found.layers] == [
        (0, True),
        (0, False),
        (128, False),
    ]


def test_a_recurrent_model_keeps_states_only() -> None:
    ssm = {"ssm__conv_kernel": 4, "ssm__inner_size": 256, "ssm__state_size": 16}
    found = model("mamba", 2, attention__head_count=0, **ssm)
    assert found.layers == (Layer(state=3 * 256 + 16 * 256),) * 2
    sizes = {found.pool_bytes(tokens, 8, 512, "f16") for tokens in (1024, 65_536)}
    assert len(sizes) == 1, "a recurrent memory does not grow with the pool"


def test_attention_in_every_nth_layer() -> None:
    ssm = {"ssm__conv_kernel": 4, "ssm__inner_size": 256, "ssm__state_size": 16}
    found = model("qwen3next", 8, **ssm)
    assert [bool(layer.keys) for layer in found.layers] == [False, False, False, True] * 2
    every = model("qwen3next", 8, full_attention_interval=2, **ssm)
    assert [bool(layer.state) for layer in every.layers] == [True, False] * 4


def test_both_kinds_in_each_layer() -> None:
    ssm = {"ssm__conv_kernel": 4, "ssm__inner_size": 256, "ssm__state_size": 16}
    found = model("falcon-h1", 2, **ssm)
    assert all(layer.keys and layer.state for layer in found.layers)


def test_layers_that_use_anothers_keys_cost_nothing() -> None:
    found = model("gemma3n", 6, attention__shared_kv_layers=2)
    assert [layer.keys for layer in found.layers] == [128] * 4 + [0] * 2


def test_a_latent_attention_keeps_no_values() -> None:
    facts = {
        "attention__head_count_kv": 1,
        "attention__key_length": 576,
        "attention__value_length": 512,
        "attention__key_length_mla": 192,
        "attention__value_length_mla": 128,
    }
    assert model("deepseek2", 2, **facts).layers == (Layer(576, 0),) * 2


def test_a_window_bounds_what_long_pools_cost() -> None:
    found = model("gemma3", attention__sliding_window=512)
    step = found.pool_bytes(400_256, 8, 512, "f16") - found.pool_bytes(400_000, 8, 512, "f16")
    assert step == 256 * (128 + 128) * 2, "one layer of six grows"


@pytest.mark.parametrize("length", [40, 16])
def test_rows_that_cannot_be_cut_into_blocks_are_not_compressed(length: int) -> None:
    assert model("llama").compressible
    # Eight heads of 40 can be cut into blocks of 32, but not each of them.
    assert not model("llama", attention__head_count_kv=8, attention__key_length=length).compressible


def test_a_header_that_tells_nothing_or_nonsense_costs_its_size() -> None:
    nothing = footprint(Header(), 5)
    assert (nothing.layers, nothing.weights) == ((), 5)
    odd = model("llama", -3, attention__head_count=-1, embedding_length=-5)
    assert (odd.layers, odd.width) == ((), 0)
    huge = model("llama", 2**40, embedding_length=2**50)
    assert len(huge.layers) <= 1024


def test_all_parts_of_a_split_file_count(tmp_path: Path) -> None:
    first = tmp_path / "m-00001-of-00003.gguf"
    tiny_models.attention(first)
    for number in (2, 3):
        (tmp_path / f"m-0000{number}-of-00003.gguf").write_bytes(b"x" * 1000)
    (tmp_path / "m-00001-of-00004.gguf").write_bytes(b"x" * 9999)
    assert read_footprint(first).weights == first.stat().st_size + 2000


def test_a_file_that_is_gone_is_told(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="no file"):
        read_footprint(tmp_path / "gone.gguf")
