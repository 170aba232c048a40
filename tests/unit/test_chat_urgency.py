"""A request's class, and who hears of its changes."""

from app.chat.models import Priority
from app.chat.urgency import Urgency


def test_watchers_hear_of_changes_until_they_leave() -> None:
    urgency = Urgency()
    heard: list[Priority] = []
    leave = urgency.watch(heard.append)
    urgency.watch(lambda priority: leave())
    assert urgency.priority is Priority.NORMAL
    urgency.set(Priority.NORMAL)
    assert heard == []
    urgency.set(Priority.FRONT)
    urgency.set(Priority.BACKGROUND)
    leave()
    assert heard == [Priority.FRONT]
    assert urgency.priority is Priority.BACKGROUND
