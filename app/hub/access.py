"""Which hub is asked, by which way, and as whom.

What the environment says (`HF_ENDPOINT`, `HF_TOKEN`) goes before the settings, as with the hub's own tools.  A token
belongs to the address that it was given for: `HF_TOKEN` to that of the environment, each other one to its own.
"""

import ipaddress
import os
import urllib.request
from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from app import __version__
from app.errors import HubError, HubProblem

ENDPOINT = "https://huggingface.co"
"""The usual hub."""

_PROXY_KINDS = {"http", "https"}


@dataclass(frozen=True, slots=True)
class Access:
    """`endpoint` without a slash at its end; `token` "" for nobody; `proxy` "" for the one that the system names.

    Neither the token nor the proxy, whose address may hold a password, is ever shown or logged.
    """

    endpoint: str = ENDPOINT
    token: str = field(default="", repr=False)
    proxy: str = field(default="", repr=False)

    @property
    def host(self) -> str:
        """For words: the host and, where it is given, the port."""
        return urlsplit(self.endpoint).netloc.rpartition("@")[2]

    @property
    def proxied(self) -> bool:
        """Whether a proxy stands between."""
        if self.proxy:
            return True
        address = urlsplit(self.endpoint)
        proxies = urllib.request.getproxies()
        there = proxies.get(address.scheme) or proxies.get("all")
        return bool(there) and not urllib.request.proxy_bypass(address.hostname or "")


def chosen(
    endpoint: str = "", proxy: str = "", environment: Mapping[str, str] = os.environ
) -> Access:
    """The access that the environment and then these settings choose, with the environment's token where that is for
    this address.  Raises HubError for what is not safe.

    A token that other programs left on this machine is not looked for: the user did not give it to this one.
    """
    named = environment_endpoint(environment)
    address = named or cleaned(endpoint) or ENDPOINT
    token = environment_token(environment) if address == (named or ENDPOINT) else ""
    return checked(Access(address, token, proxy_address(proxy)))


def environment_endpoint(environment: Mapping[str, str] = os.environ) -> str:
    """The address that `HF_ENDPOINT` names; "" for none."""
    return cleaned(environment.get("HF_ENDPOINT", ""))


def environment_token(environment: Mapping[str, str] = os.environ) -> str:
    return environment.get("HF_TOKEN", "").strip()


def cleaned(endpoint: str) -> str:
    """An address as a person writes it, as it is used and as tokens are kept by."""
    text = endpoint.strip()
    address = f"https://{text}" if text and "://" not in text else text
    return address.rstrip("/")


def proxy_address(text: str) -> str:
    """A proxy as a person writes it, with its scheme; raises HubError for one that is none."""
    text = text.strip()
    if not text:
        return ""
    address = (text if "://" in text else f"http://{text}").rstrip("/")
    scheme, host = _parts(address)
    if scheme not in _PROXY_KINDS or not host or any(letter.isspace() for letter in address):
        raise HubError(
            "The address of the proxy is none that can be used.",
            "Write it as http://HOST:PORT.",
            problem=HubProblem.PROXY,
        )
    return address


def checked(access: Access) -> Access:
    """The same; raises HubError for an address that is none, and where the token could be read on the way."""
    scheme, host = _parts(access.endpoint)
    if scheme not in {"http", "https"} or not host:
        raise HubError(
            "The address of the hub is not a web address.",
            "Correct it in the settings, or HF_ENDPOINT; it begins with https://.",
            problem=HubProblem.NAME,
        )
    if access.token and scheme == "http" and not _is_loopback(host):
        raise HubError(
            f"{access.host} is not asked with the access token: without encryption others could read it on the way.",
            "Use an https:// address, or no token.",
            problem=HubProblem.TOKEN,
        )
    if not access.token.isascii() or not access.token.isprintable() or " " in access.token:
        raise HubError(
            "The access token holds characters that no token has.",
            "Copy it again from the hub's page of access tokens.",
            problem=HubProblem.TOKEN,
            page=f"{access.endpoint}/settings/tokens",
        )
    return access


def _parts(endpoint: str) -> tuple[str, str]:
    """Scheme and host; "" for both where it is no address."""
    try:
        address = urlsplit(endpoint)
        parts = address.scheme, address.hostname or ""
        _ = address.port  # the only place where a wrong one is noticed
    except ValueError:
        return "", ""
    return parts


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def headers(access: Access) -> dict[str, str]:
    """What every request to the hub carries."""
    from huggingface_hub import constants
    from huggingface_hub.utils._headers import build_hf_headers

    # Otherwise building the headers asks the hub for a list of known agents: traffic that nobody wanted.
    constants.HF_HUB_DISABLE_TELEMETRY = True
    return build_hf_headers(
        token=access.token or False, library_name="tutti", library_version=__version__
    )
