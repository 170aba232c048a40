"""How the model and its engine are: what the window, the server and the command line show of them."""

from dataclasses import dataclass
from enum import StrEnum

from app.errors import MemoryPart
from app.sampling import Values


class ModelPhase(StrEnum):
    """Where a model is in its life."""

    NONE = "none"
    UNLOADED = "unloaded"
    LOADING = "loading"
    READY = "ready"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class ModelState:
    """What the window shows of the model.

    `path` is the file that is, or would be, loaded; NONE means that no file was ever chosen, UNLOADED that the
    next request loads it again.  `fraction` and `doing` tell of a load, `error` of a failure and `short_of` what there
    was no memory for, where that was the reason; `unproven`: the file's check did not come to an end, and the user may
    have it loaded all the same.  `format_name` is the prompt format, "" for the model's own.  `can_switch` and
    `can_effort` say whether the model can be told to reason or not, and how much.  `recommended` are the values of
    sampling that the model's file advises.  `others` are the models that are loaded, or being loaded, beside this one, by
    path; with those that were given up, where these are to stay among them.
    """

    phase: ModelPhase = ModelPhase.NONE
    path: str = ""
    name: str = ""
    device: str = ""
    fraction: float = 0.0
    doing: str = ""
    error: str = ""
    short_of: MemoryPart | None = None
    unproven: bool = False
    context_tokens: int = 0
    pool_tokens: int = 0
    notes: tuple[str, ...] = ()
    format_name: str = ""
    can_switch: bool = False
    can_effort: bool = False
    recommended: Values = ()
    others: "tuple[ModelState, ...]" = ()


class AdviceKind(StrEnum):
    """Why little comes from the cache: nothing can be done, room is wanting, or prompts change inside."""

    NEW_TEXT = "new text"
    TOO_SMALL = "too small"
    CHANGING = "changing prompts"


@dataclass(frozen=True, slots=True)
class Advice:
    """Why little came from the cache lately, and in `text` what to change, for the user."""

    kind: AdviceKind
    text: str


@dataclass(frozen=True, slots=True)
class EngineStatus:
    """What the status line shows.  `cached_share` is of all prompt tokens so far, 0 to 1; None before any.

    `advice` is None where there is nothing to say of the cache.
    """

    running: int = 0
    reading: int = 0
    waiting: int = 0
    tokens_per_second: float = 0.0
    cached_share: float | None = None
    cells_used: int = 0
    cells_total: int = 0
    advice: Advice | None = None
