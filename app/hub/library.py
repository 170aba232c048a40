"""The models on this machine, wherever they lie: used where they are, never copied.

`scan` reads the head of each file, so it belongs on a thread; heads that were read are remembered while a file keeps
its size and time of change.
"""

import hashlib
import os
import threading
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from app import paths
from app.errors import ModelError
from app.hub import details, disk, names, places, receipts, shelves
from app.hub.details import Details
from app.hub.names import Kind
from app.hub.places import Layout, Place
from app.hub.shelves import Found
from app.sizing import extent
from app.sizing.footprint import Footprint, footprint
from app.sizing.header import Header, read_header

_CHUNK = 1 << 20


@dataclass(frozen=True, slots=True)
class LocalModel:
    """A model on disk.  `path` is the file to load; `size` the bytes of all its `files`; `problem` why it cannot be
    loaded, "" where it can; `digest` "" where the SHA-256 is not known; `footprint` None where the head says nothing."""

    path: Path
    name: str
    place: Place
    files: tuple[Path, ...]
    size: int
    kind: Kind
    details: Details
    problem: str = ""
    digest: str = ""
    footprint: Footprint | None = None

    @property
    def removable(self) -> bool:
        """Only what this app fetched; the rest belongs to other programs."""
        return self.place.layout is Layout.OWN

    @property
    def chats(self) -> bool:
        """Whether it is offered for chats."""
        return self.kind is Kind.MODEL and not self.problem


class Library:
    """May be used by several threads."""

    def __init__(self, own: Path, others: Iterable[Place] = ()) -> None:
        """`own` is the folder that this app fetches into."""
        self._own = own
        self._places = [Place("Tutti", own, Layout.OWN), *others]
        self._lock = threading.Lock()
        self._heads: dict[tuple[str, int, int], Header | str] = {}
        """Of files by path, size and time of change: what they say, or why they cannot be used."""

    def scan(self) -> list[LocalModel]:
        """All of them; a file that is reached on two ways counts once."""
        found: list[LocalModel] = []
        seen: set[tuple[int, int]] = set()
        for place in self._places:
            for one in shelves.look(place):
                try:
                    states = [path.stat() for path in one.files]
                except OSError:
                    continue
                key = states[0].st_dev, states[0].st_ino
                if key not in seen:
                    seen.add(key)
                    found.append(self._model(place, one, states))
        return found

    def _model(self, place: Place, one: Found, states: list[os.stat_result]) -> LocalModel:
        head = self._head(one.files[0], states[0])
        problem = f"its part {one.missing[0]} is missing" if one.missing else ""
        for path, state in zip(one.files[1:], states[1:], strict=True):
            other = self._head(path, state)
            problem = problem or (
                f"its part {path.name}: {other}" if isinstance(other, str) else ""
            )
        size = sum(state.st_size for state in states)
        if isinstance(head, str):
            about = Details(names.kind_of(one.files[0].name) or Kind.MODEL)
            problem = problem or head
        else:
            about = details.of_header(head, one.files[0].name)
        return LocalModel(
            one.files[0],
            one.name,
            place,
            one.files,
            size,
            about.kind,
            about,
            problem,
            one.digest or self._known_digest(place, one),
            None if isinstance(head, str) else footprint(head, size),
        )

    def _head(self, path: Path, state: os.stat_result) -> "Header | str":
        """What it says, or in words why it cannot be read."""
        key = str(path), state.st_size, state.st_mtime_ns
        with self._lock:
            known = self._heads.get(key)
        if known is not None:
            return known
        try:
            read = read_header(path)
            head: Header | str = extent.problem(path, read) or read
        except ModelError as error:
            head = error.what
        with self._lock:
            self._heads[key] = head
        return head

    def _known_digest(self, place: Place, one: Found) -> str:
        if place.layout is not Layout.OWN or len(one.files) != 1:
            return ""
        path = one.files[0]
        parts = path.relative_to(self._own).parts
        root = self._own.joinpath(*parts[:2])
        receipt = receipts.load(root).get("/".join(parts[2:])) if len(parts) > 2 else None
        known = receipt is not None and receipts.holds(receipt, path) and len(receipt.digest) == 64
        return receipt.digest if known and receipt is not None else ""

    def remove(self, model: LocalModel) -> int:
        """Delete all its files; gives the bytes that are free now.  Raises ModelError, HubError."""
        if not model.removable:
            raise ModelError(
                f"“{model.name}” lies in {model.place.path} and belongs to another program ({model.place.name}).",
                "Remove it there.",
            )
        freed = 0
        for path in model.files:
            try:
                freed += path.stat().st_size
                path.unlink()
            except FileNotFoundError:
                continue
            except OSError as error:
                raise disk.told(error, path.parent) from error
        self._forget(model)
        return freed

    def _forget(self, model: LocalModel) -> None:
        """Its receipts, and folders that are empty now."""
        parts = model.path.relative_to(self._own).parts
        root = self._own.joinpath(*parts[:2])
        if len(parts) > 2:
            gone = {path.relative_to(root).as_posix() for path in model.files}
            kept = {name: one for name, one in receipts.load(root).items() if name not in gone}
            receipts.save(root, kept)
        disk.remove_empty(model.path.parent, self._own)


def here(folders: Iterable[Path] = (), environment: Mapping[str, str] = os.environ) -> Library:
    """The library of this machine; `folders` are those that the user names."""
    starter = paths.starter_model()
    own = paths.models_dir()
    with_app = [Place("with Tutti", starter, Layout.STARTER)] if starter else []
    others = [*with_app, *places.named(folders), *places.known_places(environment, Path.home())]
    return Library(own, others)


def duplicates(
    models: Iterable[LocalModel], tell: Callable[[int], None] = lambda _count: None
) -> list[tuple[LocalModel, ...]]:
    """Models with the same content, together.  Of those whose digest is not known only files of the same size are read;
    `tell` gets the bytes read and may raise, to stop."""
    by_size: dict[tuple[int, ...], list[LocalModel]] = {}
    for model in models:
        if not model.problem:
            sizes = tuple(path.stat().st_size for path in model.files)
            by_size.setdefault(sizes, []).append(model)
    found: list[tuple[LocalModel, ...]] = []
    for alike in by_size.values():
        by_content: dict[tuple[str, ...], list[LocalModel]] = {}
        for model in alike if len(alike) > 1 else ():
            by_content.setdefault(_content(model, tell), []).append(model)
        found += [tuple(same) for same in by_content.values() if len(same) > 1]
    return found


def _content(model: LocalModel, tell: Callable[[int], None]) -> tuple[str, ...]:
    if model.digest:
        return (model.digest,)
    return tuple(_sha256(path, tell) for path in model.files)


def _sha256(path: Path, tell: Callable[[int], None]) -> str:
    whole = hashlib.sha256()
    with path.open("rb") as file:
        while data := file.read(_CHUNK):
            whole.update(data)
            tell(len(data))
    return whole.hexdigest()


def called(models: Iterable[LocalModel], name: str) -> LocalModel:
    """The one that `name` means: its name, its file's name or its path; raises ModelError."""
    known = list(models)
    low = name.casefold()
    for matches in (
        [one for one in known if name in {one.name, str(one.path)}],
        [one for one in known if low in {one.path.name.casefold(), one.path.stem.casefold()}],
        [one for one in known if one.name.casefold().startswith(f"{low}/")],
    ):
        if len(matches) == 1:
            return matches[0]
        if matches:
            raise ModelError(
                f"“{names.shown(name)}” means several models: {', '.join(one.name for one in matches)}.",
                "Name one of them.",
            )
    raise ModelError(f"There is no model “{names.shown(name)}” here.", "“tutti models list” shows them.")  # fmt: skip
