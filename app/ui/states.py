"""What a turn's state is called: the one place for its words, in tabs, list and state line."""

import re
from dataclasses import replace

from app.chat.events import TurnState
from app.chat.models import TabState


def word(turn: TurnState) -> str:
    """In one word, for the list; "" when there is nothing to say."""
    match turn.state:
        case TabState.WAITING:
            if turn.place:
                return ordinal(turn.place)
            if turn.counting:
                return "counting"
            return "loading" if turn.why else "waiting"
        case TabState.READING:
            return f"{percent(turn)} %"
        case TabState.WRITING:
            return speed(turn.tokens_per_second) if turn.tokens_per_second > 0 else "writing"
        case TabState.DONE_UNREAD:
            return "new"
        case TabState.STOPPED:
            return "stopped"
        case TabState.FAILED:
            return "failed"
        case TabState.IDLE:
            return ""


def words(turn: TurnState) -> tuple[str, ...]:
    """What a tab says, the longest first, for as much room as there is; () when there is nothing to say."""
    match turn.state:
        case TabState.WAITING if turn.place:
            return f"Waiting, {ordinal(turn.place)}", ordinal(turn.place)
        case TabState.READING:
            return f"Reading {percent(turn)} %", f"{percent(turn)} %"
        case TabState.WRITING if turn.tokens_per_second > 0:
            rate = speed(turn.tokens_per_second)
            return f"Writing, {rate}", rate, f"{rate.removesuffix(_RATE)}/s"
        case TabState.DONE_UNREAD:
            return "Done, unread", "New"
        case _:
            short = word(turn).capitalize()
            return (short,) if short else ()


def looks_like(one: TurnState, other: TurnState) -> bool:
    """Whether nothing that is shown of these two differs: then nothing has to be drawn."""
    return one is other or (
        one.state is other.state and word(one) == word(other) and sentence(one) == sentence(other)
    )


def sentence(turn: TurnState) -> str:
    """For tool tips and for screen readers."""
    match turn.state:
        case TabState.WAITING:
            if turn.place:
                return f"Waiting, {ordinal(turn.place)} in line"
            if turn.counting:
                return "Counting the tokens of this text"
            return f"Waiting: {turn.why}" if turn.why else "Waiting"
        case TabState.READING:
            cached = f", {turn.cached:,} from cache" if turn.cached else ""
            return f"Reading {percent(turn)} % of {turn.total:,} tokens{cached}"
        case TabState.WRITING:
            rate = turn.tokens_per_second
            doing = "Thinking" if turn.thinking else "Writing"
            again = ", repeating itself" if turn.repeating else ""
            return f"{doing}{again}, {speed(rate)}" if rate > 0 else f"{doing}{again}"
        case TabState.DONE_UNREAD:
            return "Done, not read yet"
        case TabState.STOPPED:
            return "Stopped"
        case TabState.FAILED:
            return f"Failed: {turn.error}" if turn.error else "Failed"
        case TabState.IDLE:
            return ""


def brief(turn: TurnState) -> str:
    """For the state line: of a failure, which the answer tells whole, its first sentence."""
    if turn.state is not TabState.FAILED:
        return sentence(turn)
    return sentence(replace(turn, error=re.split(r"(?<=[.!?])\s", turn.error, maxsplit=1)[0]))


def offer(turn: TurnState) -> str:
    """What is said where the answer can be stopped because it repeats itself; "" where it does not."""
    if not turn.repeating:
        return ""
    return "The model repeats its thoughts." if turn.thinking else "This answer repeats itself."


def percent(turn: TurnState) -> int:
    """How much of the prompt has been read, 0 to 100."""
    return min(100, 100 * turn.done // turn.total) if turn.total > 0 else 0


def speed(tokens_per_second: float) -> str:
    """A rate in the unit used everywhere; one decimal where it says something."""
    digits = 1 if 0 < tokens_per_second < 9.95 else 0
    return f"{tokens_per_second:.{digits}f}{_RATE}"


def ordinal(place: int) -> str:
    """1st, 2nd, 3rd, 4th, 11th."""
    teens = 10 <= place % 100 <= 20
    ending = "th" if teens else {1: "st", 2: "nd", 3: "rd"}.get(place % 10, "th")
    return f"{place}{ending}"


_RATE = " tok/s"
IDLE = TurnState()
UNREAD = TurnState(TabState.DONE_UNREAD)
