"""`download:MB`: the window while a model is found, downloaded, checked and loaded.

The window and the hub that it asks are programs of the tests, in processes of their own: only a checkout has them.
"""

import asyncio
import contextlib
import json
import os
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from app.bench.figure import Figure, Values, at_most
from app.bench.quantiles import quantile
from app.bench.rows.row import Row, Setup
from app.errors import AppError

_ROOT = Path(__file__).parents[3]
_DRIVER = "tests.e2e.download_stall"


@dataclass(frozen=True)
class Download(Row):
    """MB megabytes over loopback; a timer of 10 ms in the window's thread looks whether its loop turns."""

    kind: ClassVar[str] = "download"
    about: ClassVar[str] = (
        "the window while a model of MB megabytes is found, downloaded and checked"
    )
    shown: ClassVar[int] = 1

    megabytes: int = 300

    @property
    def figures(self) -> tuple[Figure, ...]:
        return (
            Figure("stall", "longest time between two turns of the loop", "ms", 0, at_most(50)),
            Figure("open", "of these, while the dialog opens", "ms", 0),
            Figure("p99", "99 % of them", "ms", 0),
            Figure("speed", "downloaded, with its hash", "MB/s", 0),
        )

    async def ours(self, setup: Setup, seed: int) -> Values:  # noqa: ARG002  any model moves alike
        told = await _driven(self.megabytes)
        every = [gap for gaps in told.gaps.values() for gap in gaps]
        return {
            "stall": max(every) * 1000,
            "open": max(told.gaps["open"]) * 1000,
            "p99": quantile(every, 0.99) * 1000,
            "speed": self.megabytes * 1.048576 / told.seconds,
        }


@dataclass(frozen=True, slots=True)
class _Told:
    """Seconds: between the turns of the loop, by what was done; and of the whole download."""

    gaps: dict[str, list[float]]
    seconds: float


async def _driven(megabytes: int) -> _Told:
    if not _ROOT.joinpath(*_DRIVER.split(".")).with_suffix(".py").is_file():
        raise AppError("This row is measured in a checkout only: it needs the tests.")
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", _DRIVER, str(megabytes)),
        cwd=_ROOT,
        env={**os.environ, "QT_QPA_PLATFORM": "offscreen"},
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    try:
        output, errors = await process.communicate()
    finally:
        if process.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                process.kill()
            await process.wait()
    if process.returncode:
        last = errors.decode("utf-8", "replace").strip().rpartition("\n")[2]
        raise AppError(f"The window did not come to its end: {last}")
    told = json.loads(output.splitlines()[-1])
    return _Told(told["gaps"], told["seconds"])
