"""The model files of one place, in its layout: which files make up a model, and what it is called there.

Nothing is written, moved or locked.  Links to files are followed, links to folders are not, so that no walk is endless.
"""

import json
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from app import modelfile, plainfile
from app.hub import names
from app.hub.names import Part
from app.hub.places import Layout, Place

_MOST_FILES = 50_000
_MOST_DEPTH = 8
_MOST_MANIFEST = 1_000_000
_BLOB = re.compile(r"sha256[:-]([0-9a-f]{64})")
_MODEL_LAYER = "application/vnd.ollama.image.model"
_DEFAULT_HOSTS = ("registry.ollama.ai/library/", "ollama.com/library/", "registry.ollama.ai/", "ollama.com/")  # fmt: skip


@dataclass(frozen=True, slots=True)
class Found:
    """One model: its files, part 1 first; the file names of parts that are `missing`; `digest` "" where the place does
    not tell the SHA-256 of its only file."""

    name: str
    files: tuple[Path, ...]
    missing: tuple[str, ...] = ()
    digest: str = ""


def look(place: Place) -> list[Found]:
    """Everything that is called a model there; none where the folder cannot be read."""
    if place.layout is Layout.STARTER:
        return [Found(modelfile.title(place.path), (place.path,))]
    if place.layout is Layout.OLLAMA:
        return list(_ollama(place.path))
    found = _grouped(place.path, list(_files(place.path)))
    return [_of_cache(one) for one in found] if place.layout is Layout.HUB_CACHE else found


def _files(folder: Path) -> Iterator[Path]:
    """GGUF files below `folder`, in order of their names."""
    seen = 0
    for here, folders, files in os.walk(folder):
        depth = len(Path(here).relative_to(folder).parts)
        folders[:] = [] if depth >= _MOST_DEPTH else sorted(folders)
        for name in sorted(files):
            seen += 1
            if seen > _MOST_FILES:
                return
            if names.is_gguf(name):
                yield Path(here, name)


def _grouped(top: Path, files: list[Path]) -> list[Found]:
    """The parts of a split model are one."""
    whole: list[Found] = []
    split: dict[tuple[Path, str, int], dict[int, Path]] = {}
    for path in files:
        part = names.part_of(path.name)
        if part is None:
            whole.append(Found(_name(top, path, path.stem), (path,)))
        else:
            split.setdefault((path.parent, part.stem, part.count), {})[part.number] = path
    for (folder, stem, count), parts in split.items():
        lacking = (n for n in range(1, min(count, 10_000) + 1) if n not in parts)
        missing = tuple(names.part_name(Part(stem, 1, count), number) for number in lacking)
        ordered = tuple(parts[number] for number in sorted(parts))
        whole.append(Found(_name(top, folder / stem, stem), ordered, missing))
    return whole


def _name(top: Path, path: Path, stem: str) -> str:
    folder = path.parent.relative_to(top).as_posix()
    return names.shown(stem if folder == "." else f"{folder}/{stem}", 200)


def _of_cache(found: Found) -> Found:
    """In the hub's cache the folders name the repository, and the file that a link leads to names its SHA-256."""
    match = re.fullmatch(r"models--(?P<repo>[^/]+)/snapshots/[^/]+/(?P<rest>.+)", found.name)
    name = f"{match['repo'].replace('--', '/', 1)}/{match['rest']}" if match else found.name
    digest = names.digest(Path(os.path.realpath(found.files[0])).name) if len(found.files) == 1 else ""  # fmt: skip
    return Found(name, found.files, found.missing, digest if len(digest) == 64 else "")


def _ollama(folder: Path) -> Iterator[Found]:
    for base in ("manifests", "manifest-v2"):
        top = folder / base
        for here, folders, files in os.walk(top):
            folders.sort()
            for tag in sorted(files):
                path = Path(here, tag)
                blob = _blob(folder, path)
                if blob is not None:
                    name = f"{path.parent.relative_to(top).as_posix()}:{tag}"
                    digest = blob.name.removeprefix("sha256").lstrip("-:")
                    yield Found(names.shown(_short(name), 200), (blob,), digest=digest)


def _short(name: str) -> str:
    for host in _DEFAULT_HOSTS:
        if name.startswith(host):
            return name.removeprefix(host)
    return name


def _blob(folder: Path, manifest: Path) -> Path | None:
    """The file of a manifest's model layer; None where there is none."""
    try:
        with plainfile.opened(manifest) as file:
            raw = json.loads(file.read(_MOST_MANIFEST))
    except (OSError, ValueError, RecursionError):
        return None
    layers = raw.get("layers") if isinstance(raw, dict) else None
    for layer in layers if isinstance(layers, list) else ():
        if not isinstance(layer, dict) or layer.get("mediaType") != _MODEL_LAYER:
            continue
        match = _BLOB.fullmatch(str(layer.get("digest")))
        for separator in "-:" if match else "":
            blob = folder / "blobs" / f"sha256{separator}{match[1] if match else ''}"
            if blob.is_file():
                return blob
    return None
