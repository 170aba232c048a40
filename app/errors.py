"""The exception tree.

    AppError                      the world's fault; carries words for the user
    |- ModelError                 a model file cannot be used
    |  |- InUse                 another process has it open, and the user may have it removed all the same
    |  |- Unproven                its check did not come to an end; the user may have it loaded all the same
    |  `- OutOfMemory             it does not fit into the memory that there is
    |- TextError                  a template or a text cannot be turned into tokens
    |  `- TextRefused             for what it is, and not for want of a worker
    |- FormError                  the form asked for an answer (a grammar, a JSON schema) cannot be had
    |- ContextFull                a message does not fit, with the numbers
    |- SamplingError              what was asked of the sampling does not fit the model
    |- EngineError                the engine refused or lost a request
    |  `- EngineDied              the engine's process is gone
    |- StoreError                 the database or the settings file
    |- KeychainError              the system's keyring is not there, or does not give or take a secret
    |- HubError                   a model hub, the network or the disk stops a search or a download; says which
    `- RequestError               an API request is wrong, names the field

Anything else that is raised is a bug: it reaches the excepthook, is logged and shown as a crash.
"""

import re
from enum import StrEnum

_HARMFUL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")
"""What cannot be encoded, steers a terminal, or turns the words around it."""


def harmless(words: str) -> str:
    """Words for the user in which a stranger's may be quoted."""
    return _HARMFUL.sub("\ufffd", words)


class AppError(Exception):
    """A failure of the world: what happened, why, and what to do, in `what` and `remedy`."""

    def __init__(self, what: str, remedy: str = "") -> None:
        self.what = harmless(what)
        self.remedy = harmless(remedy)
        super().__init__(self.what)

    def __str__(self) -> str:
        return f"{self.what} {self.remedy}".strip()


class ModelError(AppError):
    """A model file cannot be used."""


class InUse(ModelError):
    """Other processes have the model open: the user may have it removed all the same."""


class Unproven(ModelError):
    """The check of a model file ended for want of time or memory: the user may have it loaded all the same."""


class MemoryPart(StrEnum):
    """What of a model there was no memory for; of one whose process was ended by the system that is not known."""

    WEIGHTS = "weights"
    POOL = "pool"
    UNKNOWN = "unknown"


class OutOfMemory(ModelError):
    """A model does not fit into the memory that there is; `part` is what did not."""

    def __init__(self, what: str, remedy: str = "", *, part: MemoryPart) -> None:
        super().__init__(what, remedy)
        self.part = part


class TextError(AppError):
    """A template or a text cannot be turned into tokens."""


class TextRefused(TextError):
    """A text, or a conversation, is refused for what it is: it will be again, whoever sends it."""


class FormError(AppError):
    """The form asked for an answer (a grammar, a JSON schema) cannot be had.  `field` is what the asker calls it."""

    def __init__(self, what: str, field: str = "") -> None:
        super().__init__(what)
        self.field = field


class ContextFull(AppError):
    """A prompt has more tokens than one chat may hold."""

    def __init__(self, needed: int, available: int) -> None:
        super().__init__(
            f"This needs {needed:,} tokens, but a chat holds at most {available:,}.",
            "Shorten the text, or load the model with a larger pool.",
        )
        self.needed = needed
        self.available = available


class SamplingError(AppError):
    """What was asked of the sampling does not fit the model."""


class EngineError(AppError):
    """The engine refused or lost a request."""


class EngineDied(EngineError):
    """The engine's process is gone; `starved`: in the way in which systems end one when memory runs out; `early`: before
    it was told of any file, so that no file can be at fault."""

    def __init__(
        self, what: str, remedy: str = "", *, starved: bool = False, early: bool = False
    ) -> None:
        super().__init__(what, remedy)
        self.starved = starved
        self.early = early


class StoreError(AppError):
    """The database or the settings file cannot be read or written."""


class KeychainError(AppError):
    """The system's keyring is not there (`missing`), or does not give or take a secret."""

    def __init__(self, what: str, remedy: str = "", *, missing: bool = False) -> None:
        super().__init__(what, remedy)
        self.missing = missing


class HubProblem(StrEnum):
    """What stops a search or a download."""

    GATED = "gated"
    TOKEN = "token"
    NOT_FOUND = "not found"
    REMOVED = "removed"
    FORBIDDEN = "forbidden"
    BUSY = "busy"
    DOWN = "down"
    OFFLINE = "offline"
    PROXY = "proxy"
    CERTIFICATE = "certificate"
    PROTOCOL = "protocol"
    SILENT = "silent"
    STALLED = "stalled"
    DISK = "disk"
    CHECKSUM = "checksum"
    CHANGED = "changed"
    NAME = "name"
    TAKEN = "taken"


class HubError(AppError):
    """A model hub, the network or the disk stops a search or a download.

    `problem` names which; `page` is an address that helps, "" without one; `wait` is after how many seconds it may be
    tried again, where the hub said so.
    """

    def __init__(
        self,
        what: str,
        remedy: str = "",
        *,
        problem: HubProblem,
        page: str = "",
        wait: float | None = None,
    ) -> None:
        super().__init__(what, remedy)
        self.problem = problem
        self.page = page
        self.wait = wait


class RequestError(AppError):
    """An API request is wrong.  `param` names the field, `status` is the HTTP status, `code` OpenAI's code."""

    def __init__(
        self, what: str, *, param: str | None = None, status: int = 400, code: str | None = None
    ) -> None:
        super().__init__(what)
        self.param = param
        self.status = status
        self.code = code
