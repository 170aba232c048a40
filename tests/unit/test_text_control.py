"""Finding control tokens' texts, and picking those that become tokens."""

from app.text.control import ControlToken, ControlTokens, Match

TOKENS = ControlTokens(
    [
        ControlToken(1, "<|im_start|>"),
        ControlToken(2, "<|im_end|>"),
        ControlToken(3, "<s>"),
        ControlToken(4, "s><"),
        ControlToken(5, "<end>", eats_left=True, eats_right=True),
        ControlToken(6, "\n"),
    ]
)


def anywhere(start: int, end: int) -> bool:
    return True


def test_every_occurrence_is_found_overlapping_ones_too() -> None:
    found = [(start, token.id) for start, token in TOKENS.occurrences("a<s><s>")]
    assert found == [(1, 3), (2, 4), (4, 3)]


def test_a_first_character_that_begins_nothing_hides_none_behind_it() -> None:
    found = [(start, token.id) for start, token in TOKENS.occurrences("<<<s><x<|im_end|><")]
    assert found == [(2, 3), (3, 4), (7, 2)]


def test_the_first_of_two_overlapping_ones_of_equal_length_is_picked() -> None:
    assert TOKENS.pick("<s><s>", anywhere) == [Match(0, 3, 3), Match(3, 6, 3)]


def test_the_longest_text_is_picked_first() -> None:
    tokens = ControlTokens([ControlToken(1, "<a>"), ControlToken(2, "<a><b>")])
    assert tokens.pick("<a><a><b>", anywhere) == [Match(0, 3, 1), Match(3, 9, 2)]


def test_what_is_not_allowed_is_not_picked() -> None:
    picked = TOKENS.pick("<|im_end|><|im_end|>", lambda start, end: start > 0)
    assert picked == [Match(10, 20, 2)]


def test_white_space_that_a_token_eats_is_within_its_match() -> None:
    assert TOKENS.pick("a \n<end>\t b", anywhere) == [Match(1, 10, 5)]


def test_a_single_character_is_text() -> None:
    assert "\n" not in TOKENS
    assert TOKENS.pick("\n", anywhere) == []


def test_tokens_are_known_by_their_text() -> None:
    assert (TOKENS.id("<s>"), TOKENS.id("<x>")) == (3, None)
    assert list(ControlTokens([]).occurrences("<s>")) == []


def test_what_could_become_a_control_token_with_its_neighbours_is_known() -> None:
    tokens = ControlTokens([ControlToken(1, "<|end|>"), ControlToken(2, "<x>")])
    assert tokens.completed_by("end") == (True, True)
    assert tokens.completed_by("a <|") == (False, True)
    assert tokens.completed_by("|> a") == (True, False)
    assert tokens.completed_by("a <") == (False, True)
    assert tokens.completed_by("> or <") == (True, True)
    for text in ("", "other", "a <|end|> b", "<x>y"):
        assert tokens.completed_by(text) == (False, False)
