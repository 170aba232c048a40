"""What a server is asked: fixed workloads whose words are made from a seed, the same for every server."""

import asyncio
import contextlib
import random
import time
from collections.abc import Awaitable, Callable

from app.bench.client import Answer, Client, Messages
from app.bench.outcome import Outcome

_WORDS = (
    "barley canal drum elm gravel harp island lake loom mast plough quarry reed stream barn roof yard wheat clay bell "
    "coast cliff ridge tower field grain sheep goat maple cedar pine birch pond marsh hill sand"
)
"""Words that are one token in most vocabularies, so that W words are about W tokens."""

_LEAD_SECONDS = 4.0
"""How long the chats of `stall` write before the long prompt comes, where they have not written half by then."""

Workload = Callable[[Client, int], Awaitable[Outcome]]
"""Asks a server, with words made from a seed."""


def _words(seed: int, count: int) -> str:
    choice = random.Random(seed).choice
    words = _WORDS.split()
    return " ".join(choice(words) for _ in range(count))


def _user(text: str) -> Messages:
    return [{"role": "user", "content": text}]


def tale(seed: int, number: int) -> Messages:
    """A short prompt for a long answer."""
    return _user(f"Tale {number}: tell at length of {_words(seed + number, 6)}.")


async def _all(asked: list[Awaitable[Answer]]) -> Outcome:
    began = time.perf_counter()
    answers = await asyncio.gather(*asked)
    return Outcome(tuple(answers), time.perf_counter() - began)


async def decode(client: Client, seed: int, chats: int) -> Outcome:
    return await _all([client.ask(tale(seed, number), 96) for number in range(chats)])


async def prefix(client: Client, seed: int, chats: int, words: int) -> Outcome:
    system = {"role": "system", "content": f"You answer with care. Notes: {_words(seed, words)}"}
    asked = [
        [system, *_user(f"Item {n}: what of {_words(seed * 7 + n, 4)}?")] for n in range(chats)
    ]
    return await _all([client.ask(messages, 32) for messages in asked])


async def stall(client: Client, seed: int, chats: int, words: int) -> Outcome:
    began = time.perf_counter()
    half = asyncio.Event()

    async def come_late() -> Answer:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_LEAD_SECONDS):
                await half.wait()
        text = f"{_words(seed * 3, words)}. Now write one long sentence about these words."
        return await client.ask(_user(text), 16)

    *answers, late = await asyncio.gather(
        *(client.ask(tale(seed, number), 160, half) for number in range(chats)), come_late()
    )
    return Outcome(tuple(answers), time.perf_counter() - began, late)


async def turns(client: Client, seed: int, chats: int, rounds: int, at_once: int) -> Outcome:
    system = {"role": "system", "content": f"You are of help. {_words(seed, 150)}"}
    histories: list[Messages] = [[system] for _ in range(chats)]
    gate = asyncio.Semaphore(at_once)

    async def turn(chat: int, number: int) -> Answer:
        async with gate:
            history = histories[chat]
            history.append(_user(f"Turn {number}: {_words(seed + chat * 97 + number, 40)}?")[0])
            answer = await client.ask(history, 24)
            history.append({"role": "assistant", "content": answer.text})
            return answer

    began = time.perf_counter()
    answers: list[Answer] = []
    for number in range(rounds):
        answers += await asyncio.gather(*(turn(chat, number) for chat in range(chats)))
    return Outcome(tuple(answers), time.perf_counter() - began)


async def pressure(client: Client, seed: int, chats: int, tokens: int) -> Outcome:
    texts = [f"Count, and tell tale {n} of {_words(seed + n, 200)}." for n in range(chats)]
    return await _all([client.ask(_user(text), tokens) for text in texts])
