"""What is remembered of each model on this machine: the name a person gave it, when it was last loaded, and how.

One small file in the app's data, by the path of the file that is loaded.  A command and the window may both write it:
each change is made to what the file says at that moment.  Changes write the disk: not for the window's thread; `of`
only looks at what was read.
"""

import dataclasses
import json
import logging
import threading
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import get_type_hints

from app import modelfile, paths, privatefile, settings
from app.errors import StoreError, harmless
from app.settings import KvType, Profile, Settings

_log = logging.getLogger(__name__)
_MOST_BYTES = 4_000_000
_MOST_NAME = 80
_LATEST = 253e9
"""Seconds since the epoch that have a date: those of the years up to 9987."""


@dataclass(frozen=True, slots=True)
class LoadChoice:
    """How one model is loaded, in place of what the settings say for all; fields as in `Settings`."""

    profile: Profile = "auto"
    pool_tokens: int | None = None
    sequences: int | None = None
    batch: int | None = None
    kv_type: KvType | None = None
    mmap: bool | None = None
    spill_megabytes: int | None = None
    threads: int = 0
    gpu_layers: int = -1

    def over(self, general: Settings) -> Settings:
        """`general` with this in it."""
        return replace(general, **asdict(self))


def choice_of(general: Settings) -> LoadChoice:
    """What `general` says of loading."""
    names = (item.name for item in dataclasses.fields(LoadChoice))
    return LoadChoice(**{name: getattr(general, name) for name in names})


@dataclass(frozen=True, slots=True)
class Memory:
    """Of one model.  `name` "" where nobody gave it one; `label` what its place calls it, where its file's name does not
    tell; `used` when it was last loaded, in seconds since the epoch, 0
    for never; `load` None where it is loaded as all are."""

    name: str = ""
    label: str = ""
    used: float = 0.0
    load: LoadChoice | None = None


NOTHING = Memory()


def remembered_path() -> Path:
    return paths.data_dir() / "models.json"


class Remembered:
    """May be used by several threads."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._writing = threading.Lock()
        self._known = _load(path)
        """Replaced as a whole, so that readers need no lock."""

    def of(self, model: str | Path) -> Memory:
        """What is known of the model whose file this is; never waits for a change that is being written."""
        return self._known.get(_key(model), NOTHING)

    def settings_for(self, model: str | Path, general: Settings) -> Settings:
        """The settings that count when this file is loaded."""
        load = self.of(model).load
        return general if load is None else load.over(general)

    def title(self, model: str | Path) -> str:
        """What it is called, where only its path is known."""
        memory = self.of(model)
        return memory.name or memory.label or _line(modelfile.title(model))

    def label(self, model: str | Path, label: str) -> None:
        """Its place calls it so; what cannot be written is told to the log alone."""
        cut = _line(label)[:_MOST_NAME]
        if self.of(model).label == cut:
            return
        try:
            self._change(model, lambda memory: replace(memory, label=cut))
        except StoreError as error:
            _log.warning("%s", error.what)

    def rename(self, model: str | Path, name: str) -> None:
        """Call it so; "" takes its name away.  Raises StoreError."""
        cut = _line(name)[:_MOST_NAME]
        self._change(model, lambda memory: replace(memory, name=cut))

    def used(self, model: str | Path, when: float) -> None:
        """It was loaded; raises StoreError."""
        self._change(model, lambda memory: replace(memory, used=max(when, memory.used)))

    def load_with(self, model: str | Path, load: LoadChoice | None) -> None:
        """Load it so from now on; None: as all are.  Raises StoreError."""
        self._change(model, lambda memory: replace(memory, load=load))

    def forget(self, model: str | Path) -> None:
        """It is gone; raises StoreError."""
        self._change(model, lambda _: NOTHING)

    def _change(self, model: str | Path, change: Callable[[Memory], Memory]) -> None:
        key = _key(model)
        with self._writing:
            known = _load(self._path)
            known[key] = change(known.get(key, NOTHING))
            kept = {name: memory for name, memory in known.items() if memory != NOTHING}
            try:
                privatefile.write(self._path, json.dumps({n: asdict(m) for n, m in kept.items()}, indent=1))  # fmt: skip
            except (OSError, UnicodeError) as error:
                raise StoreError(
                    "What you set for this model could not be saved.",
                    "Check that the disk has room and that the data folder can be written.",
                ) from error
            self._known = kept


def _key(model: str | Path) -> str:
    return str(Path(model).absolute())


def _load(path: Path) -> dict[str, Memory]:
    """What makes sense in the file, which anybody may have changed."""
    try:
        if path.stat().st_size > _MOST_BYTES:
            _log.warning("What was remembered of the models is far too large")
            return {}
        raw = json.loads(path.read_bytes())
    except FileNotFoundError:
        return {}
    except (OSError, ValueError, RecursionError) as error:
        _log.warning("What was remembered of the models cannot be read: %s", type(error).__name__)
        return {}
    rows = raw.items() if isinstance(raw, dict) else ()
    return {key: _memory(row) for key, row in rows if isinstance(row, dict)}


def _memory(row: dict[str, object]) -> Memory:
    used, load = row.get("used"), row.get("load")
    return Memory(
        name=_text(row.get("name")),
        label=_text(row.get("label")),
        used=float(used) if isinstance(used, int | float) and 0 <= used < _LATEST else 0.0,
        load=_choice(load) if isinstance(load, dict) else None,
    )


def _text(value: object) -> str:
    return _line(value)[:_MOST_NAME] if isinstance(value, str) else ""


def _line(name: str) -> str:
    """On one line, and without what would turn the words beside it around."""
    return " ".join(harmless(name).split())


def _choice(raw: dict[str, object]) -> LoadChoice:
    """What cannot be is as if it were not there."""
    kinds = get_type_hints(LoadChoice)
    good = {n: raw[n] for n, kind in kinds.items() if n in raw and settings.check(n, raw[n], kind)}
    return LoadChoice(**good)  # type: ignore[arg-type]
