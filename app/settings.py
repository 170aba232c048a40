"""The user's settings: one frozen object, loaded once, saved atomically.

A wrong value falls back to its default one by one, never all at once; a file that cannot be read at all is kept
beside the new one with a time in its name (`Loaded.problems` says so, for the window to show).
"""

import dataclasses
import json
import os
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, TypeVar

from app import paths
from app.wire import Sampling

Theme = Literal["system", "light", "dark"]
KvType = Literal["f16", "q8_0", "q4_0"]
WhenFull = Literal["leave_out", "stop"]
Pace = Literal["smooth", "balanced", "fast"]

_CHOICES: dict[str, tuple[str, ...]] = {
    "theme": ("system", "light", "dark"),
    "kv_type": ("f16", "q8_0", "q4_0"),
    "pace": ("smooth", "balanced", "fast"),
    "when_full": ("leave_out", "stop"),
}
GAPS: dict[Pace, float] = {"smooth": 2.0, "balanced": 3.0, "fast": 8.0}
"""How many times as long as without it a step may take that also reads, while others write."""

RANGES: dict[str, tuple[float, float]] = {
    "pool_tokens": (256, 4_194_304),
    "sequences": (1, 64),
    "batch": (32, 8192),
    "threads": (0, 512),
    "gpu_layers": (-1, 10_000),
    "spill_megabytes": (0, 1_000_000),
    "disk_megabytes": (0, 10_000_000),
    "idle_unload_minutes": (0, 10_080),
    "max_answer_tokens": (0, 1_000_000),
    "temperature": (0.0, 5.0),
    "top_k": (0, 100_000),
    "top_p": (0.0, 1.0),
    "min_p": (0.0, 1.0),
    "repeat_penalty": (0.1, 5.0),
    "presence_penalty": (-2.0, 2.0),
    "seed": (0, 4_294_967_295),
}
"""Lowest and highest value of each number, both allowed; also those of `Sampling` (`seed` may be None)."""

_FILE_LIMIT = 1_000_000


@dataclass(frozen=True, slots=True)
class Settings:
    """All of them.  0 for `threads` means "choose", for `idle_unload_minutes` and `max_answer_tokens` "never"
    and "no limit"; `model_path` "" means that no model was chosen yet."""

    model_path: str = ""
    pool_tokens: int = 8192
    sequences: int = 8
    batch: int = 512
    threads: int = 0
    gpu_layers: int = -1
    kv_type: KvType = "f16"
    pace: Pace = "balanced"
    spill_megabytes: int = 1024
    disk_megabytes: int = 4096
    idle_unload_minutes: int = 30
    max_answer_tokens: int = 0
    system_prompt: str = ""
    when_full: WhenFull = "leave_out"
    sampling: Sampling = field(default_factory=Sampling)
    theme: Theme = "system"
    sidebar_visible: bool = True


_T = TypeVar("_T", "Settings", Sampling)


@dataclass(frozen=True, slots=True)
class Loaded:
    """Settings and what was wrong with the file, in words for the user."""

    settings: Settings
    problems: tuple[str, ...] = ()


def settings_path() -> Path:
    return paths.data_dir() / "settings.json"


def load(path: Path) -> Loaded:
    """Read `path`; a missing file is not a problem."""
    try:
        if path.stat().st_size > _FILE_LIMIT:
            return Loaded(Settings(), (_set_aside(path, "is far too large"),))
        raw = json.loads(path.read_bytes().decode("utf-8-sig"))
    except FileNotFoundError:
        return Loaded(Settings())
    except (OSError, ValueError, RecursionError) as error:
        return Loaded(
            Settings(), (_set_aside(path, f"could not be read ({type(error).__name__})"),)
        )
    if not isinstance(raw, dict):
        return Loaded(Settings(), (_set_aside(path, "does not hold settings"),))
    return _checked(raw)


def save(settings: Settings, path: Path) -> None:
    """Write beside, flush to disk, rename: the old file stays whole whatever happens."""
    temporary = path.with_name(f"{path.name}.{os.getpid()}.tmp")
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        json.dump(dataclasses.asdict(settings), file, indent=2)
        file.flush()
        os.fsync(file.fileno())
    temporary.replace(path)


def check(name: str, value: object, default: object) -> bool:
    """Whether `value` has the type of `default` and lies in its range."""
    if isinstance(default, bool) or isinstance(value, bool):
        return isinstance(default, bool) and isinstance(value, bool)
    if name == "seed":
        return value is None or (isinstance(value, int) and _in_range(name, value))
    if isinstance(default, float):
        return isinstance(value, int | float) and _in_range(name, value)
    if isinstance(default, int):
        return isinstance(value, int) and _in_range(name, value)
    return isinstance(value, str) and value in _CHOICES.get(name, (value,))


def _in_range(name: str, value: float) -> bool:
    low, high = RANGES[name]
    return low <= value <= high


def _checked(raw: dict[str, object]) -> Loaded:
    problems: list[str] = []
    sampling_raw = raw.get("sampling", {})
    sampling = _fill(Sampling(), sampling_raw if isinstance(sampling_raw, dict) else {}, problems)
    flat = {name: value for name, value in raw.items() if name != "sampling"}
    settings = _fill(Settings(sampling=sampling), flat, problems)
    return Loaded(settings, tuple(problems))


def _fill(base: _T, raw: dict[str, object], problems: list[str]) -> _T:
    good: dict[str, object] = {}
    for item in dataclasses.fields(base):
        default = getattr(base, item.name)
        if item.name not in raw or item.name == "sampling":
            continue
        if check(item.name, raw[item.name], default):
            good[item.name] = raw[item.name]
        else:
            problems.append(f"The setting “{item.name}” had a wrong value and is now {default!r}.")
    return dataclasses.replace(base, **good)  # type: ignore[arg-type]


def _set_aside(path: Path, why: str) -> str:
    kept = path.with_name(f"{path.stem}.{time.strftime('%Y%m%d-%H%M%S')}{path.suffix}")
    try:
        path.replace(kept)
    except OSError:
        return f"The settings file {why}; the defaults are in use."
    return f"The settings file {why}. It was kept as {kept.name}; the defaults are in use."
