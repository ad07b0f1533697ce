"""Illegal configurations are refused by name, value and legal range."""

from __future__ import annotations

from dataclasses import fields

import pytest

from spec.config import FLAGS, KNOBS, Config, ConfigError, coupled_ranges, in_range


@pytest.mark.parametrize(
    ("knobs", "told"),
    [
        ({"max_model_len": 1}, "max_model_len = 1 is illegal; legal: >= 2 tokens"),
        ({"num_spec_tokens": -1}, "num_spec_tokens = -1 is illegal; legal: >= 0 tokens"),
        (
            {"num_sampled_tokens_per_step": 2},
            "num_sampled_tokens_per_step = 2 is illegal; legal: 0 to 1 tokens",
        ),
        ({"max_num_seqs": 0}, "max_num_seqs = 0 is illegal; legal: >= 1 requests"),
        ({"block_size": 2.5}, "block_size = 2.5 is not a whole number of tokens"),
        ({"block_size": True}, "block_size = True is not a whole number of tokens"),
        ({"num_gpu_blocks": "many"}, "num_gpu_blocks = 'many' is not a whole number of blocks"),
        ({"mamba_align": 1}, "mamba_align = 1 is illegal; legal: true or false"),
        ({"max_model_length": 8}, "unknown knob 'max_model_length'; legal: async_scheduling"),
        (
            {"max_num_scheduled_tokens": 65},
            "max_num_scheduled_tokens must not exceed max_num_batched_tokens",
        ),
        ({"draft_slots": 64}, "draft_slots must leave room for one token"),
        (
            {"num_sampled_tokens_per_step": 0, "num_spec_tokens": 0},
            "needs a canvas: num_spec_tokens >= 1",
        ),
    ],
)
def test_an_illegal_configuration_is_refused_in_one_sentence(
    knobs: dict[str, object], told: str
) -> None:
    with pytest.raises(ConfigError) as refused:
        Config.checked(**knobs)
    assert told in str(refused.value)
    assert "\n" not in str(refused.value)


def test_the_default_configuration_is_legal() -> None:
    config = Config.checked()
    assert in_range(config)
    assert all(holds for holds, _ in coupled_ranges(config).values())


def test_every_field_is_a_documented_knob_or_flag() -> None:
    documented = [knob.name for knob in KNOBS] + list(FLAGS)
    assert sorted(documented) == sorted(field.name for field in fields(Config))
    assert len({knob.symbol for knob in KNOBS}) == len(KNOBS)


@pytest.mark.parametrize("knob", KNOBS, ids=lambda knob: str(knob.name))
def test_the_range_of_every_knob_is_enforced(knob: object) -> None:
    name, low = knob.name, knob.low  # type: ignore[attr-defined]
    with pytest.raises(ConfigError, match=f"{name} = {low - 1} is illegal"):
        Config.checked(**{name: low - 1})
