"""The window's composition root: everything is built here, once, and ended here, in order.

Start: a screen, the lock of the data folder, the settings, the log, Qt, the chats on disk, the model's host, the
chat service, the window.  End, in turn: drafts and tabs are kept, turns end, child processes end, the database
closes, the lock is given back.  Neither Qt nor llama.cpp is imported by importing this module.
"""

import asyncio
import logging
import os
import sys
from collections.abc import Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING

from app import inuse, log, paths, settings
from app.errors import AppError
from app.overrides import Overrides, templates_dir
from app.remembered import Remembered, remembered_path
from app.settings import GAPS, Settings
from app.sizing.planner import Planner
from app.sizing.profiles import Plan, own_numbers, shortage
from app.wire import LoadParams

if TYPE_CHECKING:
    from PySide6.QtCore import QMessageLogContext, QtMsgType
    from PySide6.QtWidgets import QApplication

    from app.client.ensemble import Ensemble
    from app.hub.account import Account
    from app.hub.service import HubService
    from app.ui.preferences import Preferences
    from app.ui.single_instance import SingleInstance
    from app.ui.window import Window

_log = logging.getLogger(__name__)


def run_window(model_path: str | None, environment: Mapping[str, str] = os.environ) -> int:
    """Show the window until it is closed; the process's exit code.

    `model_path` is loaded at once; `environment` is what the program was started with.  Where a window on the same data folder is open already, that one comes
    forward instead.
    """
    from app.ui import display

    problem = display.problem()
    if problem:
        print(problem, file=sys.stderr)  # noqa: T201  there is no window to say it in
        return 1
    display.choose_input_method()
    from app.ui.single_instance import SingleInstance

    model = str(Path(model_path).resolve()) if model_path else ""
    instance = SingleInstance(paths.data_dir())
    refusal = instance.claim(model)
    if refusal is not None:
        if refusal.words:
            print(refusal.words, file=sys.stderr)  # noqa: T201
        return refusal.exit_code
    try:
        return _run(instance, model, environment)
    finally:
        instance.release()


def _run(instance: "SingleInstance", model: str, environment: Mapping[str, str]) -> int:
    log.start("app")
    loaded = settings.load(settings.settings_path())
    application = _application(loaded.settings)  # kept until the session is over
    from app.ui import aio

    try:
        return aio.run(_session(instance, loaded, model, environment))
    finally:
        application.quit()


def _application(current: Settings) -> "QApplication":
    from PySide6.QtCore import qInstallMessageHandler
    from PySide6.QtGui import QIcon
    from PySide6.QtWidgets import QApplication

    from app import __version__
    from app.ui import theme

    qInstallMessageHandler(_log_message)
    application = QApplication(sys.argv[:1])
    application.setApplicationName("tutti")
    application.setApplicationDisplayName("Tutti")
    application.setApplicationVersion(__version__)
    application.setDesktopFileName("tutti")
    # The session ends when everything is put away, not when the window goes.
    application.setQuitOnLastWindowClosed(False)
    application.setWindowIcon(QIcon(str(paths.resources_dir() / "icons" / "tutti.svg")))
    theme.apply(application, current.theme)
    return application


def _log_message(kind: "QtMsgType", _: "QMessageLogContext", message: str) -> None:
    """What Qt has to say belongs in the log, not on a terminal that may not be there; but for its last words."""
    serious = kind.name in ("QtCriticalMsg", "QtFatalMsg")
    if kind.name == "QtFatalMsg":
        print(message, file=sys.stderr)  # noqa: T201  Qt ends the process now
    _log.log(logging.ERROR if serious else logging.WARNING, "Qt: %s", message)


async def _session(
    instance: "SingleInstance",
    loaded: settings.Loaded,
    model: str,
    environment: Mapping[str, str] = os.environ,
) -> int:
    from app.chat.turns import ChatService
    from app.client import trust
    from app.client.ensemble import Ensemble
    from app.client.loading import MakeRoom
    from app.client.local import LocalModel
    from app.client.means import Means
    from app.client.memories import Memories
    from app.store.conversations import database_path, open_store
    from app.ui import aio, fatal
    from app.ui.collector import Collector
    from app.ui.preferences import Preferences
    from app.ui.window import Window

    try:
        store = await open_store(database_path())
    except AppError as error:
        await fatal.say(str(error))
        return 1
    preferences = Preferences(loaded.settings, settings.settings_path())
    collector = Collector()
    planner, loop = Planner(), asyncio.get_running_loop()
    remembered = await asyncio.to_thread(Remembered, remembered_path())

    def params(path: str) -> LoadParams:
        found, words = planned(
            path, remembered.settings_for(path, preferences.current), planner, host.beside(path)
        )
        if words:
            loop.call_soon_threadsafe(window.tell, words)
        return found

    def fits(path: str, beside: Sequence[str]) -> bool:
        current = remembered.settings_for(path, preferences.current)
        return planner.fits(path, current.profile, own_numbers(current), beside)

    uses = inuse.here("the Tutti window")
    overrides, checked = Overrides(templates_dir()), trust.here(uses=uses)

    def make(path: str, memories: Memories, make_room: MakeRoom) -> LocalModel:
        return LocalModel(
            params,
            path=path,
            memories=memories,
            overrides=overrides,
            title=remembered.title,
            trust=checked,
            means=Means(uses=uses),
            make_room=make_room,
        )

    host = Ensemble(make, fits, path=loaded.settings.model_path, states_folder=states_folder())
    chat = ChatService(store, host, lambda: preferences.current)
    window = Window(chat, store, host, preferences, paths.starter_model(), planner)
    async with AsyncExitStack() as end:  # from the last to the first, each whatever the others do
        end.callback(collector.close)
        end.callback(aio.on_signals(window.close))
        end.push_async_callback(store.close)
        end.push_async_callback(host.close)
        end.push_async_callback(chat.close)
        _watch(window, host, preferences)
        await window.start()
        instance.listen(window.another_start)
        for words in (*loaded.problems, *store.problems):
            window.tell(words)
        if model:
            window.model.load(model)
        collector.watch(window.workspace.busy)
        await _offer_models(window, preferences, remembered, uses, end, environment)
        await window.closed
        await window.shut()
    return 0


async def _offer_models(
    window: "Window",
    preferences: "Preferences",
    remembered: Remembered,
    uses: inuse.Uses,
    end: AsyncExitStack,
    environment: Mapping[str, str],
) -> None:
    """Let the window find models here and on the hub; once it is shown, for the hub's client takes long to import."""
    hub, account = await asyncio.to_thread(_hub, environment)
    end.push_async_callback(hub.close)
    from app.hub import library, recommended
    from app.hub.shelf import Shelf
    from app.ui import aio
    from app.ui.hub_control import HubControl
    from app.ui.model_finder import Sources

    folders = map(Path, preferences.current.model_folders)
    shelf = Shelf(library.here(folders, uses=uses), remembered)
    control = HubControl(account, preferences, window.banner, window)
    window.offer_models(Sources(shelf, hub, recommended.here(), control))

    async def begin() -> None:
        await control.start()  # the keyring may take its time
        hub.downloads.restore()

    aio.spawn(begin())


def _hub(environment: Mapping[str, str]) -> "tuple[HubService, Account]":
    from app.hub.access import Access
    from app.hub.account import Account
    from app.hub.keychain import SystemKeychain
    from app.hub.service import HubService
    from app.hub.tokens import Tokens

    service = HubService(Access(), paths.models_dir())
    return service, Account(service, Tokens(SystemKeychain()), environment)


def planned(
    path: str, current: Settings, planner: Planner, beside: Sequence[str] = ()
) -> tuple[LoadParams, str]:
    """How the model at `path` is loaded now under these settings, beside those that are loaded; and what is to be said
    before that, or ""."""
    plan = planner.load(path, current.profile, own_numbers(current), beside)
    return load_params(path, current, plan), shortage(Path(path).name, plan)


def load_params(path: str, current: Settings, plan: Plan) -> LoadParams:
    """How the model at `path` is loaded under these settings, with the numbers that their profile gives."""
    return replace(
        plan.load_params(path),
        threads=current.threads,
        gpu_layers=current.gpu_layers,
        gap=GAPS[current.pace],
        states_folder=states_folder(),
        disk_bytes=current.disk_megabytes << 20,
        yielding=current.pool_tokens is None and current.kv_type is None,
    )


def states_folder() -> str:
    """Where the states of chats lie between two starts."""
    return str(paths.data_dir() / "states")


def _watch(window: "Window", host: "Ensemble", preferences: "Preferences") -> None:
    """Let the window hear of signals and of what nobody caught, and the host of its settings."""
    from app.ui import aio

    def hold_models(_: Settings | None, current: Settings) -> None:
        host.set_idle_unload(current.idle_unload_minutes)
        host.set_most(current.most_models)

    def uncaught(
        kind: type[BaseException], error: BaseException, trace: TracebackType | None
    ) -> None:
        if issubclass(kind, KeyboardInterrupt):
            window.close()
        else:
            window.report(error.with_traceback(trace))

    hold_models(None, preferences.current)
    preferences.changed.connect(hold_models)
    sys.excepthook = uncaught
    aio.report_to(window.report)
