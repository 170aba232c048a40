"""Where models lie on this machine: the app's own folder, and those of other programs, which are only read."""

import enum
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from app import plainfile

_MOST_POINTER = 4096


class Layout(enum.StrEnum):
    """How a place is arranged."""

    OWN = "own"
    STARTER = "starter"
    FOLDER = "folder"
    HUB_CACHE = "hub cache"
    OLLAMA = "ollama"


@dataclass(frozen=True, slots=True)
class Place:
    """A folder with models, and what a person calls it; of the starter the file itself.  `named` by the user."""

    name: str
    path: Path
    layout: Layout
    named: bool = False

    @property
    def label(self) -> str:
        """For a line that has no room for a path."""
        return self.path.name or self.name if self.named else self.name


def known_places(environment: Mapping[str, str], home: Path) -> list[Place]:
    """Of other programs, whether they are there or not; those that name the same folder once."""
    cache = environment.get("XDG_CACHE_HOME") or str(home / ".cache")
    hub_home = environment.get("HF_HOME") or f"{cache}/huggingface"
    places = [
        Place("Hugging Face cache", Path(environment.get("HF_HUB_CACHE") or f"{hub_home}/hub"), Layout.HUB_CACHE),
        Place("llama.cpp cache", Path(environment.get("LLAMA_CACHE") or f"{cache}/llama.cpp"), Layout.FOLDER),
        Place("Ollama", Path(environment.get("OLLAMA_MODELS") or home / ".ollama" / "models"), Layout.OLLAMA),
        Place("Ollama", Path("/usr/share/ollama/.ollama/models"), Layout.OLLAMA),
        *(Place("LM Studio", path, Layout.FOLDER) for path in _lm_studio(home)),
        *(Place("Jan", home / folder, Layout.FOLDER) for folder in ("jan/models", ".local/share/Jan/data/models", ".local/share/Jan/data/llamacpp/models")),
    ]  # fmt: skip
    return list({place.path: place for place in places}.values())


def named(folders: Iterable[Path]) -> list[Place]:
    """Folders that the user names; one of Ollama or of the hub's cache is seen by what is in it."""
    return [Place(str(folder), folder, _layout(folder), named=True) for folder in folders]


def _layout(folder: Path) -> Layout:
    if (folder / "manifests").is_dir() and (folder / "blobs").is_dir():
        return Layout.OLLAMA
    try:
        in_cache = any(path.name.startswith("models--") for path in folder.iterdir())
    except OSError:
        in_cache = False
    return Layout.HUB_CACHE if in_cache else Layout.FOLDER


def _lm_studio(home: Path) -> list[Path]:
    places = [home / ".lmstudio", home / ".cache" / "lm-studio"]
    moved = _small_text(home / ".lmstudio-home-pointer")
    if moved:
        places.insert(0, Path(moved))
    return [*(path / "models" for path in places), *_lm_studio_setting(places)]


def _lm_studio_setting(places: list[Path]) -> list[Path]:
    found: list[Path] = []
    for place in places:
        try:
            raw = json.loads(_small_text(place / "settings.json") or "{}")
        except (ValueError, RecursionError):
            continue
        folder = raw.get("downloadsFolder") if isinstance(raw, dict) else None
        if isinstance(folder, str) and Path(folder).is_absolute():
            found.append(Path(folder))
    return found


def _small_text(path: Path) -> str:
    try:
        with plainfile.opened(path) as file:
            return file.read(_MOST_POINTER * 16).decode("utf-8").strip()
    except (OSError, UnicodeDecodeError):
        return ""
