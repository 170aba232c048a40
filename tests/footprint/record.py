"""Write down what llama.cpp takes for the models of `shapes`, for the comparison with what the app expects.

    python -m tests.footprint.record           measure (minutes, some GB); writes allocations.json beside this file
    python -m tests.footprint.record --table   the table of resources/models.md

`make test` computes what the app expects anew and compares; a few models are measured anew there too.
"""

import argparse
import json
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from app import llama
from app.sizing.footprint import Footprint, read_footprint
from tests.footprint.allocation import MEGABYTE, Allocator, Setting, Taken
from tests.footprint.shapes import SHAPES, Shape

_DATA = Path(__file__).with_name("allocations.json")

SETTINGS = (
    Setting(1024, 2, 512, "q4_0"),
    Setting(4096, 4, 512, "f16"),
    Setting(8192, 4, 512, "q8_0"),
    Setting(8192, 2, 2048, "f16"),
    Setting(16_384, 8, 512, "f16"),
    Setting(32_768, 4, 64, "f16"),
    Setting(65_536, 16, 512, "f16"),
    Setting(131_072, 32, 512, "q8_0"),
)
_MOST_STATES = 16
"""Sequences of a recurrent model: their states are really allocated."""


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--table", action="store_true", help="print the table of what was measured")
    if parser.parse_args().table:
        print("\n".join(table(recorded())))
        return 0
    found = {name: _measured(shape) for name, shape in SHAPES.items()}
    lines = (f"{json.dumps(name)}: {json.dumps(rows)}" for name, rows in found.items())
    _DATA.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")
    return 0


def recorded() -> dict[str, list[tuple[Setting, Taken]]]:
    """What was measured, by the model's name."""
    data = json.loads(_DATA.read_text(encoding="utf-8"))
    return {
        name: [(SETTINGS[number], Taken(pool, buffers)) for number, pool, buffers in rows]
        for name, rows in data.items()
    }


def foreseen(shape: Shape) -> Footprint:
    """What the app knows of this model."""
    with tempfile.TemporaryDirectory() as folder:
        head = Path(folder) / "head.gguf"
        shape.write(head)
        return read_footprint(head)


def errors(model: Footprint, measured: Sequence[tuple[Setting, Taken]]) -> Iterator[Taken]:
    """How much more than was taken the app expects, in parts of it: of the pool and of the buffers."""
    for setting, taken in measured:
        pool = model.pool_bytes(setting.pool, setting.sequences, setting.batch, setting.kv_type)
        buffers = model.buffer_bytes(setting.pool, setting.sequences, setting.batch)
        yield Taken(
            pool / MEGABYTE / taken.pool - 1,
            buffers / MEGABYTE / taken.buffers - 1,
        )


def table(measured: dict[str, list[tuple[Setting, Taken]]]) -> Iterator[str]:
    """In Markdown, by the kind of the model."""
    yield "| kind | models | pool | buffers |"
    yield "|---|---|---|---|"
    for kind in dict.fromkeys(shape.kind for shape in SHAPES.values()):
        names = [name for name, shape in SHAPES.items() if shape.kind == kind]
        found = [
            error for name in names for error in errors(foreseen(SHAPES[name]), measured[name])
        ]
        pool, buffers = [error.pool for error in found], [error.buffers for error in found]
        yield f"| {kind} | {_some(names)} | {_range(pool)} | {_range(buffers)} |"


def _some(names: Sequence[str]) -> str:
    more = f" and {len(names) - 3} others" if len(names) > 4 else ""
    return ", ".join(names[:3] if more else names) + more


def _range(errors: Sequence[float]) -> str:
    low, high = min(errors), max(errors)
    if max(-low, high) < 0.005:
        return "0 %"
    return f"{_signed(low)} to {_signed(high)} %"


def _signed(error: float) -> str:
    percent = round(100 * error)
    return f"{percent:+}".replace("-", "−") if percent else "0"


def _measured(shape: Shape) -> list[tuple[int, float, float]]:
    """Of each setting that the model can have: its number, and MiB of the pool and of the buffers."""
    allocator = Allocator(llama.load())
    model = foreseen(shape)
    with tempfile.TemporaryDirectory() as folder:
        head = Path(folder) / "head.gguf"
        shape.write(head)
        with allocator.model(head) as loaded:
            found = (
                (number, allocator.taken(loaded, model, setting))
                for number, setting in enumerate(SETTINGS)
                if _possible(model, setting)
            )
            return [(number, taken.pool, taken.buffers) for number, taken in found]


def _possible(model: Footprint, setting: Setting) -> bool:
    if model.recurrent and setting.sequences > _MOST_STATES:
        return False
    return model.compressible or setting.kv_type == "f16"


if __name__ == "__main__":
    raise SystemExit(main())
