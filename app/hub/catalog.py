"""What a hub has: search for repositories with GGUF files, and the files of one.

Every call asks through a line of its own that can be cut, so that a search which nobody waits for any more ends at
once.  The hub library's own lists wait for ever on a silent server and sleep inside the call when it is busy.
"""

from urllib.parse import quote

from huggingface_hub import ModelInfo
from huggingface_hub.hf_api import RepoFile

from app.errors import HubError, HubProblem
from app.hub import access as hub_access
from app.hub import names
from app.hub.access import Access
from app.hub.line import QUICK, Line, Waits
from app.hub.listing import Found, Page, Query, Repository
from app.hub.names import Kind
from app.hub.offers import Listed, offers

_PAGE, _MOST_ROWS = 30, 100
"""Repositories that are asked for at a time, and what is taken of an answer that has more."""
_MOST_PAGES = 50
_MOST_CARD = 1_000_000
_EXPAND = ("gguf", "downloads", "likes", "gated", "lastModified", "tags", "pipeline_tag", "private")


class Catalog:
    """One question at a time, on the caller's thread; `cut` ends it from any thread."""

    def __init__(self, access: Access, waits: Waits = QUICK) -> None:
        self._access = hub_access.checked(access)
        self._line = Line(self._access, waits)

    def cut(self) -> None:
        """End the question, and every later one, with Cut."""
        self._line.cut()

    def close(self) -> None:
        self._line.close()

    def search(self, query: Query, page: str = "") -> Page:
        """Repositories with GGUF files; `page` is a `next_page` of an earlier answer.  Raises HubError."""
        address = page or f"{self._access.endpoint}/api/models"
        answer = self._line.get(address, None if page else _parameters(query))
        rows = answer.json(self._access)
        if not isinstance(rows, list):
            raise self._nonsense()
        found = [self._found(row) for row in rows[:_MOST_ROWS]]
        return Page(tuple(one for one in found if one is not None), answer.next_page)

    def repository(self, repo: str, revision: str = "") -> Repository:
        """All of it, at the newest commit of `revision`.  Raises HubError."""
        address = f"{self._access.endpoint}/api/models/{repo}"
        if revision:
            address += f"/revision/{quote(revision, safe='')}"
        raw = self._line.get(address, repo=repo).json(self._access)
        about = self._found(raw)
        commit = raw.get("sha") if isinstance(raw, dict) else None
        if about is None or not isinstance(commit, str) or len(names.digest(commit)) != 40:
            raise self._nonsense()
        listed = self._tree(repo, commit)
        others = {file.path: kind for file in listed if (kind := names.kind_of(file.path)) not in {None, Kind.MODEL}}  # fmt: skip
        return Repository(about, commit, offers(repo, commit, listed), others)

    def card(self, repo: str, commit: str) -> str:
        """The text of the repository's card (Markdown, a stranger's); "" when there is none.  Raises HubError."""
        address = f"{self._access.endpoint}/{repo}/resolve/{commit}/README.md"
        try:
            answer = self._line.get(address, repo=repo, most=_MOST_CARD)
        except HubError as error:
            if error.problem is HubProblem.NOT_FOUND:
                return ""
            raise
        return answer.content.decode("utf-8", "replace")

    def _tree(self, repo: str, commit: str) -> list[Listed]:
        page = f"{self._access.endpoint}/api/models/{repo}/tree/{commit}"
        parameters: dict[str, str | list[str]] | None = {"recursive": "true", "expand": "false"}
        listed: list[Listed] = []
        for _ in range(_MOST_PAGES):
            answer = self._line.get(page, parameters, repo=repo)
            rows = answer.json(self._access)
            if not isinstance(rows, list):
                raise self._nonsense()
            listed += [file for row in rows if (file := _listed(row)) is not None]
            page, parameters = answer.next_page, None
            if not page:
                break
        return listed

    def _found(self, raw: object) -> Found | None:
        """None for a row that is not about a repository."""
        try:
            info = ModelInfo(**raw) if isinstance(raw, dict) else None  # type: ignore[no-untyped-call]
            return _about(info) if info is not None and names.is_reference(info.id) else None
        except (KeyError, TypeError, ValueError, AttributeError):
            return None

    def _nonsense(self) -> HubError:
        return HubError(
            f"The answer of {self._access.host} makes no sense.",
            "Check the address of the hub.",
            problem=HubProblem.PROTOCOL,
        )


def _parameters(query: Query) -> dict[str, str | list[str]]:
    filters = ["gguf"]
    filters += [f"license:{query.licence}"] if query.licence else []
    filters += [query.language] if query.language else []
    wanted: dict[str, str | list[str]] = {
        "filter": filters,
        "sort": query.sort,
        "limit": str(_PAGE),
        "expand": list(_EXPAND),
    }
    if query.text:
        wanted["search"] = query.text
    if query.task:
        wanted["pipeline_tag"] = query.task
    if query.size:
        wanted["num_parameters"] = query.size
    return wanted


def _about(info: ModelInfo) -> Found:
    listed: list[object] = list(info.tags or ())
    tags = [tag for tag in listed if isinstance(tag, str)]
    licence = next((tag.removeprefix("license:") for tag in tags if tag.startswith("license:")), "")
    raw = getattr(info, "gguf", None)
    facts: dict[str, object] = raw if isinstance(raw, dict) else {}
    return Found(
        info.id,
        downloads=_number(info.downloads),
        likes=_number(info.likes),
        gated=bool(info.gated),
        changed=f"{info.last_modified:%Y-%m-%d}" if info.last_modified else "",
        licence=names.shown(licence, 40),
        languages=tuple(tag for tag in tags if len(tag) in {2, 3} and tag.isalpha() and tag.islower()),
        task=names.shown(info.pipeline_tag or "", 40),
        parameters=_number(facts.get("total")),
        context=_number(facts.get("context_length")),
        architecture=names.shown(str(facts.get("architecture") or ""), 40),
    )  # fmt: skip


def _number(value: object) -> int:
    return value if names.is_count(value) else 0


def _listed(raw: object) -> Listed | None:
    """None for a folder, and for a row that makes no sense."""
    if not isinstance(raw, dict) or raw.get("type") != "file":
        return None
    try:
        file = RepoFile(**raw)  # type: ignore[no-untyped-call]
    except (KeyError, TypeError, ValueError, AttributeError):
        return None
    digest = names.digest(file.lfs.sha256 if file.lfs is not None else file.blob_id)
    path, size = raw.get("path"), raw.get("size")
    if not isinstance(path, str) or not names.is_count(size):
        return None
    return Listed(path, size, digest)
