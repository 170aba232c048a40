"""Which conversations were read beforehand."""

from app.chat.models import ChatMessage, Role
from app.client.warmth import MOST, Warmth


def talk(text: str) -> tuple[ChatMessage, ...]:
    return (ChatMessage(Role.USER, text),)


def test_what_was_read_is_not_wanted_again_until_nothing_is_read_any_more() -> None:
    warmth = Warmth()
    assert warmth.wanted(talk("a"))
    warmth.remember(talk("a"))
    assert not warmth.wanted(talk("a"))
    assert warmth.wanted(talk("b"))
    warmth.clear()
    assert warmth.wanted(talk("a"))


def test_the_oldest_are_forgotten() -> None:
    warmth = Warmth()
    for number in range(MOST):
        warmth.remember(talk(str(number)))
    warmth.remember(talk("0"))
    warmth.remember(talk("one more"))
    assert warmth.wanted(talk("1"))
    assert not any(warmth.wanted(talk(text)) for text in ("0", "2", "one more"))
