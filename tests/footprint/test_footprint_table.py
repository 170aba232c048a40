"""The memory that the app expects a model to take, against what llama.cpp takes for the models of `shapes`."""

from pathlib import Path

import pytest

from app import llama
from tests.footprint.allocation import Allocator
from tests.footprint.record import SETTINGS, errors, foreseen, recorded, table
from tests.footprint.shapes import SHAPES

ROOT = Path(__file__).parents[2]
RECORDED = recorded()


@pytest.mark.parametrize("name", SHAPES)
def test_what_is_foreseen_is_what_is_taken(name: str) -> None:
    found = list(errors(foreseen(SHAPES[name]), RECORDED[name]))
    assert len(found) >= 5
    assert max(abs(error.pool) for error in found) < 0.01
    assert max(abs(error.buffers) for error in found) < 0.2


def test_the_manual_has_this_table() -> None:
    manual = (ROOT / "resources" / "models.md").read_text(encoding="utf-8")
    assert "\n".join(table(RECORDED)) in manual


@pytest.mark.parametrize("name", ["Qwen 3 0.6B", "Gemma 3 270M", "OLMoE 1B-7B", "LFM2 1.2B"])
def test_llama_takes_what_was_recorded(name: str, tmp_path: Path) -> None:
    """A release of llama.cpp that lays its memory out otherwise fails here: then record anew."""
    head = tmp_path / "head.gguf"
    SHAPES[name].write(head)
    allocator, model = Allocator(llama.load()), foreseen(SHAPES[name])
    with allocator.model(head) as loaded:
        for setting, taken in RECORDED[name][:3]:
            assert allocator.taken(loaded, model, setting) == taken


def test_memory_is_taken_as_it_is_simulated(tmp_path: Path) -> None:
    head = tmp_path / "head.gguf"
    SHAPES["SmolLM2 135M"].write(head)
    allocator, model = Allocator(llama.load()), foreseen(SHAPES["SmolLM2 135M"])
    with allocator.model(head, simulated=False) as loaded:
        taken = allocator.taken(loaded, model, SETTINGS[1])
    assert taken == dict(RECORDED["SmolLM2 135M"])[SETTINGS[1]]
