"""The user's settings: one frozen object, loaded once, saved atomically.

A wrong value falls back to its default one by one, never all at once; a file that cannot be read at all is kept
beside the new one with a time in its name (`Loaded.problems` says so, for the window to show).
"""

import dataclasses
import json
import time
from dataclasses import dataclass, field
from pathlib import Path
from types import UnionType
from typing import Literal, Union, get_args, get_origin, get_type_hints

from app import paths, privatefile, sampling
from app.sampling import Sampling

Theme = Literal["system", "light", "dark"]
KvType = Literal["f16", "q8_0", "q4_0"]
WhenFull = Literal["leave_out", "summarise", "stop"]
Pace = Literal["smooth", "balanced", "fast"]
Profile = Literal["auto", "development", "production", "edge"]

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
    "most_models": (0, 4),
    "max_answer_tokens": (0, 1_000_000),
    "unused_days": (1, 3650),
    **sampling.LIMITS,
}
"""Lowest and highest value of each number, both allowed; also those of `Sampling`."""

OWN_NUMBERS = ("pool_tokens", "sequences", "batch", "kv_type", "mmap", "spill_megabytes")
"""What a profile gives, and what the user may set instead; None leaves it to the profile."""

_BEFORE_PROFILES: dict[str, object] = {
    "pool_tokens": 8192,
    "sequences": 8,
    "batch": 512,
    "kv_type": "f16",
    "spill_megabytes": 1024,
}
"""The defaults of the time when every number was saved: whoever has one of these has never chosen it."""

_FILE_LIMIT = 1_000_000


@dataclass(frozen=True, slots=True)
class Settings:
    """All of them.  0 for `threads` means "choose", for `idle_unload_minutes` and `max_answer_tokens` "never"
    and "no limit", for `most_models` (loaded at once) "as many as fit"; `model_path` "" means that no model was chosen yet.  Of `OWN_NUMBERS` None is the profile's.
    `hub_endpoint` and `hub_proxy` "" are the usual ones; `hub_tokens` are the addresses that have an access token in the
    system's keyring, and never the tokens.  A model that was not loaded for `unused_days` counts as unused.
    `sampling_kept` names what the user set in `sampling` to just what it is by default."""

    model_path: str = ""
    profile: Profile = "auto"
    pool_tokens: int | None = None
    sequences: int | None = None
    batch: int | None = None
    kv_type: KvType | None = None
    mmap: bool | None = None
    threads: int = 0
    gpu_layers: int = -1
    pace: Pace = "balanced"
    spill_megabytes: int | None = None
    disk_megabytes: int = 4096
    idle_unload_minutes: int = 30
    most_models: int = 0
    max_answer_tokens: int = 0
    system_prompt: str = ""
    when_full: WhenFull = "leave_out"
    sampling: Sampling = field(default_factory=Sampling)
    sampling_kept: tuple[str, ...] = ()
    theme: Theme = "system"
    sidebar_visible: bool = True
    hub_endpoint: str = ""
    hub_proxy: str = ""
    hub_tokens: tuple[str, ...] = ()
    model_folders: tuple[str, ...] = ()
    unused_days: int = 30

    @property
    def sampling_open(self) -> frozenset[str]:
        """What nobody has chosen: there a model's own recommended values count."""
        return sampling.untouched(self.sampling).difference(self.sampling_kept)


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
    """Keep them; the old file stays whole whatever happens.  Raises OSError."""
    privatefile.write(path, json.dumps(dataclasses.asdict(settings), indent=2))


def check(name: str, value: object, kind: object) -> bool:
    """Whether `value` is of this kind (a field's type) and lies in its range."""
    if get_origin(kind) in (Union, UnionType):
        return any(check(name, value, one) for one in get_args(kind))
    if get_origin(kind) is Literal:
        return isinstance(value, str) and value in get_args(kind)
    if get_origin(kind) is tuple:
        return isinstance(value, list) and all(isinstance(one, str) for one in value)
    if kind is bool or isinstance(value, bool):
        return kind is bool and isinstance(value, bool)
    if kind is float:
        return isinstance(value, int | float) and _in_range(name, value)
    if kind is int:
        return isinstance(value, int) and _in_range(name, value)
    return isinstance(value, str) if kind is str else value is None


def _in_range(name: str, value: float) -> bool:
    low, high = RANGES[name]
    return low <= value <= high


def _checked(raw: dict[str, object]) -> Loaded:
    problems: list[str] = []
    if "profile" not in raw:
        raw = {
            name: value
            for name, value in raw.items()
            if name not in _BEFORE_PROFILES or value != _BEFORE_PROFILES[name]
        }
    base = Settings(sampling=_sampling(raw.get("sampling"), problems))
    return Loaded(_fill(base, raw, problems), tuple(problems))


def _sampling(raw: object, problems: list[str]) -> Sampling:
    usual = Sampling()
    found, bad = sampling.fill(usual, raw if isinstance(raw, dict) else {})
    problems += [_problem(name, getattr(usual, name)) for name in bad]
    return found


def _fill(base: Settings, raw: dict[str, object], problems: list[str]) -> Settings:
    good: dict[str, object] = {}
    kinds = get_type_hints(Settings)
    for item in dataclasses.fields(base):
        name, value = item.name, raw.get(item.name)
        if name not in raw or name == "sampling":
            continue
        if check(name, value, kinds[name]):
            good[name] = tuple(value) if isinstance(value, list) else value
        else:
            problems.append(_problem(name, getattr(base, name)))
    return dataclasses.replace(base, **good)  # type: ignore[arg-type]


def _problem(name: str, default: object) -> str:
    return f"The setting “{name}” had a wrong value and is now {_words(default)}."


def _words(default: object) -> str:
    return "the profile's" if default is None else repr(default)


def _set_aside(path: Path, why: str) -> str:
    kept = path.with_name(f"{path.stem}.{time.strftime('%Y%m%d-%H%M%S')}{path.suffix}")
    try:
        path.replace(kept)
    except OSError:
        return f"The settings file {why}; the defaults are in use."
    return f"The settings file {why}. It was kept as {kept.name}; the defaults are in use."
