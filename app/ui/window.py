"""The main window: it puts the parts beside one another and lets each hear what the others say."""

import asyncio
import logging
from pathlib import Path

from PySide6.QtCore import QEvent, Qt, QTimer
from PySide6.QtGui import (
    QAction,
    QCloseEvent,
    QKeySequence,
    QResizeEvent,
)
from PySide6.QtWidgets import QDialog, QMainWindow

from app import paths
from app.chat.model_port import ModelHost
from app.chat.model_state import ModelState
from app.chat.models import Conversation
from app.chat.ports import ConversationStore
from app.chat.turns import ChatService
from app.errors import AppError
from app.settings import Settings
from app.sizing.planner import Planner
from app.ui import aio, geometry, keyboard, layout, motion
from app.ui.banner import Banner, Notice
from app.ui.cache_advice import CacheAdvice
from app.ui.chat_model import ModelSwitch
from app.ui.chat_settings_dialog import ChatSettingsDialog
from app.ui.chat_tab import ChatTab
from app.ui.commands import COMMANDS, ShortcutsDialog
from app.ui.links import LinkOffer
from app.ui.load_control import LoadControl
from app.ui.memory_help import MemoryHelp
from app.ui.model_button import ModelButton
from app.ui.model_control import ModelControl
from app.ui.model_finder import ModelFinder, Sources
from app.ui.motion import Pulse
from app.ui.plain import one_line
from app.ui.preferences import Preferences
from app.ui.prompt_control import PromptControl
from app.ui.scheme import Scheme
from app.ui.settings_control import SettingsControl
from app.ui.sidebar import Sidebar
from app.ui.start_mark import StartMark
from app.ui.status import StatusLine
from app.ui.tab_keys import TabKeys
from app.ui.tabs import ChatTabs
from app.ui.workspace import Workspace

_log = logging.getLogger(__name__)

_GEOMETRY_KEY = "window"
_STATUS_MS = 400
_LAST_SECONDS = 3.0
"""How long the end waits for what is still being saved."""


class Window(QMainWindow):
    """Made inside the running loop; `closed` is done once the user has closed it."""

    def __init__(
        self,
        chat: ChatService,
        store: ConversationStore,
        host: ModelHost,
        preferences: Preferences,
        starter: Path | None,
        planner: Planner | None = None,
    ) -> None:
        super().__init__()
        self._planner = planner or Planner()
        self._settings = SettingsControl(preferences, self._planner, host, self)
        self.setObjectName("mainWindow")
        self.setWindowTitle("Tutti")
        geometry.limit(self)
        self.closed: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._chat, self._store, self._host = chat, store, host
        self._preferences, self._starter = preferences, starter
        self.sidebar = Sidebar(self)
        self.tabs = ChatTabs(self)
        self.banner = Banner(self)
        self.status = StatusLine(self)
        self.workspace = Workspace(
            chat, store, self.tabs, self.sidebar.model, self.banner, self._make_tab
        )
        self.model = ModelControl(
            host,
            preferences,
            self.banner,
            starter,
            lambda model: len(self.workspace.busy(model)),
            MemoryHelp(self._planner, preferences),
            self,
        )
        self.prompts = PromptControl(chat, host, self.tell, self)
        self.links = LinkOffer(self.banner, self)
        self.model_button = ModelButton(starter is not None, self)
        self._finder: ModelFinder | None = None
        self._wants_finder = False
        self.pulse = Pulse(self)
        self._mark = StartMark(store, self)
        self._switch = ModelSwitch(chat, self.workspace.front_model, self)
        self._tab_keys = TabKeys(self.tabs, self.focusComposer, self)
        self._scheme = Scheme(preferences, self)
        self._actions: dict[str, QAction] = {}
        self.setCentralWidget(layout.central(self.sidebar, self.tabs, self.banner, self.status))
        self._add_commands()
        layout.order_focus(self)
        self._advice = CacheAdvice(self.banner, self._settings.open_model_page)
        self._connect()
        self._poll = QTimer(self)
        self._poll.setInterval(_STATUS_MS)
        self._poll.timeout.connect(self._show_status)
        self._poll.start()
        self._show_model(host.state)

    async def start(self) -> None:
        """Bring back what was open the last time, and show the window."""
        place = geometry.decode(await self._store.value(_GEOMETRY_KEY))
        self.setGeometry(geometry.fitted(place, geometry.screens()))
        if place is not None and place.maximized:
            self.setWindowState(self.windowState() | Qt.WindowState.WindowMaximized)
        self.sidebar.setVisible(self._preferences.current.sidebar_visible)
        await self.workspace.restore(tabs=await self._mark.set())
        self.show()
        self._mark.shown()
        aio.spawn(self._ask_for_motion())
        if self.workspace.front is not None:
            self.workspace.front.focus_composer()

    def offer_models(self, sources: Sources) -> None:
        """Let the user find models there; to be called once."""
        remembered = sources.shelf.remembered
        self._settings.offer(sources.account, remembered)
        load = LoadControl(remembered, self._preferences, self._planner, self.model, self)
        self._finder = ModelFinder(
            sources, self.model, self.model_button, self.banner, load, self._preferences, self
        )
        self._finder.used.connect(self.focusComposer)
        if self._wants_finder:  # somebody was quicker
            self._finder.open()

    async def shut(self) -> None:
        """Keep what shall be there the next time; to be called once, after `closed`."""
        self._poll.stop()
        self.pulse.allow(False)
        self.model.shut()
        if self._finder is not None:
            self._finder.shut()
        for dialog in self.findChildren(QDialog):
            dialog.reject()
        for step in (
            self._keep_geometry,
            self.workspace.shut,
            self._preferences.save,
            self._mark.unset,
        ):
            try:
                await step()
            except AppError as error:
                # Nobody is there any more to be told; what follows must be tried all the same.
                _log.warning("not kept at the end: %s", error)
        await aio.drained(_LAST_SECONDS)

    async def _keep_geometry(self) -> None:
        await self._store.set_value(_GEOMETRY_KEY, geometry.encode(geometry.of(self)))

    def closeEvent(self, event: QCloseEvent) -> None:
        event.accept()
        if not self.closed.done():
            self.closed.set_result(None)

    def come_forward(self) -> None:
        """Be in front, wherever the window was."""
        self.setWindowState(self.windowState() & ~Qt.WindowState.WindowMinimized)
        self.show()
        self.raise_()
        self.activateWindow()

    def another_start(self, model_path: str) -> None:
        """Somebody started the app once more, perhaps with a model."""
        self.come_forward()
        if model_path:
            self.model.load(model_path)

    def tell(self, words: str) -> None:
        """Show a failure of the world."""
        self.banner.post(Notice(words))

    def report(self, error: BaseException) -> None:
        """Show a failure: the world's in its own words, ours as what it is, with the log to look at."""
        if isinstance(error, AppError):
            self.tell(str(error))
            return
        _log.error("unexpected %s", type(error).__name__, exc_info=error)
        self.banner.post(
            Notice(
                f"Something went wrong inside Tutti ({type(error).__name__}). Your chats are saved; "
                f"what happened is in the log, {paths.logs_dir() / 'app.log'}."
            )
        )

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self.sidebar.fit(self.width())

    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        if event.type() == QEvent.Type.PaletteChange and hasattr(self, "tabs"):
            self.tabs.redraw()

    # --- building --------------------------------------------------------------------------------------------

    def _add_commands(self) -> None:
        for command in COMMANDS:
            action = QAction(command.label, self)
            action.setObjectName(f"{command.name}Action")
            action.setShortcuts([QKeySequence(key) for key in command.keys])
            action.triggered.connect(getattr(self, command.name))
            self.addAction(action)
            self._actions[command.name] = action
        layout.fill_corners(self.tabs, self.model_button, self._actions)

    def _connect(self) -> None:
        self.sidebar.new_requested.connect(self.newChat)
        self.sidebar.settings_requested.connect(self.settings)
        self.sidebar.list.opened.connect(self.workspace.open)
        self.sidebar.list.delete_requested.connect(self.workspace.delete)
        self.sidebar.list.settings_requested.connect(self._ask_chat_settings)
        self.sidebar.model.renamed.connect(self._rename)
        self.status.stop_all_requested.connect(self.stopAll)
        self.status.cancel_requested.connect(self.model.unload)
        self.status.advice_wanted.connect(self._advice.show)
        self.workspace.busy_changed.connect(self.status.show_busy)
        self.workspace.writing_changed.connect(self.pulse.want)
        self.pulse.beat.connect(self._beat)
        self.workspace.front_changed.connect(self._show_front)
        self.model.state_changed.connect(self._show_model)
        self.model.state_changed.connect(self._switch.model_changed)
        self.model.load_begun.connect(self._switch.choose)
        self.model.starter_chosen.connect(self.focusComposer)
        self.banner.left.connect(self.focusComposer)
        self.model_button.starter_requested.connect(self.model.use_starter)
        self.model_button.file_requested.connect(self.model.choose_file)
        self.model_button.unload_requested.connect(self.model.unload)
        self.model_button.eject_requested.connect(self.model.eject)
        self.model_button.reload_requested.connect(self.model.load_again)
        self.model_button.template_requested.connect(self.promptTemplate)
        self.model.state_changed.connect(self.prompts.model_changed)
        self.tabs.spare_changed.connect(self.model_button.fit)
        self._preferences.changed.connect(self._settings_changed)

    def _make_tab(self, conversation: Conversation) -> ChatTab:
        tab = ChatTab(
            conversation, self._chat, starter=self._starter is not None, model=self._host.state
        )
        tab.empty.starter_requested.connect(self.model.use_starter)
        tab.empty.find_requested.connect(self.findModels)
        tab.empty.file_requested.connect(self.model.choose_file)
        tab.model_missing.connect(self.model.say_missing)
        tab.link_activated.connect(self.links.offer)
        tab.settings_requested.connect(self._ask_chat_settings)
        tab.prompt_requested.connect(self.prompts.show_prompt)
        return tab

    # --- commands (their names stand in `commands.COMMANDS`) ----------------------------------------------------

    @aio.async_slot
    async def newChat(self) -> None:
        await self.workspace.new()

    def reopenTab(self) -> None:
        self.workspace.reopen()

    def closeTab(self) -> None:
        if self.workspace.front is not None:
            self.workspace.close(self.workspace.front)

    def nextTab(self) -> None:
        self._tab_keys.step(1)

    def previousTab(self) -> None:
        self._tab_keys.step(-1)

    def stop(self) -> None:
        if self.workspace.front is not None:
            self.workspace.front.stop()

    def stopAll(self) -> None:
        for page in self.workspace.pages:
            page.stop()
        self._chat.stop_all()

    def regenerate(self) -> None:
        if self.workspace.front is not None:
            self.workspace.front.regenerate()

    def renameChat(self) -> None:
        if self.sidebar.isHidden():
            self.toggleSidebar()
        if not self.sidebar.list.hasFocus() and self.workspace.front is not None:
            self.sidebar.search.clear()
            self.sidebar.list.select(self.workspace.front.id)
        self.sidebar.list.rename_chosen()

    def chatSettings(self) -> None:
        if self.workspace.front is not None:
            self._ask_chat_settings(self.workspace.front.id)

    def search(self) -> None:
        if self.sidebar.isHidden():
            self.toggleSidebar()
        self.sidebar.search.setFocus()
        self.sidebar.search.selectAll()

    def focusComposer(self) -> None:
        if self.workspace.front is not None:
            self.workspace.front.focus_composer()

    def toggleSidebar(self) -> None:
        visible = self.sidebar.isHidden()
        typing = keyboard.is_in(self.sidebar)
        self.sidebar.setVisible(visible)
        if typing:
            self.focusComposer()
        self._preferences.update(sidebar_visible=visible)

    def openModel(self) -> None:
        self.model.choose_file()

    def findModels(self) -> None:
        self._wants_finder = self._finder is None
        if self._finder is not None:
            self._finder.open()

    def promptTemplate(self) -> None:
        self.prompts.edit_template()

    def exactPrompt(self) -> None:
        if self.workspace.front is not None:
            self.workspace.front.ask_for_prompt()

    def settings(self) -> None:
        self._settings.open()

    @aio.async_slot
    async def shortcuts(self) -> None:
        await aio.finished(ShortcutsDialog(self))

    def quit(self) -> None:
        self.close()

    # --- hearing ---------------------------------------------------------------------------------------------

    @aio.async_slot
    async def _ask_chat_settings(self, conversation_id: int) -> None:
        conversation = self.sidebar.model.conversation(conversation_id)
        if conversation is None:
            return
        general, model = self._preferences.current, self._host.state
        dialog = ChatSettingsDialog(conversation, general, model, self)
        if await aio.finished(dialog):
            await self._chat.set_settings(conversation_id, dialog.value())

    @aio.async_slot
    async def _rename(self, conversation_id: int, title: str) -> None:
        await self._chat.rename(conversation_id, title)

    def _show_front(self) -> None:
        front = self.workspace.front
        self.sidebar.list.select(front.id if front else None)
        self._host.show(front.conversation.model if front else "")
        title = one_line(self.workspace.title(front.id), 80) if front else ""
        self.setWindowTitle(f"{title} — Tutti" if title else "Tutti")

    def _beat(self) -> None:
        swollen = self.pulse.swollen
        self.tabs.beat(swollen)
        self.sidebar.list.beat(swollen)
        for page in self.workspace.pages:
            page.state_line.beat(swollen)

    async def _ask_for_motion(self) -> None:
        self.pulse.allow(not await asyncio.to_thread(motion.is_reduced))

    def _show_model(self, state: ModelState) -> None:
        self.model_button.show_state(state)
        for page in self.workspace.pages:
            page.show_model(state)
        self._show_status()

    def _show_status(self) -> None:
        self.status.show_state(self._host.state, self._host.status)

    def _settings_changed(self, old: Settings, new: Settings) -> None:
        if old.when_full != new.when_full:
            self.workspace.show_summaries()
