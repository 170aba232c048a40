"""What is asked: fixed workloads, made from a seed, named `kind:numbers`.

decode:N      N chats with short prompts of their own, 96 tokens each
prefix:N:W    N chats that share a system prompt of about W words, 32 tokens each
stall:N:W     N chats write; then a prompt of W words comes: their gaps, its time to the first token
turns:C:T:P   C chats of T turns, P at a time
pressure:N:T  N chats of T tokens each, in a pool that cannot hold them all
"""

import asyncio
import random
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from app.bench.client import Answer, Client, Messages

_NOUNS = (
    *(
        "anvil",
        "barley",
        "canal",
        "drum",
        "elm",
        "fjord",
        "gravel",
        "harp",
        "inlet",
        "jetty",
        "kiln",
        "loom",
    ),
    *(
        "mast",
        "nettle",
        "oar",
        "plough",
        "quarry",
        "reed",
        "sluice",
        "thistle",
        "urn",
        "vane",
        "weir",
        "yard",
    ),
)

_LEAD_SECONDS = 4.0
"""How long the chats of `stall` write before the long prompt comes."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """All answers of one workload; `late` is the long prompt of `stall`."""

    answers: tuple[Answer, ...]
    seconds: float
    late: Answer | None = None


def _words(seed: int, count: int) -> str:
    choice = random.Random(seed).choice
    return " ".join(choice(_NOUNS) for _ in range(count))


def _user(text: str) -> Messages:
    return [{"role": "user", "content": text}]


async def _all(asked: list[Awaitable[Answer]]) -> Outcome:
    began = time.perf_counter()
    answers = await asyncio.gather(*asked)
    return Outcome(tuple(answers), time.perf_counter() - began)


async def decode(client: Client, seed: int, chats: int) -> Outcome:
    texts = [f"Tale {n}: tell at length of {_words(seed + n, 6)}." for n in range(chats)]
    return await _all([client.ask(_user(text), 96) for text in texts])


async def prefix(client: Client, seed: int, chats: int, words: int) -> Outcome:
    system = {"role": "system", "content": f"You answer with care. Notes: {_words(seed, words)}"}
    asked = [
        [system, *_user(f"Item {n}: what of {_words(seed * 7 + n, 4)}?")] for n in range(chats)
    ]
    return await _all([client.ask(messages, 32) for messages in asked])


async def stall(client: Client, seed: int, chats: int, words: int) -> Outcome:
    texts = [f"Tale {n}: tell at length of {_words(seed + n, 6)}." for n in range(chats)]
    began = time.perf_counter()
    late_text = f"{_words(seed * 3, words)}. Now write one long sentence about these words."

    async def come_late() -> Answer:
        await asyncio.sleep(_LEAD_SECONDS)
        return await client.ask(_user(late_text), 16)

    *answers, late = await asyncio.gather(
        *(client.ask(_user(text), 160) for text in texts), come_late()
    )
    return Outcome(tuple(answers), time.perf_counter() - began, late)


async def turns(client: Client, seed: int, chats: int, rounds: int, at_once: int) -> Outcome:
    system = [
        {"role": "system", "content": f"You are of help. {_words(seed + n, 150)}"}
        for n in range(chats)
    ]
    histories: list[Messages] = [[line] for line in system]
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


_KINDS: dict[str, tuple[Callable[..., Awaitable[Outcome]], int]] = {
    "decode": (decode, 1),
    "prefix": (prefix, 2),
    "stall": (stall, 2),
    "turns": (turns, 3),
    "pressure": (pressure, 2),
}


def parse(name: str) -> Callable[[Client, int], Awaitable[Outcome]]:
    """The workload of this name; raises ValueError with what is wrong."""
    kind, *numbers = name.split(":")
    if kind not in _KINDS:
        raise ValueError(f"unknown workload {kind!r}; known are {', '.join(_KINDS)}")
    function, wanted = _KINDS[kind]
    if len(numbers) != wanted or not all(n.isdigit() and int(n) > 0 for n in numbers):
        raise ValueError(f"{kind} takes {wanted} positive numbers, as in the manual: {name!r}")
    values = [int(number) for number in numbers]
    return lambda client, seed: function(client, seed, *values)
