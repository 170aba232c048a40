"""What the names of repositories and files say: addresses, parts of a split model, kinds, quantisations.

Pure.  All of them come from strangers; a name decides only where the head of the file has not been read yet.
"""

import re
from dataclasses import dataclass
from enum import StrEnum
from pathlib import PurePosixPath
from typing import TypeGuard
from urllib.parse import unquote, urlsplit

from app.errors import HubError, HubProblem

_REPO = re.compile(r"[A-Za-z0-9][\w.-]{0,95}/[A-Za-z0-9_][\w.-]{0,95}", re.ASCII)
_SPLIT = re.compile(r"(?P<stem>.+)-(?P<number>[0-9]{5})-of-(?P<count>[0-9]{5})\.gguf", re.IGNORECASE | re.DOTALL)  # fmt: skip
_PIECE = re.compile(r".+\.gguf(\.part[0-9]+of[0-9]+|-split-[a-z]+|\.[0-9]{3})", re.IGNORECASE | re.DOTALL)  # fmt: skip
_QUANTISATION = re.compile(
    r"(?:^|[-._])((?:UD-)?(?:I?Q[1-8](?:_[0-9KA-Z]+)*|TQ[12]_0|MXFP4(?:_MOE)?|NVFP4|BF16|F?P?16|F32))"
    r"(?=$|[-._])",
    re.IGNORECASE,
)
_NO_OWNERS = {"api", "collections", "datasets", "docs", "papers", "settings", "spaces"}
_RESERVED = re.compile(r"(con|prn|aux|nul|com[0-9]|lpt[0-9])(\..*)?", re.IGNORECASE)
_UNSAFE = re.compile(
    r'[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff<>:"|?*\\]'
)
_MOST_NAME_BYTES = 200
_ENDLESS = 1 << 60
_DIGEST = re.compile(r"[0-9a-f]{64}|[0-9a-f]{40}")


class Kind(StrEnum):
    """What a GGUF file is for; only MODEL is offered for chats."""

    MODEL = "model"
    PROJECTOR = "projector"
    ADAPTER = "adapter"
    DRAFT = "draft"
    MATRIX = "importance matrix"
    PIECE = "piece of a cut file"
    EMBEDDING = "embedding model"
    SPEECH = "speech model"


@dataclass(frozen=True, slots=True)
class Reference:
    """A repository, and what of it is meant: `revision`, a file's `path`, or a quantisation's `tag`; "" for none."""

    repo: str
    revision: str = ""
    path: str = ""
    tag: str = ""


@dataclass(frozen=True, slots=True)
class Part:
    """Place of a file in a split model: `number` counts from 1; `stem` is the same for all of one folder's."""

    stem: str
    number: int
    count: int


def reference(text: str, endpoint: str = "https://huggingface.co") -> Reference:
    """Understand an id, `id:TAG` or any address of the hub; raises HubError."""
    text = text.strip()
    if "://" not in text and text.partition("/")[0].lower() in _hosts(endpoint):
        text = f"https://{text}"
    if "://" in text:
        return _from_address(text, endpoint)
    repo, _, tag = text.partition(":")
    return Reference(_repo(repo, text), tag=tag)


def _hosts(endpoint: str) -> set[str]:
    return {"huggingface.co", "hf.co", "www.huggingface.co", urlsplit(endpoint).netloc.lower()}


def _from_address(text: str, endpoint: str) -> Reference:
    try:
        address = urlsplit(text)
    except ValueError:
        raise _not_understood(text) from None
    if address.scheme not in {"http", "https", "hf"} or (
        address.scheme != "hf" and address.netloc.lower() not in _hosts(endpoint)
    ):
        raise _not_understood(text)
    path = f"{address.netloc}/{address.path}" if address.scheme == "hf" else address.path
    parts = [unquote(part) for part in path.split("/") if part]
    if parts[:1] == ["models"]:
        parts = parts[1:]
    elif parts[:1] and parts[0] in _NO_OWNERS:
        raise _not_understood(text)
    name, _, tag = parts[1].partition(":") if len(parts) > 1 else ("", "", "")
    repo = _repo("/".join([*parts[:1], name]), text)
    if len(parts) > 4 and parts[2] in {"blob", "resolve", "raw"}:
        return Reference(repo, revision=parts[3], path="/".join(parts[4:]))
    return Reference(repo, revision=parts[3] if parts[2:3] == ["tree"] and len(parts) > 3 else "", tag=tag)  # fmt: skip


def _repo(text: str, given: str) -> str:
    if not _REPO.fullmatch(text) or ".." in text or "--" in text or text.endswith(".git"):
        raise _not_understood(given)
    return text


def is_reference(text: str, endpoint: str = "https://huggingface.co") -> bool:
    """Whether `text` names one repository, and is not a search."""
    try:
        reference(text, endpoint)
    except HubError:
        return False
    return True


def _not_understood(text: str) -> HubError:
    return HubError(
        f"“{shown(text)}” is neither a repository of the hub nor an address in it.",
        "Write it as OWNER/NAME, or paste the address of its page.",
        problem=HubProblem.NAME,
    )


def shown(text: str, most: int = 120) -> str:
    """A stranger's text for one line of the window or the terminal: no control or direction characters, nothing
    that cannot be encoded, not endless."""
    line = " ".join(_UNPRINTABLE.sub(" ", text).split())
    return line if len(line) <= most else f"{line[: most - 1]}…"


_UNPRINTABLE = re.compile(
    r"[\x00-\x1f\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff\ud800-\udfff]"
)


def safe_path(name: str) -> PurePosixPath:
    """The relative path of a hub's file on any disk; raises HubError for one that would lie elsewhere."""
    parts = name.split("/")
    for part in parts:
        if (
            part in {"", ".", ".."}
            or _UNSAFE.search(part)
            or part[-1] in " ."
            or _RESERVED.fullmatch(part)
            or len(part.encode("utf-8", "replace")) > _MOST_NAME_BYTES
        ):
            raise HubError(
                f"The file name “{shown(name)}” cannot be used on this disk.",
                "Choose another file, or ask the owner of the repository to rename it.",
                problem=HubProblem.NAME,
            )
    return PurePosixPath(*parts)


def digest(text: str | None) -> str:
    """A SHA-256 (64 digits) or a git blob's SHA-1 (40) out of an entity tag; "" where there is neither."""
    bare = (text or "").strip().removeprefix("W/").strip('"').lower()
    return bare if _DIGEST.fullmatch(bare) else ""


def is_count(value: object) -> TypeGuard[int]:
    """Whether a stranger's number can be that of bytes, parameters or downloads: JSON knows no bounds."""
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < _ENDLESS


def is_gguf(name: str) -> bool:
    return name.lower().endswith(".gguf")


def part_of(name: str) -> Part | None:
    """Which part of a split model `name` is; None for a file that is whole by its name."""
    match = _SPLIT.fullmatch(name)
    if match is None:
        return None
    number, count = int(match["number"]), int(match["count"])
    return Part(match["stem"], number, count) if 1 <= number <= count else None


def part_name(part: Part, number: int) -> str:
    return f"{part.stem}-{number:05d}-of-{part.count:05d}.gguf"


def kind_of(name: str) -> Kind | None:
    """By the name alone; None for what is no model file at all."""
    low = name.rpartition("/")[2].lower()
    if _PIECE.fullmatch(low):
        return Kind.PIECE
    if not low.endswith(".gguf"):
        return Kind.MATRIX if "imatrix" in low and low.endswith((".dat", ".gguf_file")) else None
    words = set(re.split(r"[-._ ]", low))
    if "mmproj" in low:
        return Kind.PROJECTOR
    if "imatrix" in low:
        return Kind.MATRIX
    if words & {"lora", "adapter"}:
        return Kind.ADAPTER
    if low.startswith(("mtp-", "eagle3-", "dflash-", "dspark-")) or words & {"eagle3", "draft"}:
        return Kind.DRAFT
    return Kind.EMBEDDING if words & {"embed", "embedding", "rerank", "reranker"} else Kind.MODEL


def quantisation(name: str) -> str:
    """The label in a file's name, in capitals (`Q4_K_M`); "" where there is none."""
    base = name.rpartition("/")[2]
    part = part_of(base)
    stem = part.stem if part else re.sub(r"\.gguf$", "", base, flags=re.IGNORECASE)
    found = _QUANTISATION.findall(stem)
    label = found[-1].upper() if found else ""
    return {"FP16": "F16", "P16": "F16", "16": ""}.get(label, label)
