"""The user's account with a hub: its address, the way to it and the token, found, changed and tried out.

Nothing here blocks the caller's loop: what waits for the keyring or the network does so on threads, within limits.
"""

import asyncio
import os
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TypeVar

from app.errors import AppError, HubError, KeychainError
from app.hub import access as hub_access
from app.hub.access import Access
from app.hub.service import HubService
from app.hub.tokens import Tokens, on_thread
from app.hub.wishes import Verdict, Wishes

_T = TypeVar("_T")
FOR_THIS_RUN = "The access token is used until Tutti ends, and written nowhere."


class Account:
    """Satisfies `port.HubAccount`; made and used on the loop's thread; gives `service` the access that counts."""

    def __init__(
        self,
        service: HubService,
        tokens: Tokens,
        environment: Mapping[str, str] = os.environ,
    ) -> None:
        self._service, self._tokens, self._environment = service, tokens, environment
        self._wishes = Wishes()

    @property
    def fixed_endpoint(self) -> str:
        """The address that the environment has chosen; "" where the settings do."""
        return hub_access.environment_endpoint(self._environment)

    def gives_token(self, endpoint: str) -> bool:
        """Whether the environment has a token for the address that counts where the settings say `endpoint`."""
        own = self.address(endpoint) == (self.fixed_endpoint or hub_access.ENDPOINT)
        return own and bool(hub_access.environment_token(self._environment))

    def address(self, endpoint: str) -> str:
        """The address that counts where the settings say `endpoint`."""
        return self.fixed_endpoint or hub_access.cleaned(endpoint) or hub_access.ENDPOINT

    def has_token(self, endpoint: str) -> bool:
        """Whether a token was given for this address in this run, or lies in the keyring."""
        address = self.address(endpoint)
        return bool(self._tokens.known(address)) or address in self._wishes.kept

    async def use(self, wishes: Wishes) -> str:
        """Ask the hub so from now on; gives what is wrong, in words, or "".  Downloads that run go on as they began."""
        self._wishes = wishes
        try:
            access = self._chosen(wishes)
        except AppError as error:
            self._service.use(Access())
            return str(error)
        self._service.use(access)  # at once: the keyring may take its time
        if access.token or access.endpoint not in wishes.kept:
            return ""
        loop = asyncio.get_running_loop()

        def late() -> None:
            if not loop.is_closed():
                loop.call_soon_threadsafe(self._use_known, wishes)

        try:
            found = await _beside(lambda: self._tokens.find(access.endpoint, late))
        except KeychainError as error:
            return f"{error} Until then the hub is asked without your access token."
        if not found:
            return f"The keyring has no access token for {access.host} any more. Give it again in the settings."
        return self._use_known(wishes)

    async def keep(self, endpoint: str, token: str) -> str:
        """Use this token for this address from now on; gives "" once it lies in the keyring, else why it does not.

        Raises HubError for one that is none, or that would travel unencrypted.
        """
        address = self.address(endpoint)
        hub_access.checked(Access(address, token))
        try:
            await _beside(lambda: self._tokens.keep(address, token))
        except KeychainError as error:
            words = f"{error} {FOR_THIS_RUN}"
        else:
            words = ""
        self._use_known(self._wishes)
        return words

    async def drop(self, endpoint: str) -> str:
        """Forget the token for this address; gives "" once it is gone, else why it lies in the keyring still."""
        address = self.address(endpoint)
        kept = address in self._wishes.kept
        try:
            await _beside(lambda: self._tokens.drop(address))
        except KeychainError as error:
            # Where there is no keyring there is nothing left in it.
            words = f"{error} The access token may still be in it." if kept else ""
        else:
            words = ""
        self._use_known(self._wishes)
        return words

    async def try_out(
        self, endpoint: str, proxy: str, token: str = "", *, without: bool = False
    ) -> Verdict:
        """Whether that works; `token` "" for the one that there is, unless it shall be tried `without` that.

        Cancelling it ends it on the network too.
        """
        try:
            access = hub_access.chosen(endpoint, proxy, self._environment)
            if token or not (access.token or without):
                access = replace(access, token=token or await self._found(access.endpoint))
            return await self._service.try_out(hub_access.checked(access))
        except AppError as error:
            return Verdict(good=False, words=str(error))

    async def _found(self, address: str) -> str:
        if address not in self._wishes.kept:
            return self._tokens.known(address)
        return await _beside(lambda: self._tokens.find(address))

    def _chosen(self, wishes: Wishes) -> Access:
        """With the token, as far as it is known."""
        access = hub_access.chosen(wishes.endpoint, wishes.proxy, self._environment)
        token = access.token or self._tokens.known(access.endpoint)
        return hub_access.checked(replace(access, token=token))

    def _use_known(self, wishes: Wishes) -> str:
        if wishes is not self._wishes:
            return ""  # the settings have changed since
        try:
            self._service.use(self._chosen(wishes))
        except HubError as error:
            return str(error)
        return ""


async def _beside(work: Callable[[], _T]) -> _T:
    """On a thread that the end of the app does not wait for."""
    return await asyncio.wrap_future(on_thread(work))


def of_command(
    wishes: Wishes,
    tokens: Tokens,
    note: Callable[[str], None],
    environment: Mapping[str, str] = os.environ,
) -> Access:
    """The access of a command: waits for the keyring, and goes on without it after saying so.  Raises HubError."""
    access = hub_access.chosen(wishes.endpoint, wishes.proxy, environment)
    if access.token or access.endpoint not in wishes.kept:
        return access
    try:
        return hub_access.checked(replace(access, token=tokens.find(access.endpoint)))
    except KeychainError as error:
        note(f"{error} The hub is asked without your access token.")
        return access
