"""The composition root's pure parts."""

import dataclasses
import subprocess
import sys
from pathlib import Path

from app.main import load_params, planned, states_folder
from app.remembered import LoadChoice, Remembered
from app.settings import GAPS, OWN_NUMBERS, Settings
from app.sizing.planner import Planner
from app.sizing.profiles import Plan
from tests import tiny_models

ROOT = Path(__file__).parent.parent.parent


def test_every_setting_and_every_number_of_the_plan_reaches_the_load():
    settings = Settings(threads=5, gpu_layers=7, pace="fast", disk_megabytes=3)
    plan = Plan(1024, 3, 64, "q8_0", mmap=False, spill_megabytes=9)
    params = load_params("/m.gguf", settings, plan)
    assert params.path == "/m.gguf"
    assert (params.threads, params.gpu_layers, params.gap) == (5, 7, GAPS["fast"])
    assert (params.disk_bytes, params.states_folder) == (3 << 20, states_folder())
    assert params.spill_bytes == 9 << 20
    named = {field.name for field in dataclasses.fields(params)}
    shared = named & {field.name for field in dataclasses.fields(plan)}
    assert shared == {*OWN_NUMBERS} - {"spill_megabytes"}
    for name in shared:
        assert getattr(params, name) == getattr(plan, name)
    assert params.yielding


def test_numbers_of_the_users_own_do_not_yield():
    plan = Plan(1024, 3, 64, "q8_0", mmap=True, spill_megabytes=9)
    for settings in (Settings(pool_tokens=1024), Settings(kv_type="q8_0")):
        assert not load_params("/m.gguf", settings, plan).yielding


def test_a_model_is_loaded_as_was_set_for_it_and_others_as_all_are(tmp_path):
    own, other = tmp_path / "own.gguf", tmp_path / "other.gguf"
    for path in (own, other):
        tiny_models.attention(path)
    remembered = Remembered(tmp_path / "models.json")
    remembered.load_with(own, LoadChoice(pool_tokens=2048, kv_type="q8_0", threads=3, mmap=False))
    general = Settings(pool_tokens=4096, threads=1)

    def load(path):
        params, _ = planned(str(path), remembered.settings_for(path, general), Planner())
        return params.pool_tokens, params.kv_type, params.threads, params.mmap

    assert load(own) == (2048, "q8_0", 3, False)
    assert load(other) == (4096, "f16", 1, True)


def test_who_gives_the_states_no_room_on_disk_has_those_deleted_that_lie_there():
    plan = Plan(1024, 3, 64, "f16", mmap=True, spill_megabytes=9)
    params = load_params("/m.gguf", Settings(disk_megabytes=0), plan)
    assert (params.disk_bytes, params.states_folder) == (0, states_folder())


def test_importing_it_loads_neither_qt_nor_llama():
    code = "import sys, app.main; print([n for n in ('PySide6', 'llama_cpp') if n in sys.modules])"
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "[]"
