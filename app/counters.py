"""What the engine counts, as it goes to the app with every step."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class RecentHits:
    """The last `requests`: prompt tokens, those that came from the cache, those that could have.

    `changed` requests changed their chat's prompt inside what was read before, the latest at token `changed_at`; behind
    that stood `moved` tokens, in all of them together, that would have been in the cache.
    """

    prompt: int = 0
    cached: int = 0
    possible: int = 0
    changed: int = 0
    changed_at: int = 0
    moved: int = 0
    requests: int = 0


@dataclass(frozen=True, slots=True)
class Counters:
    """The engine's state after a step; totals count from the start of the process.

    `read` are prompt tokens evaluated, `reused` prompt tokens found in the pool, `prompt` their sum over all requests
    that began reading; what a warm-up read counts as read by the request that it was for. `cells_used` counts all
    cells in use, `cells_kept` those of them that only idle chats hold: a cache that is given up when room is wanted.
    `rows` are the decode rows and `chunk` the prefill tokens of the last step, `step_ms` its length, `decode_ms`
    the part of it inside llama.cpp's decode, and `choice_ms` that in which the tokens were chosen.
    """

    steps: int = 0
    rows: int = 0
    chunk: int = 0
    step_ms: float = 0.0
    decode_ms: float = 0.0
    choice_ms: float = 0.0
    written: int = 0
    read: int = 0
    reused: int = 0
    prompt: int = 0
    cells_used: int = 0
    cells_kept: int = 0
    cells_total: int = 0
    ids_used: int = 0
    ids_total: int = 0
    restored: int = 0
    spill_bytes: int = 0
    spill_total: int = 0
    running: int = 0
    reading: int = 0
    waiting: int = 0
    parked: int = 0
    interrupted: int = 0
    queue_wait_ms: float = 0.0
    recent: RecentHits = RecentHits()
