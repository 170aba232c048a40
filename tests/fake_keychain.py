"""A keyring that a test plays: it keeps, refuses, or does not answer."""

import threading
from dataclasses import dataclass, field

from app.errors import KeychainError
from app.hub.keychain import Keychain


@dataclass
class FakeKeychain(Keychain):
    """Answers when `gate` is open, with `refusal` where there is one."""

    kept: dict[str, str] = field(default_factory=dict)
    refusal: KeychainError | None = None
    gate: threading.Event = field(default_factory=threading.Event)
    asked: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.gate.set()

    def _answer(self, what: str) -> None:
        self.asked.append(what)
        self.gate.wait(60)
        if self.refusal is not None:
            raise self.refusal

    def get(self, address: str) -> str:
        self._answer("get")
        return self.kept.get(address, "")

    def put(self, address: str, token: str) -> None:
        self._answer("put")
        self.kept[address] = token

    def drop(self, address: str) -> None:
        self._answer("drop")
        self.kept.pop(address, None)
