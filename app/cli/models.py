"""`tutti models`: what the model dialog does, for scripts.

What was found or fetched goes to stdout, one a line; progress and errors go to stderr.  A pull that is stopped keeps
what has arrived, and the same command goes on there.

Exit codes: 0 done, 1 the hub, the network, the disk or another program was in the way, 2 there is nothing of that name, 3 the file is
there and did not pass its check, 130 stopped.
"""

import argparse
import json
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from app import paths, settings
from app.cli.progress import Bar
from app.cli.say import note, say
from app.errors import AppError, HubError, HubProblem, InUse, ModelError
from app.hub.names import Kind

if TYPE_CHECKING:
    from app.hub.access import Access
    from app.hub.catalog import Catalog
    from app.hub.download import Download
    from app.hub.library import LocalModel
    from app.hub.listing import Found
    from app.hub.remote import RemoteModel
    from app.hub.shelf import Shelf, Shelved

DONE, FAILED, NO_SUCH, UNSOUND, STOPPED = 0, 1, 2, 3, 130

_NO_SUCH = {HubProblem.NOT_FOUND, HubProblem.NAME}
_SORTS = {
    "trending": "trendingScore",
    "downloads": "downloads",
    "likes": "likes",
    "changed": "lastModified",
    "new": "createdAt",
}
_LOOK_EVERY = 0.2


def add_arguments(parser: argparse.ArgumentParser) -> None:
    commands = parser.add_subparsers(dest="action", metavar="ACTION", required=True)
    search = commands.add_parser("search", help="look for models on the hub", allow_abbrev=False)
    search.add_argument("text", metavar="TEXT")
    search.add_argument("--sort", choices=sorted(_SORTS), default="trending")
    search.add_argument("--licence", default="", metavar="NAME", help="as the hub writes it: mit")
    search.add_argument("--language", default="", metavar="CODE", help="as the hub writes it: de")
    search.add_argument("--limit", type=_count, default=20, metavar="N", help="at most so many")
    search.add_argument("--json", action="store_true", help="for programs")
    pull = commands.add_parser("pull", help="download a model", allow_abbrev=False)
    pull.add_argument("repo", metavar="REPO", help="OWNER/NAME, or any address of the hub")
    pull.add_argument(
        "file", metavar="FILE", nargs="?", default="", help="a file, or a quantisation: Q4_K_M"
    )
    pull.add_argument("--limit-rate", type=_count, default=0, metavar="KB", help="kB a second at most")  # fmt: skip
    pull.add_argument("--no-check", action="store_true", help="do not try whether it can be loaded")  # fmt: skip
    listing = commands.add_parser("list", help="models on this machine", allow_abbrev=False)
    listing.add_argument("--all", action="store_true", help="also what is not for chats")
    listing.add_argument("--duplicates", action="store_true", help="only those with the same content")  # fmt: skip
    listing.add_argument("--unused", type=_count, default=0, metavar="DAYS", help="only those not loaded for so long")  # fmt: skip
    listing.add_argument(
        "--folder", action="append", type=Path, default=[], metavar="DIR", help="look there too"
    )
    listing.add_argument("--json", action="store_true", help="for programs")
    remove = commands.add_parser("remove", help="delete a downloaded model", allow_abbrev=False)
    remove.add_argument("name", metavar="NAME", help="as “list” shows it, or its file's name")
    remove.add_argument(
        "--force", action="store_true", help="also while another program has it open"
    )


def _count(text: str) -> int:
    if not text.isascii() or not text.isdigit() or not 0 < int(text) <= 10_000_000:
        raise argparse.ArgumentTypeError(f"“{text}” is not a number from 1 to 10,000,000")
    return int(text)


def run(arguments: argparse.Namespace, environment: Mapping[str, str] = os.environ) -> int:
    """Do it; gives the exit code.  `environment` is what the program was started with."""
    actions: dict[str, Callable[[argparse.Namespace], int]] = {
        "search": partial(search, environment=environment),
        "pull": partial(pull, environment=environment),
        "list": list_models,
        "remove": remove,
    }
    try:
        with _sigterm_as_interrupt():
            return actions[arguments.action](arguments)
    except InUse as error:
        note(f"{error} --force does that.")
        return FAILED
    except ModelError as error:
        note(str(error))
        return NO_SUCH
    except AppError as error:
        note(str(error))
        return NO_SUCH if isinstance(error, HubError) and error.problem in _NO_SUCH else FAILED
    except OSError as error:
        note(str(error))
        return FAILED
    except KeyboardInterrupt:
        note("stopped")
        return STOPPED


@contextmanager
def _sigterm_as_interrupt() -> Iterator[None]:
    def interrupt(_number: int, _frame: object) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGTERM, interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _access(environment: Mapping[str, str]) -> "Access":
    """As the environment says, and else the settings of the window."""
    from app.hub.account import of_command
    from app.hub.keychain import SystemKeychain
    from app.hub.tokens import Tokens
    from app.hub.wishes import Wishes

    current = settings.load(settings.settings_path()).settings
    wishes = Wishes(current.hub_endpoint, current.hub_proxy, current.hub_tokens)
    return of_command(wishes, Tokens(SystemKeychain()), note, environment)


# --- search --------------------------------------------------------------------------------------------------


def search(arguments: argparse.Namespace, environment: Mapping[str, str]) -> int:
    """One repository a line; nothing found is no failure."""
    from app.hub.catalog import Catalog
    from app.hub.listing import Query

    query = Query(
        arguments.text,
        sort=_SORTS[arguments.sort],  # type: ignore[arg-type]
        language=arguments.language,
        licence=arguments.licence,
    )
    catalog = Catalog(_access(environment))
    try:
        found = _enough(catalog, query, arguments.limit)
    finally:
        catalog.close()
    if arguments.json:
        say(json.dumps([asdict(one) for one in found], indent=2))
    elif found:
        for line in _columns([_cells(one) for one in found]):
            say(line)
    else:
        note(f"nothing is called “{arguments.text}”")
    return DONE


def _enough(catalog: "Catalog", query: object, limit: int) -> "list[Found]":
    found: list[Found] = []
    page = ""
    while len(found) < limit:
        answer = catalog.search(query, page)  # type: ignore[arg-type]
        found += answer.found
        page = answer.next_page
        if not page or not answer.found:
            break
    return found[:limit]


def _cells(one: "Found") -> list[str]:
    from app.hub import words

    marks = "gated" if one.gated else ""
    return [one.repo, words.parameters(one.parameters), one.licence, f"{one.downloads:,} downloads", marks]  # fmt: skip


def _columns(rows: list[list[str]]) -> list[str]:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]  # fmt: skip


# --- pull ----------------------------------------------------------------------------------------------------


def pull(arguments: argparse.Namespace, environment: Mapping[str, str]) -> int:
    """Download it and check it; the last line on stdout is the file to load."""
    from app import inuse
    from app.cli.checking import passes
    from app.client import trust
    from app.hub import words
    from app.hub.details import is_other_kind
    from app.hub.download import Download
    from app.hub.transfer import SharedBucket

    who = _access(environment)
    model = _find(who, arguments.repo, arguments.file)
    note(f"{model.repo}: {model.title}, {words.size(model.size)}")
    bucket = SharedBucket(arguments.limit_rate * 1000.0)
    download = Download(model, paths.models_dir(), who, bucket=bucket)
    if not download.begun():
        _note_fit(model, who)
    path = _watched(download, model.title)
    sound = (
        arguments.no_check
        or is_other_kind(path)
        or passes(str(path), trust.here(uses=inuse.here("tutti models")))
    )
    say(str(path))
    return DONE if sound else UNSOUND


def _find(who: "Access", repo: str, wanted: str) -> "RemoteModel":
    from app.hub import names
    from app.hub.catalog import Catalog
    from app.hub.offers import choose

    meant = names.reference(repo, who.endpoint)
    catalog = Catalog(who)
    try:
        found = catalog.repository(meant.repo, meant.revision)
    finally:
        catalog.close()
    return choose(found.offers, wanted or meant.path or meant.tag, meant.repo)


def _note_fit(model: "RemoteModel", who: "Access") -> None:
    """Say before the download whether the model fits; that it cannot be told is no reason not to download."""
    from app.hub.head import remote_fit
    from app.sizing.machine import measure

    try:
        found = remote_fit(model, who, measure().free)
    except HubError:
        return
    if found:
        note(f"here: {found}")


def _watched(download: "Download", title: str) -> Path:
    """Run it on a thread, so that this one can show it and be interrupted at any moment."""
    from app.hub.line import Cut

    result: list[Path | Exception] = []

    def work() -> None:
        try:
            result.append(download.run())
        except (AppError, OSError, Cut) as error:
            result.append(error)

    thread = threading.Thread(target=work, name="pull", daemon=True)
    bar = Bar(sys.stderr, title)
    thread.start()
    try:
        while thread.is_alive():
            thread.join(_LOOK_EVERY)
            bar.show(download.standing())
    except KeyboardInterrupt:
        download.stop()
        thread.join(5)
        bar.end()
        note("what has arrived is kept: the same command goes on there")
        raise
    bar.end()
    outcome = result[0] if result else RuntimeError("the download ended without a word")
    if isinstance(outcome, Exception):
        raise outcome
    return outcome


# --- list, remove --------------------------------------------------------------------------------------------


def list_models(arguments: argparse.Namespace) -> int:
    """One model a line: name, size, quantisation, what it is, where it lies, and how many chats fit."""
    from app.sizing.machine import measure

    shelf = _shelf(arguments.folder)
    found = shelf.models()
    shown = [one for one in found if arguments.all or one.model.kind is Kind.MODEL]
    if arguments.duplicates:
        shown = [one for same in shelf.alike(found) for one in same]
    if arguments.unused:
        shown = [one for one in shown if one.unused(time.time(), arguments.unused)]
    if arguments.json:
        say(json.dumps([_facts(one) for one in shown], indent=2))
    elif shown:
        free = measure().free
        for line in _columns([_local_cells(one, free) for one in shown]):
            say(line)
    else:
        note(_NOTHING_IS.get((bool(arguments.duplicates), bool(arguments.unused)), "there is none of both kinds"))  # fmt: skip
    return DONE


_NOTHING_IS = {
    (False, False): "no model is here yet",
    (True, False): "no model is there twice",
    (False, True): "no model was unused for so long",
}
"""By whether duplicates, and unused ones, were asked for."""


def _shelf(folders: Sequence[Path] = ()) -> "Shelf":
    """The models of this machine, also of the folders that the settings of the window name."""
    from app import inuse
    from app.hub import library, names
    from app.hub.shelf import Shelf
    from app.remembered import Remembered, remembered_path

    current = settings.load(settings.settings_path()).settings
    for folder in folders:
        if not folder.is_dir():
            note(f"there is no folder {names.shown(str(folder))}")
    named = [*map(Path, current.model_folders), *folders]
    uses = inuse.here("tutti models")
    return Shelf(library.here(named, uses=uses), Remembered(remembered_path()))


def _local_cells(shelved: "Shelved", free: int) -> list[str]:
    from app.hub import words

    one = shelved.model
    about = " ".join(filter(None, (one.details.architecture, one.details.parameters)))
    what = one.problem or (_fit_words(one, free) if one.chats else str(one.kind))
    return [shelved.name, words.size(one.size), one.details.quantisation, about, one.place.name, what]  # fmt: skip


def _fit_words(one: "LocalModel", free: int) -> str:
    from app.hub.fit import fit

    if one.footprint is None or not one.footprint.layers:
        return ""
    return str(fit(one.footprint, free))


def _facts(shelved: "Shelved") -> dict[str, object]:
    one = shelved.model
    return {
        "name": shelved.name,
        "path": str(one.path),
        "place": one.place.name,
        "bytes": one.size,
        "files": len(one.files),
        "kind": str(one.kind),
        "problem": one.problem,
        "sha256": one.digest,
        "last_used": shelved.memory.used or None,
        **{key: value for key, value in asdict(one.details).items() if key != "kind"},
    }


def remove(arguments: argparse.Namespace) -> int:
    """Delete a model that was downloaded, all its parts."""
    from app.hub import library, names, words

    shelf = _shelf()
    found = shelf.models()
    given = arguments.name.casefold()
    renamed = [
        one.model for one in found if one.memory.name and one.memory.name.casefold() == given
    ]
    if len(renamed) > 1:  # nothing goes by a guess
        raise ModelError(
            f"Several models are called “{names.shown(arguments.name)}”: {', '.join(one.name for one in renamed)}.",
            "Name one of them.",
        )
    model = renamed[0] if renamed else library.called((one.model for one in found), arguments.name)
    one = next(one for one in found if one.model is model)
    freed = shelf.remove(one, forced=arguments.force)
    say(f"removed {one.name}: {words.size(freed)} are free again")
    return DONE
