"""Answers in a form on real models with random weights, which obey nothing by themselves."""

import ctypes
import json
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from app.engine.constraint import Constraint
from app.engine.lexicon import Lexicon
from app.grammar.model import Grammar
from app.sampling import Sampling
from app.text.vocabulary import LlamaVocabulary
from app.wire import FinishReason, Submit
from tests import tiny_models
from tests.engine.conftest import MakeRig, Rig
from tests.grammars import gbnf, schema
from tests.json_schema import valid
from tests.tiny_text import CONTROL, byte_tokens

PROMPT = tuple(range(20, 40))
GREEDY = Sampling(temperature=0)
HOT = Sampling(temperature=3.0, top_k=0, top_p=1, min_p=0, seed=3)
PENALISED = Sampling(temperature=1.5, repeat_penalty=1.3, presence_penalty=0.5, seed=8)
RECORD: dict[str, Any] = {
    "type": "object",
    "properties": {
        "name": {"type": "string", "minLength": 1, "maxLength": 12},
        "when": {"type": "string", "format": "date-time"},
        "tags": {"type": "array", "items": {"type": "string", "maxLength": 4}, "maxItems": 3},
        "size": {"type": "number", "minimum": 0, "maximum": 1},
        "kind": {"enum": ["one", 2, None]},
    },
    "required": ["name", "tags", "size"],
}
ANYTHING = Grammar(rules=(((~0, 0), ()),), classes=(((0, 255),),))


@pytest.fixture(scope="module")
def speakers(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("speakers")
    kinds = ("attention", "recurrent")
    return {kind: tiny_models.talker(folder / f"{kind}.gguf", kind, ends=True) for kind in kinds}


@pytest.fixture
def rig(speakers: dict[str, Path], make_rig: MakeRig) -> Rig:
    return make_rig(speakers["attention"])


def written(
    rig: Rig, grammar: Grammar | None, sampling: Sampling, limit: int = 400
) -> tuple[bytes, FinishReason]:
    number = len(rig.steps) + 1
    rig.engine.submit(Submit(number, PROMPT, sampling, max_tokens=limit, grammar=grammar))
    rig.run()
    (end,) = (end for step in rig.steps for end in step.finished if end.request_id == number)
    return b"".join(map(rig.backend.piece, rig.tokens(number))), end.reason


@pytest.mark.parametrize("kind", ["attention", "recurrent"])
@pytest.mark.parametrize("sampling", [GREEDY, HOT, PENALISED], ids=["greedy", "hot", "penalised"])
def test_a_model_without_any_sense_writes_valid_json(
    kind: str, sampling: Sampling, speakers: dict[str, Path], make_rig: MakeRig
) -> None:
    text, reason = written(make_rig(speakers[kind]), schema(RECORD), sampling)
    assert reason is FinishReason.STOP
    assert valid(json.loads(text), RECORD), text


def test_what_is_allowed_is_chosen_as_without_a_grammar(rig: Rig) -> None:
    written(rig, None, GREEDY, 1)  # from now on the prompt is in the pool
    for sampling in (GREEDY, HOT, PENALISED):
        assert written(rig, ANYTHING, sampling, 60) == written(rig, None, sampling, 60)


def test_an_answer_goes_on_as_if_it_had_never_been_cut(rig: Rig) -> None:
    grammar = schema(RECORD)
    written(rig, None, GREEDY, 1)
    for sampling in (GREEDY, PENALISED):
        number = len(rig.steps) + 1
        rig.engine.submit(Submit(number, PROMPT, sampling, max_tokens=400, grammar=grammar))
        rig.run()
        tokens = rig.tokens(number)
        cut = len(tokens) // 2
        again = len(rig.steps) + 1
        cut_prompt = (*PROMPT, *tokens[:cut])
        rig.engine.submit(
            Submit(again, cut_prompt, sampling, max_tokens=400, grammar=grammar, written=cut)
        )
        rig.run()
        assert tokens[:cut] + rig.tokens(again) == tokens


def test_a_neighbour_with_a_grammar_changes_no_bit(
    speakers: dict[str, Path], make_rig: MakeRig
) -> None:
    """The watched answer's logits at every step, with a neighbour that is free and with one that is not."""

    def logits(neighbour: Grammar | None) -> tuple[list[npt.NDArray[np.float32]], list[int]]:
        rig = make_rig(speakers["attention"])
        rig.engine.submit(Submit(1, PROMPT, HOT, max_tokens=25, ignore_eos=True))
        ignore = neighbour is None
        other = Submit(2, (*PROMPT, 9), HOT, max_tokens=25, ignore_eos=ignore, grammar=neighbour)
        rig.engine.submit(other)
        seen = []
        while any(sequence.id == 1 for sequence in rig.engine._sequences.values()):
            step = rig.step()
            if any(out.request_id == 1 for out in step.tokens):
                seen.append(rig.backend.logits_of(0))
        rig.run()
        assert len(rig.tokens(2)) == 25
        return seen, rig.tokens(1)

    free, free_tokens = logits(None)
    bound, bound_tokens = logits(gbnf('root ::= ("a" | "," | "7"){30} "."'))
    assert free_tokens == bound_tokens
    assert len(free) == len(bound) == 25
    assert all(np.array_equal(one, other) for one, other in zip(free, bound, strict=True))


GRAMMARS = [
    'root ::= "he" [l-n]+ ("o" | " ing")*',
    'root ::= ("a" | "ab" | [a-c] "d")* "."',
    'root ::= item ("," item)* "\\n"\nitem ::= [0-9]{1,3} | "(" root ")"',
    "root ::= [^a-z]* [a-z]?",
    'root ::= "hello" | "hell" | "he" . .',
    'root ::= "x"{2,4} "y"* | ""',
]


@pytest.mark.parametrize("source", GRAMMARS)
def test_the_same_tokens_are_allowed_as_llama_cpp_allows(
    source: str, speakers: dict[str, Path], api: Any
) -> None:
    """Token by token, along texts written by chance; of tokens that are ASCII, for half characters we know better."""
    vocabulary = LlamaVocabulary(speakers["attention"])
    pieces = [vocabulary.vocabulary.piece(token) for token in range(vocabulary.size)]
    compared = [
        token for token, piece in enumerate(pieces) if piece.isascii() and piece.strip(b"\0")
    ]
    compared += vocabulary.end_tokens
    ends = frozenset(vocabulary.end_tokens)
    lexicon = Lexicon(pieces.__getitem__, vocabulary.size)
    for seed in range(3):
        random = np.random.default_rng(seed)
        ours = Constraint(gbnf(source), lexicon, ends)
        theirs = api.llama_sampler_init_grammar(vocabulary._vocab, source.encode(), b"root")
        assert theirs
        for _ in range(25):
            allowed = ours.allowed(compared)
            assert sorted(allowed) == sorted(_allowed(api, theirs, compared))
            going_on = [token for token in allowed if token not in ends]
            if not going_on:
                break
            token = int(random.choice(going_on))
            assert ours.take(token)
            api.llama_sampler_accept(theirs, token)
        api.llama_sampler_free(theirs)
    vocabulary.close()


def _allowed(api: Any, sampler: Any, tokens: list[int]) -> list[int]:
    data = (api.llama_token_data * len(tokens))(
        *(api.llama_token_data(token, 0.0, 0.0) for token in tokens)
    )
    array = api.llama_token_data_array(data, len(tokens), -1, False)
    api.llama_sampler_apply(sampler, ctypes.byref(array))
    return [one.id for one in data if one.logit == 0.0]


def test_no_control_token_is_allowed_for_its_text(speakers: dict[str, Path]) -> None:
    vocabulary = LlamaVocabulary(speakers["attention"])
    grammar = gbnf('root ::= "<|im_start|>"+')
    ours = Constraint(grammar, Lexicon(vocabulary.vocabulary.piece, vocabulary.size), frozenset())
    names = byte_tokens()
    assert not set(ours.allowed(range(vocabulary.size))) & {names.index(name) for name in CONTROL}
    assert names.index("<") in ours.allowed(range(vocabulary.size))
    vocabulary.close()
