"""What is to be fetched: frozen descriptions, pinned to one commit and to one content."""

from dataclasses import asdict, dataclass
from pathlib import Path, PurePosixPath

from app.errors import HubError, HubProblem
from app.hub import names


@dataclass(frozen=True, slots=True)
class RemoteFile:
    """One file of a repository.  `size` in bytes; `digest` is the SHA-256 of its content, or a git blob's SHA-1."""

    path: str
    size: int
    digest: str

    @property
    def local(self) -> PurePosixPath:
        """Where it lies below the repository's own folder; raises HubError for a name that is not safe."""
        return names.safe_path(self.path)


@dataclass(frozen=True, slots=True)
class RemoteModel:
    """The files of one model, part 1 first, in `repo` at `commit`."""

    repo: str
    commit: str
    files: tuple[RemoteFile, ...]

    @property
    def size(self) -> int:
        """Bytes of all its files."""
        return sum(file.size for file in self.files)

    @property
    def title(self) -> str:
        """The name of the file that is loaded."""
        return self.files[0].path.rpartition("/")[2]

    def target(self, folder: Path) -> Path:
        """The file to load, once it is there, where `folder` is that of all models; raises HubError."""
        return repository_folder(folder, self.repo) / self.files[0].local

    @property
    def key(self) -> str:
        """The same for the same content in the same place."""
        return f"{self.repo}/{self.files[0].path}@{self.files[0].digest}"


def as_dict(model: RemoteModel) -> dict[str, object]:
    return asdict(model)


def from_dict(raw: object) -> RemoteModel:
    """What `as_dict` gave, from a file that anybody may have changed; raises ValueError."""
    if not isinstance(raw, dict) or not isinstance(raw.get("files"), list) or not raw["files"]:
        raise ValueError("not a model")
    files = tuple(_file(item) for item in raw["files"])
    return RemoteModel(_text(raw, "repo"), _text(raw, "commit"), files)


def _file(raw: object) -> RemoteFile:
    if not isinstance(raw, dict):
        raise ValueError("not a file")  # noqa: TRY004 - one kind of error for a bad file, whatever is wrong in it
    size, digest = raw.get("size"), names.digest(_text(raw, "digest"))
    if not names.is_count(size) or not digest:
        raise ValueError("not a file")
    return RemoteFile(_text(raw, "path"), size, digest)


def _text(raw: dict[str, object], key: str) -> str:
    value = raw.get(key)
    if not isinstance(value, str) or not value:
        raise ValueError(f"no {key}")
    return value


def repository_folder(folder: Path, repo: str) -> Path:
    """Where the files of `repo` lie; raises HubError for a name that is none."""
    owner, _, name = repo.partition("/")
    if not owner or not name or "/" in name or {owner, name} & {".", ".."}:
        raise HubError(
            "This is not the name of a repository.",
            "Write it as OWNER/NAME.",
            problem=HubProblem.NAME,
        )
    return folder / owner / name
