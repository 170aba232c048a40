"""What the window needs of a hub: questions that can be cancelled, the list of downloads, and the user's account."""

from typing import Protocol

from app.hub.listing import Page, Query, Repository
from app.hub.remote import RemoteModel
from app.hub.standing import Row
from app.hub.wishes import Verdict, Wishes


class DownloadList(Protocol):
    """Every call returns at once."""

    def rows(self) -> list[Row]: ...
    def add(self, model: RemoteModel) -> str: ...
    def pause(self, key: str) -> None: ...
    def resume(self, key: str) -> None: ...
    def cancel(self, key: str) -> None: ...


class Hub(Protocol):
    """Cancelling a question ends it on the network too.  All raise HubError."""

    @property
    def host(self) -> str: ...
    @property
    def endpoint(self) -> str: ...
    @property
    def downloads(self) -> DownloadList: ...
    async def search(self, query: Query, page: str = "") -> Page: ...
    async def repository(self, repo: str, revision: str = "") -> Repository: ...
    async def card(self, repo: str, commit: str) -> str: ...

    async def fit(self, model: RemoteModel) -> str:
        """How many chats fit this machine, in words; "" where that cannot be told."""
        ...


class HubAccount(Protocol):
    """Address, proxy and token.  Addresses are given as the settings have them ("" for the usual); nothing blocks."""

    @property
    def fixed_endpoint(self) -> str:
        """The address that the environment has chosen; "" where the settings do."""
        ...

    def address(self, endpoint: str) -> str:
        """The address that counts."""
        ...

    def gives_token(self, endpoint: str) -> bool:
        """Whether the environment has a token for it."""
        ...

    def has_token(self, endpoint: str) -> bool:
        """Whether a token was given for it in this run, or lies in the keyring."""
        ...

    async def use(self, wishes: Wishes) -> str:
        """Ask the hub so from now on; gives what is wrong, in words, or ""."""
        ...

    async def keep(self, endpoint: str, token: str) -> str:
        """Use this token for it; gives "" once it lies in the keyring, else why it does not.  Raises HubError."""
        ...

    async def drop(self, endpoint: str) -> str:
        """Forget its token; gives "" once that is gone, else why it lies in the keyring still."""
        ...

    async def try_out(
        self, endpoint: str, proxy: str, token: str = "", *, without: bool = False
    ) -> Verdict:
        """Whether that works; `token` "" for the one that there is, unless it shall be tried `without` that."""
        ...
