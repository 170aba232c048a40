"""Where secrets are kept over restarts: the system's own keyring, or nowhere.

Only keyrings that the system itself guards are taken, whatever the `keyring` library is configured to: among the places
it knows are plain files, and a token belongs into none.
"""

import importlib
import logging
import sys
from abc import ABC, abstractmethod
from typing import Protocol

from app.errors import KeychainError

_SERVICE = "Tutti"
_BACKENDS = {
    "linux": (
        ("keyring.backends.SecretService", "Keyring"),
        ("keyring.backends.libsecret", "Keyring"),
        ("keyring.backends.kwallet", "DBusKeyring"),
    ),
    "darwin": (("keyring.backends.macOS", "Keyring"),),
    "win32": (("keyring.backends.Windows", "WinVaultKeyring"),),
}
"""By system, in the order in which they are tried."""

_TALKERS = ("keyring", "secretstorage", "jeepney")


class Keychain(ABC):
    """Tokens by the address of the hub that they were given for.

    Every call may wait for as long as a person takes to unlock the keyring: not for the window's thread.  All raise
    KeychainError.
    """

    @abstractmethod
    def get(self, address: str) -> str:
        """The token for this address; "" where there is none."""

    @abstractmethod
    def put(self, address: str, token: str) -> None:
        """Keep it, in place of the one that was there."""

    @abstractmethod
    def drop(self, address: str) -> None:
        """Have none for this address; that there was none is no failure."""


class _Backend(Protocol):
    """What the library's keyrings have in common."""

    def get_password(self, service: str, username: str) -> str | None: ...
    def set_password(self, service: str, username: str, password: str) -> None: ...
    def delete_password(self, service: str, username: str) -> None: ...


class SystemKeychain(Keychain):
    """The keyring of this system and this person."""

    def __init__(self) -> None:
        for talker in _TALKERS:
            logging.getLogger(talker).setLevel(logging.WARNING)

    def get(self, address: str) -> str:
        backend = _backend()
        try:
            return backend.get_password(_SERVICE, address) or ""
        except _failures() as error:
            raise _told(error) from None

    def put(self, address: str, token: str) -> None:
        backend = _backend()
        try:
            backend.set_password(_SERVICE, address, token)
        except _failures() as error:
            raise _told(error) from None

    def drop(self, address: str) -> None:
        from keyring.errors import PasswordDeleteError

        backend = _backend()
        try:
            backend.delete_password(_SERVICE, address)
        except PasswordDeleteError:
            return
        except _failures() as error:
            raise _told(error) from None


def _backend() -> _Backend:
    """The first that works here; looked for anew each time, since a keyring may start later than the app."""
    for module, name in _BACKENDS.get(sys.platform, ()):
        kind = getattr(importlib.import_module(module), name)
        if kind.viable:
            found: _Backend = kind()
            return found
    raise KeychainError("This system has no keyring that is running.", missing=True)


def _failures() -> tuple[type[Exception], ...]:
    """What the library lets through: its own errors, and those of what it stands on."""
    from keyring.errors import KeyringError

    kinds: list[type[Exception]] = [KeyringError, OSError, ValueError, RuntimeError]
    for module, name in (
        ("secretstorage.exceptions", "SecretStorageException"),
        ("jeepney.wrappers", "DBusErrorResponse"),
    ):
        if module in sys.modules:
            kinds.append(getattr(sys.modules[module], name))
    return tuple(kinds)


def _told(error: Exception) -> KeychainError:
    """In words.  What the error itself says is left out: nobody knows what is in it."""
    from keyring.errors import KeyringLocked

    if isinstance(error, KeyringLocked):
        return KeychainError("The system's keyring stayed locked.", "Unlock it, then try again.")
    return KeychainError(
        f"The system's keyring failed ({type(error).__name__}).", "Try again later."
    )
