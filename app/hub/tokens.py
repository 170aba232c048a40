"""Access tokens: each belongs to the address of the hub that it was given for, and goes nowhere else.

The system's keyring is asked on threads of its own that nobody has to wait for: one that hangs, or waits for a person
to unlock it, costs its caller a few seconds at most.  A token is never in a file, a log or the words of an error.
"""

import threading
from collections.abc import Callable
from concurrent.futures import Future
from concurrent.futures import TimeoutError as TooLate
from typing import TypeVar

from app.errors import KeychainError
from app.hub.keychain import Keychain

_T = TypeVar("_T")
LONGEST_WAIT = 8.0
"""Seconds that a caller waits for the keyring."""


class Tokens:
    """May be used by several threads; no call takes longer than `longest` seconds."""

    def __init__(self, keychain: Keychain, longest: float = LONGEST_WAIT) -> None:
        self._keychain = keychain
        self._longest = longest
        self._lock = threading.Lock()
        self._known: dict[str, str] = {}
        """By address; of this run."""

    def known(self, address: str) -> str:
        """The token for `address`, as far as it is known; "" else.  Asks nobody."""
        with self._lock:
            return self._known.get(address, "")

    def find(self, address: str, late: Callable[[], None] = lambda: None) -> str:
        """The token for `address`, out of the keyring where it is not known; "" where there is none.

        Raises KeychainError, also when the keyring does not answer in time.  Where it answers later, the token is known
        from then on, and `late` is called on some thread.
        """
        token = self.known(address)
        if token:
            return token

        def arrived(found: "Future[str]") -> None:
            if found.exception() is None and found.result():
                with self._lock:
                    self._known.setdefault(address, found.result())
                late()

        answer = on_thread(lambda: self._keychain.get(address))
        try:
            token = answer.result(self._longest)
        except TooLate:
            answer.add_done_callback(arrived)
            raise _silent() from None
        with self._lock:
            return self._known.setdefault(address, token) if token else ""

    def keep(self, address: str, token: str) -> None:
        """Use this one from now on, and keep it in the keyring.

        Raises KeychainError where it cannot be kept there; it is then used until the app ends.
        """
        with self._lock:
            self._known[address] = token
        self._wait(on_thread(lambda: self._keychain.put(address, token)))

    def drop(self, address: str) -> None:
        """Forget it, and take it out of the keyring; raises KeychainError where that has kept it."""
        with self._lock:
            self._known.pop(address, None)
        self._wait(on_thread(lambda: self._keychain.drop(address)))

    def _wait(self, answer: "Future[None]") -> None:
        try:
            answer.result(self._longest)
        except TooLate:
            raise _silent() from None


def on_thread(work: Callable[[], _T]) -> "Future[_T]":
    """Its result, or its KeychainError.  The thread ends with the program, however long its work takes."""
    answer: Future[_T] = Future()

    def run() -> None:
        if not answer.set_running_or_notify_cancel():
            return
        try:
            answer.set_result(work())
        except KeychainError as error:
            answer.set_exception(error)
        finally:
            if not answer.done():  # a fault of ours, which the log gets; nobody waits for it
                answer.set_exception(KeychainError("The system's keyring cannot be used."))

    threading.Thread(target=run, name="keyring", daemon=True).start()
    return answer


def _silent() -> KeychainError:
    return KeychainError(
        "The system's keyring does not answer.", "It may be waiting for you to unlock it."
    )
