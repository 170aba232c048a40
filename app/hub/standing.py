"""How far downloads are, as plain values.  Pure."""

import enum
from dataclasses import dataclass
from pathlib import Path

from app.errors import HubError
from app.hub.remote import RemoteModel


class State(enum.StrEnum):
    """Of one download."""

    WAITING = "waiting"
    RUNNING = "running"
    PAUSED = "paused"
    FAILED = "failed"
    DONE = "done"


class Phase(enum.StrEnum):
    """What a transfer does."""

    CHECKING = "checking what is here"
    CONNECTING = "connecting"
    FETCHING = "downloading"
    WAITING = "waiting"
    PROVING = "verifying"
    REPAIRING = "fetching damaged blocks again"
    COMPARING = "fetching again to find wrong bytes"


@dataclass(frozen=True, slots=True)
class Progress:
    """`done` of `total` bytes of this phase; `error` is what a WAITING one waits for, until `until` of the clock."""

    phase: Phase
    done: int
    total: int
    error: HubError | None = None
    until: float = 0.0


@dataclass(frozen=True, slots=True)
class Standing:
    """How far a download is: bytes of all files, what is done now, bytes a second, and seconds until the end."""

    done: int
    total: int
    phase: Phase
    speed: float = 0.0
    seconds_left: float | None = None
    error: HubError | None = None
    wait: float = 0.0


@dataclass(frozen=True, slots=True)
class Row:
    """One download as it stands; `error` is why it failed, `path` the file to load once it is DONE."""

    key: str
    model: RemoteModel
    state: State
    standing: Standing
    path: Path
    error: HubError | None = None
