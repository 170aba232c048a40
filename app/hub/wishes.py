"""What a person wants of the hub, and what came of trying it, as plain values.  Pure."""

from collections.abc import Collection
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Wishes:
    """What the settings say: address and proxy ("" for the usual), and the addresses that have a token in the keyring."""

    endpoint: str = ""
    proxy: str = ""
    kept: Collection[str] = ()


@dataclass(frozen=True, slots=True)
class Verdict:
    """What came out; `good` where everything that was asked for works."""

    good: bool
    words: str
