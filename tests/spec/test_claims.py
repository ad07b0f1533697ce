"""A claim on integers: truth, waivers, and the sentence a report prints."""

from __future__ import annotations

import pytest

from spec.claims import NEGATED, RELATIONS, Claim


def test_the_sentence_of_a_broken_claim_shows_every_number() -> None:
    claim = Claim(
        {"num_computed_tokens": 31, "num_scheduled_tokens": 2, "s": 1}, "<=", {"max_model_len": 33}
    )
    assert not claim.holds
    assert claim.sentence() == "31 + 2 + 1 = 34 > 33 = max_model_len"
    assert claim.terms() == "num_computed_tokens + num_scheduled_tokens + s <= max_model_len"


@pytest.mark.parametrize(
    ("left", "relation", "right", "sentence"),
    [
        ({"n": -1}, ">=", {"1": 1}, "n = -1 < 1"),
        ({"n": 1}, "==", {"1": 1, "K": 3}, "n = 1 != 4 = 1 + 3"),
        ({"drafts": 4}, "==", {"n": 2, "-s": -1}, "drafts = 4 != 1 = 2 + (-1)"),
    ],
)
def test_single_terms_and_negative_ones_read_well(
    left: dict[str, int], relation: str, right: dict[str, int], sentence: str
) -> None:
    assert Claim(left, relation, right).sentence() == sentence


@pytest.mark.parametrize(
    ("relation", "truth"), [("<=", 1), ("<", 0), (">=", 1), (">", 0), ("==", 1)]
)
def test_relations_compare_the_sums(relation: str, truth: int) -> None:
    assert Claim({"a": 2, "b": 3}, relation, {"c": 5}).holds is bool(truth)


def test_a_claim_holds_where_it_does_not_apply_or_is_waived() -> None:
    broken = Claim({"a": 1}, "==", {"b": 2})
    assert not broken.holds
    assert Claim({"a": 1}, "==", {"b": 2}, when=False).holds
    waived = Claim({"a": 1}, "==", {"b": 2}, waivers={"one": False, "other": True})
    assert waived.holds
    assert not waived.unless_waived, "the prover judges waivers itself"
    assert not Claim({"a": 1}, "==", {"b": 2}, waivers={"one": False}).holds


def test_every_relation_can_be_negated() -> None:
    assert RELATIONS.keys() == NEGATED.keys()
