"""Whether an answer to a request for a range holds that range.  Pure."""

import re
from collections.abc import Mapping
from dataclasses import dataclass

from app.errors import HubError, HubProblem
from app.hub import names
from app.hub.remote import RemoteFile

_RANGE = re.compile(r"bytes\s+([0-9]{1,19})-([0-9]{1,19})/([0-9]{1,19}|\*)", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Body:
    """What the answer's bytes are: the first `skip` of them were not asked for, since the server sends no ranges."""

    skip: int = 0


def judge(
    file: RemoteFile, first: int, last: int, status: int, headers: Mapping[str, str], tags: list[str]
) -> Body:  # fmt: skip
    """Check an answer of `status` 200, 206 or 416 to a request for bytes `first` to `last`.

    `headers` are by small letters; `tags` the entity tags that the hub gave on the way.  Raises HubError: CHANGED when
    another content is offered, PROTOCOL for an answer that makes no sense (to be asked again).
    """
    if status == 416 or any(_differs(tag, file) for tag in map(names.digest, tags)):
        raise changed(file)
    if headers.get("content-encoding", "identity").lower() not in {"identity", ""}:
        raise HubError(
            "The server sends the file compressed, although it was asked not to.",
            "A proxy on the way may do that.",
            problem=HubProblem.PROTOCOL,
        )
    if status == 200:
        length = headers.get("content-length")
        if length is not None and length != str(file.size):
            raise changed(file)
        return Body(skip=first)
    return _range(file, first, last, headers.get("content-range", ""))


def _differs(tag: str, file: RemoteFile) -> bool:
    return len(tag) == len(file.digest) and tag != file.digest


def _range(file: RemoteFile, first: int, last: int, given: str) -> Body:
    match = _RANGE.fullmatch(given.strip())
    if match is None or int(match[1]) != first or int(match[2]) > last:
        raise HubError(
            "The server sent another part of the file than was asked for.",
            "Try again later.",
            problem=HubProblem.PROTOCOL,
        )
    if match[3] not in {"*", str(file.size)}:
        raise changed(file)
    return Body()


def changed(file: RemoteFile) -> HubError:
    return HubError(
        f"“{names.shown(file.path)}” was changed on the hub since the download began.",
        "Download it again: old and new bytes are never mixed.",
        problem=HubProblem.CHANGED,
    )
