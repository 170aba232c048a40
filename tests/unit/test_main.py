"""The composition root's pure parts."""

import dataclasses
import subprocess
import sys
from pathlib import Path

from app.main import load_params
from app.settings import Settings

ROOT = Path(__file__).parent.parent.parent


def test_every_setting_of_a_load_reaches_it():
    settings = Settings(
        pool_tokens=1024, sequences=3, batch=64, threads=5, gpu_layers=7, kv_type="q8_0"
    )
    params = load_params("/m.gguf", settings)
    assert params.path == "/m.gguf"
    shared = {field.name for field in dataclasses.fields(params)} & {
        field.name for field in dataclasses.fields(settings)
    }
    assert shared == {"pool_tokens", "sequences", "batch", "threads", "gpu_layers", "kv_type"}
    for name in shared:
        assert getattr(params, name) == getattr(settings, name)


def test_importing_it_loads_neither_qt_nor_llama():
    code = "import sys, app.main; print([n for n in ('PySide6', 'llama_cpp') if n in sys.modules])"
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "[]"
