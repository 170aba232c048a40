"""How the tokens of an answer are chosen, and which values of it can be right."""

import dataclasses
from collections.abc import Collection
from dataclasses import dataclass
from typing import Literal

Mirostat = Literal[0, 1, 2]
Values = tuple[tuple[str, float], ...]
"""Some numbers of a `Sampling`, by name."""

WHOLE = -1
"""As a number of tokens to look back on: all of them, prompt and answer."""


@dataclass(frozen=True, slots=True)
class Sampling:
    """How one token is chosen.

    Order: logit bias and DRY, both added to the logits; penalties; top-k; typical; top-p; min-p; XTC; temperature; draw.
    With `mirostat` 1 or 2 the order is: logit bias and DRY, penalties, temperature, mirostat, which filters and draws by
    itself.  `temperature` 0 means greedy: the likeliest token after bias, DRY and penalties.

    Off: `top_k` 0, `top_p` 1, `min_p` 0, `typical_p` 1, `xtc_probability` 0 (or `xtc_threshold` over 0.5),
    `dry_multiplier` 0, `mirostat` 0, `repeat_penalty` 1, `presence_penalty` and `frequency_penalty` 0.

    Penalties look back on the last `repeat_last_n` tokens of the prompt and the answer, DRY on the last
    `dry_penalty_last_n`; -1 is all of them (of the prompt, at most 16,384), 0 switches them off.  A text of
    `dry_sequence_breakers` ends a repetition, in however many tokens it stands; a token with one in it is itself never held
    against the answer.  `logit_bias` are (token, bias), by token.  `seed` None draws a new one for
    each request.

    An answer that goes on in another engine does so with the same history and the same random numbers, but for
    mirostat: its aim for the next surprise begins anew there, and so do its random numbers.
    """

    temperature: float = 0.8
    top_k: int = 40
    top_p: float = 0.95
    min_p: float = 0.05
    typical_p: float = 1.0
    xtc_probability: float = 0.0
    xtc_threshold: float = 0.1
    repeat_penalty: float = 1.0
    presence_penalty: float = 0.0
    frequency_penalty: float = 0.0
    repeat_last_n: int = 256
    dry_multiplier: float = 0.0
    dry_base: float = 1.75
    dry_allowed_length: int = 2
    dry_penalty_last_n: int = WHOLE
    dry_sequence_breakers: tuple[str, ...] = ("\n", ":", '"', "*")
    mirostat: Mirostat = 0
    mirostat_tau: float = 5.0
    mirostat_eta: float = 0.1
    logit_bias: tuple[tuple[int, float], ...] = ()
    seed: int | None = None

    @property
    def penalises(self) -> bool:
        """Whether the tokens that were written change the chances of the next, DRY apart."""
        neutral = (1.0, 0.0, 0.0)
        penalties = (self.repeat_penalty, self.presence_penalty, self.frequency_penalty)
        return penalties != neutral and self.repeat_last_n != 0

    @property
    def dries(self) -> bool:
        """Whether DRY is on."""
        return self.dry_multiplier > 0 and self.dry_penalty_last_n != 0

    @property
    def excludes(self) -> bool:
        """Whether XTC is on, and decides anything."""
        on = self.xtc_probability > 0 and self.xtc_threshold <= 0.5
        return on and self.temperature > 0 and not self.mirostat

    @property
    def plain(self) -> bool:
        """Whether the likeliest token of the logits as they are is the one."""
        return (
            self.temperature <= 0 and not self.penalises and not self.dries and not self.logit_bias
        )


@dataclass(frozen=True, slots=True)
class LogProbs:
    """How likely a token was by the model alone, before any sampler: natural logarithms.

    `tokens` are the likeliest at its place, best first, and `values` theirs.
    """

    own: float
    tokens: tuple[int, ...] = ()
    values: tuple[float, ...] = ()


LIMITS: dict[str, tuple[float, float]] = {
    "temperature": (0.0, 5.0),
    "top_k": (0, 100_000),
    "top_p": (0.0, 1.0),
    "min_p": (0.0, 1.0),
    "typical_p": (0.0, 1.0),
    "xtc_probability": (0.0, 1.0),
    "xtc_threshold": (0.0, 1.0),
    "repeat_penalty": (0.1, 5.0),
    "presence_penalty": (-2.0, 2.0),
    "frequency_penalty": (-2.0, 2.0),
    "repeat_last_n": (WHOLE, 100_000),
    "dry_multiplier": (0.0, 10.0),
    "dry_base": (1.0, 10.0),
    "dry_allowed_length": (0, 1000),
    "dry_penalty_last_n": (WHOLE, 16_384),
    "mirostat": (0, 2),
    "mirostat_tau": (0.0, 20.0),
    "mirostat_eta": (0.0, 1.0),
    "seed": (0, 4_294_967_295),
}
"""Lowest and highest value of each number, both allowed (`seed` may be None)."""

BIAS_LIMITS = (-100.0, 100.0)
MOST_BIASES = 1024
MOST_BREAKERS = 16
MOST_BREAKER_BYTES = 40
_LAST_TOKEN = 2_147_483_647

FIELDS = tuple(item.name for item in dataclasses.fields(Sampling))
_WHOLE_NUMBERS = frozenset(
    ("top_k", "repeat_last_n", "dry_allowed_length", "dry_penalty_last_n", "mirostat", "seed")
)


@dataclass(frozen=True, slots=True)
class Wrong:
    """A value that a field cannot have.  `place` is where in it (".5", "[0]", or ""), `must` what it must be."""

    place: str
    must: str


Value = float | tuple[str, ...] | tuple[tuple[int, float], ...] | None


def checked(name: str, value: object) -> Value | Wrong:
    """The value of this field from one as JSON has it, or what it must be.

    NaN and the infinities are in no range.  A logit bias may be an object by token, or a list of pairs.
    """
    if name == "dry_sequence_breakers":
        return _breakers(value)
    if name == "logit_bias":
        return _biases(value)
    if name == "seed" and value is None:
        return None
    low, high = LIMITS[name]
    if isinstance(value, bool) or not isinstance(value, int | float) or not low <= value <= high:
        return _out_of_range(name)
    if name not in _WHOLE_NUMBERS:
        return float(value)
    return value if isinstance(value, int) else _out_of_range(name)


def fill(base: Sampling, found: dict[str, object]) -> tuple[Sampling, list[str]]:
    """`base` with what is right of `found`, and the names of what is not; unknown names are passed over."""
    good: dict[str, Value] = {}
    bad: list[str] = []
    for name in FIELDS:
        if name in found:
            value = checked(name, found[name])
            if isinstance(value, Wrong):
                bad.append(name)
            else:
                good[name] = value
    return dataclasses.replace(base, **good), bad  # type: ignore[arg-type]


def untouched(sampling: Sampling) -> frozenset[str]:
    """The fields that are as they are by default."""
    usual = Sampling()
    return frozenset(name for name in FIELDS if getattr(sampling, name) == getattr(usual, name))


def taking(sampling: Sampling, recommended: Values, names: Collection[str]) -> Sampling:
    """`sampling` with those of the recommended values that have one of these names."""
    taken = {name: value for name, value in recommended if name in names}
    return dataclasses.replace(sampling, **taken)  # type: ignore[arg-type]


def foreign_bias(sampling: Sampling, vocabulary: int) -> str:
    """Why the logit bias does not fit a vocabulary of so many tokens, or ""; llama.cpp would not say."""
    for token, _ in sampling.logit_bias:
        if token >= vocabulary:
            return f"'logit_bias' names token {token}, but this model's tokens are 0 to {vocabulary - 1}."
    return ""


def _out_of_range(name: str) -> Wrong:
    low, high = LIMITS[name]
    if name in _WHOLE_NUMBERS:
        return Wrong("", f"a whole number from {low:.0f} to {high:.0f}")
    return Wrong("", f"a number from {low:g} to {high:g}")


def _breakers(value: object) -> tuple[str, ...] | Wrong:
    if not isinstance(value, list | tuple) or len(value) > MOST_BREAKERS:
        return Wrong("", f"a list of at most {MOST_BREAKERS} strings")
    for index, text in enumerate(value):
        # A lone surrogate is three bytes here, and is in no token.
        fits = isinstance(text, str) and (
            0 < len(text.encode("utf-8", "surrogatepass")) <= MOST_BREAKER_BYTES
        )
        if not fits:
            return Wrong(f"[{index}]", f"a string of 1 to {MOST_BREAKER_BYTES} bytes")
    return tuple(value)


def _biases(value: object) -> tuple[tuple[int, float], ...] | Wrong:
    """A list of pairs is how it is stored."""
    if isinstance(value, dict):
        pairs = [(_token(key), bias, f".{str(key)[:20]}") for key, bias in value.items()]
    elif isinstance(value, list | tuple) and all(
        isinstance(pair, list | tuple) and len(pair) == 2 for pair in value
    ):
        pairs = [(_token(pair[0]), pair[1], f"[{index}]") for index, pair in enumerate(value)]
    else:
        return Wrong("", "an object of biases by token")
    if len(pairs) > MOST_BIASES:
        return Wrong("", f"at most {MOST_BIASES} biases")
    low, high = BIAS_LIMITS
    found: dict[int, float] = {}
    for token, bias, place in pairs:
        if token is None:
            return Wrong(place, "named by a token, as a whole number")
        number = isinstance(bias, int | float) and not isinstance(bias, bool)
        if not number or not low <= bias <= high:
            return Wrong(place, f"a number from {low:g} to {high:g}")
        found[token] = float(bias)
    return tuple(sorted(found.items()))


def _token(key: object) -> int | None:
    text = str(key) if isinstance(key, int) and not isinstance(key, bool) else key
    if not isinstance(text, str) or not (text.isascii() and text.isdigit()) or len(text) > 10:
        return None
    token = int(text)
    return token if token <= _LAST_TOKEN else None
