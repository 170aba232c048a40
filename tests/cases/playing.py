"""The real window over a local model whose children the test plays: nothing is written before the test says so."""

from dataclasses import dataclass, field

from app.chat.events import ChatEvent, TextAppended, ThoughtAppended
from app.ui.chat_tab import ChatTab
from app.wire import Finished, FinishReason, Submit, TokenOut, Usage
from tests.cases.whole import over, put, settings, until
from tests.gui.desk import Desk, open_desk
from tests.played_model import PATH, Made
from tests.scripted_children import step

__all__ = ["Played", "play"]


@dataclass
class Played:
    """A desk, and an engine that writes by hand."""

    desk: Desk
    made: Made
    told: dict[int, list[str]] = field(default_factory=dict)
    """What the window was told of each chat: how its answer and its reasoning looked after each piece."""

    @property
    def asked(self) -> list[Submit]:
        """The requests for answers, but none that only reads ahead."""
        return [submit for submit in self.made.submitted if submit.max_tokens != 0]

    def hear(self, event: ChatEvent) -> None:
        if isinstance(event, TextAppended | ThoughtAppended):
            seen = self.told.setdefault(event.conversation_id, [])
            seen.append((seen[-1] if seen else "") + event.text)

    def shown(self, page: ChatTab) -> str:
        """Reasoning and answer of the only turn of this chat, as far as the window was told."""
        return self.told.get(page.id, [""])[-1]

    async def ask(self, page: ChatTab, text: str = "x") -> int:
        """Send a message; the number of the request that comes of it."""
        before = len(self.asked)
        put(page, text)
        await until(lambda: len(self.asked) > before, "the request")
        return self.asked[-1].request_id

    def write(self, request: int, raw: bytes) -> None:
        """One step of the engine in which it writes these tokens."""
        self.made.engine.say(step(*(TokenOut(request, token) for token in raw)))

    async def end(self, request: int, page: ChatTab, reason: FinishReason, error: str = "") -> None:
        """The engine ends it; returns once the turn is over."""
        self.made.engine.say(step(Finished(request, reason, Usage(1, 9, 0), error)))
        await over(self.desk, page)


async def play(made: Made) -> Played:
    """A window over this model, loaded; the caller closes the desk."""
    host = made.model
    desk = await open_desk(generator=host, host=host, current=settings(max_answer_tokens=0))  # type: ignore[arg-type]
    await host.load(PATH)
    played = Played(desk, made)
    desk.chat.subscribe(played.hear)
    return played
