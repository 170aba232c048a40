"""Results as JSON: every run, and the machine that it was."""

import json
import math
import os
import platform
import time
from collections.abc import Sequence
from importlib import metadata
from pathlib import Path

from app import __version__
from app.bench.figure import Result
from app.bench.rows.row import Setup


def machine() -> dict[str, object]:
    """What figures depend on besides the program."""
    return {
        "tutti": __version__,
        "llama-cpp-python": metadata.version("llama-cpp-python"),
        "python": platform.python_version(),
        "system": platform.platform(),
        "processor": _processor(),
        "cores": os.cpu_count(),
        "load": load(),
    }


def load() -> float | None:
    """The system's load over the last minute; None where it has no such thing."""
    return round(os.getloadavg()[0], 2) if hasattr(os, "getloadavg") else None


def write(
    path: Path, found: Sequence[Result], failures: dict[str, str], about: dict[str, object]
) -> None:
    """Write everything; what never came is null."""
    content = {
        "when": time.strftime("%Y-%m-%dT%H:%M:%S%z"),
        **about,
        "figures": [_plain(result) for result in found],
        "failures": failures,
    }
    path.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")


def about(setup: Setup, pairs: int) -> dict[str, object]:
    """The machine, and how was measured."""
    peers = {
        "llama-server": setup.llama_server is not None,
        "batched-bench": setup.batched_bench is not None,
    }
    how = {"model": setup.model.name, "threads": setup.threads, "pairs": pairs, "peers": peers}
    return {"machine": machine(), **how}


def _plain(result: Result) -> dict[str, object]:
    figure, goal = result.figure, result.figure.goal
    return {
        "row": result.row,
        "figure": figure.key,
        "words": figure.words,
        "unit": figure.unit,
        "tutti": [_finite(value) for value in result.ours],
        "median": _finite(result.median),
        "peer": result.peer or None,
        "pairs": [[_finite(ours), _finite(theirs)] for ours, theirs in result.pairs],
        "ratio": _finite(result.ratio),
        "target": goal.words(figure.unit) if goal else None,
        "met": result.met,
    }


def _finite(value: float | None) -> float | None:
    return value if value is not None and math.isfinite(value) else None


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor()
    named = (line.split(":", 1)[1].strip() for line in lines if line.startswith("model name"))
    return next(named, platform.processor())
