"""How the tokens of an answer are chosen."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Sampling:
    """How one token is chosen.  Order: penalties, top-k, top-p, min-p, temperature, draw.

    `temperature` 0 means greedy.  `top_k` 0, `top_p` 1 and `min_p` 0 switch a filter off; `repeat_penalty` 1 and
    `presence_penalty` 0 switch a penalty off.  `seed` None draws a new one for each request.
    """

    temperature: float = 0.8
    top_k: int = 40
    top_p: float = 0.95
    min_p: float = 0.05
    repeat_penalty: float = 1.0
    presence_penalty: float = 0.0
    seed: int | None = None
