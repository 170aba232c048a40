"""Where a summary stands for the oldest messages of a chat, and how far the next one reaches.  Pure.

A summary covers all messages up to one, and the model is shown it in their place, between the system prompt and the
rest.  It is shown in the user's voice: it was made of what people, documents and models wrote, so it must not speak with
the authority of the system prompt, and the system prompt stays the beginning that all chats have in common.

The border moves in big strides.  Every move changes the prompt behind the system prompt, so that all that is sent after
it is read again.  Therefore a summary is written only when `NEAR` of the context is in use, and then so much is covered
that about `KEPT` of it is left word for word: with the summary itself (an eighth of the context at most) a chat grows by
a quarter of its context, at the least, before its prompt changes once more.  What is read again is about half a
context for each quarter that is written.
"""

import re
from collections.abc import Sequence
from itertools import accumulate
from typing import Final

from app.chat.models import ChatMessage, Message, Role, Summary
from app.chat.repetition import repeats
from app.chat.summary_words import CLOSING, INSTRUCTION, OPENING

NEAR = 0.75
"""How much of the context is in use when a summary is wanted: a quarter is then left for turns until it is there."""
KEPT = 0.4
"""How much of the context the messages that stay word for word fill at most, with the system prompt."""
KEPT_TURNS = 2
"""So many of the last questions, and what follows them, are never covered."""

_SUMMARY_SHARE = 8
_MOST_TOKENS = 600
_WORDS_PER_TOKEN = 0.3

_SENTENCE_END: Final = re.compile(
    r"""[.!?\u2026\u061f\u0964]["'\u201d\u2019\u00bb)\]]*(?=\s|$)  # a blank follows, or nothing
    |[\u3002\uff01\uff1f][\u201d\u300d\uff09]*  # Chinese and Japanese write none
    |\S(?=\n)  # the end of a line of a list""",
    re.VERBOSE,
)


def most_tokens(context_tokens: int) -> int:
    """The most tokens of a summary: an eighth of the context, as long as that is no essay."""
    return max(1, min(_MOST_TOKENS, context_tokens // _SUMMARY_SHARE))


def instruction(context_tokens: int) -> ChatMessage:
    """What the model is asked.  Fewer words than fit, since one that is cut off has lost its end."""
    words = max(10, int(most_tokens(context_tokens) * _WORDS_PER_TOKEN))
    return ChatMessage(Role.USER, INSTRUCTION.format(words=words))


def whole_sentences(text: str) -> str:
    """What is worth keeping of a summary that was cut off: all up to its last whole sentence, or line.

    "" where that is less than half of it, or where it went round in circles and would have had no end.
    """
    if repeats(text):
        return ""
    ends = [found.end() for found in _SENTENCE_END.finditer(text)]
    return text[: ends[-1]] if ends and 2 * ends[-1] >= len(text) else ""


def line(summary: Summary) -> ChatMessage:
    """The line of the prompt that stands for what the summary covers."""
    return ChatMessage(Role.USER, f"{OPENING}{summary.text}{CLOSING}", stays=True)


def standing(
    summaries: Sequence[Summary], history: Sequence[Message], before: int | None = None
) -> Summary | None:
    """The one of these, oldest first, that stands for the beginning of this history; None where none does.

    It never covers the last question.  With `before`, it covers only messages before that one.
    """
    questions = [message.id for message in history if message.role is Role.USER]
    last = questions[-1] if questions else 0
    limit = last if before is None else min(last, before)
    return next((one for one in reversed(summaries) if one.message_id < limit), None)


def is_far(last: Message, first: int, context_tokens: int) -> bool:
    """Whether the chat has room by what was counted for its last answer, so that nothing has to be measured.

    `first` is the oldest message that no summary covers: where the answer was not shown that one, nothing was counted of it.
    """
    counted = last.usage.prompt_tokens
    used = counted + last.usage.completion_tokens
    return counted > 0 and last.sent_from <= first and used <= NEAR * context_tokens


def stride(
    roles: Sequence[Role], sizes: Sequence[int], lead: int, asking: int, context_tokens: int
) -> range:
    """Which of these messages the next summary is made of, to cover all up to the last of them; empty where none is wanted.

    `roles` and `sizes` (tokens) are of the messages that no summary covers yet, `lead` is what goes before them (system
    prompt, earlier summary), and `asking` the length of the instruction.  What is left begins with a question.  The
    request that writes the summary fits the context; where that cannot take all of it at once, another summary is
    wanted after this one.  The oldest questions are passed over where one, with its answer, is too long for any request:
    they do not fit the chat either, and those after them shall not be lost with them.
    """
    ends = [0, *accumulate(sizes)]
    questions = [index for index, role in enumerate(roles) if role is Role.USER]
    borders = questions[1 : max(0, len(questions) - KEPT_TURNS) + 1]
    room = context_tokens - lead - asking - most_tokens(context_tokens)
    first = 0
    for border in borders:
        if ends[border] - ends[first] <= room:
            break
        first = border
    found = first
    if lead + ends[-1] - ends[first] > NEAR * context_tokens:
        for border in borders:
            if ends[border] - ends[first] > room:
                break
            found = max(found, border)
            if lead + ends[-1] - ends[found] <= KEPT * context_tokens:
                break
    return range(first, found)
