"""What makes a prefill and what excuses a step, each on both sides of its boundary."""

from __future__ import annotations

from dataclasses import dataclass, replace

import pytest

from spec.config import Config
from spec.excuses import admits_prefill, ends_in_flight, waits_for_output

CONFIG = Config.checked(max_model_len=32, num_spec_tokens=3)
DIFFUSION = replace(CONFIG, num_sampled_tokens_per_step=0)


@dataclass(frozen=True)
class Counters:
    """A decode: 10 prompt tokens, 10 generated, of at most 16, one step of 1 + 3 rows in flight."""

    num_prompt_tokens: int = 10
    max_tokens: int = 16
    num_tokens: int = 20
    num_computed_tokens: int = 23
    num_output_placeholders: int = 4


DECODE = Counters()
IDLE = replace(DECODE, num_computed_tokens=19, num_output_placeholders=0)


@pytest.mark.parametrize(
    ("config", "computed", "prefill"),
    [
        (CONFIG, 19, False),
        (CONFIG, 18, True),
        (CONFIG, 0, True),
        (DIFFUSION, 19, True),
    ],
)
def test_one_token_left_of_a_request_with_kv_is_a_decode(
    config: Config, computed: int, prefill: bool
) -> None:
    assert admits_prefill(config, 20, computed) == prefill
    assert admits_prefill(config, 1, 0), "nothing of it is computed: no decode, one token or not"


@pytest.mark.parametrize(
    ("config", "request_", "waits"),
    [
        (CONFIG, DECODE, False),
        (CONFIG, IDLE, False),
        (CONFIG, replace(DECODE, num_tokens=28, num_computed_tokens=31, max_tokens=22), True),
        (CONFIG, replace(DECODE, num_tokens=27, num_computed_tokens=30, max_tokens=22), False),
        (CONFIG, replace(IDLE, num_tokens=32, num_computed_tokens=31, max_tokens=30), False),
        (DIFFUSION, DECODE, True),
        (DIFFUSION, replace(DECODE, num_output_placeholders=1), True),
        (DIFFUSION, IDLE, False),
        (CONFIG, replace(DECODE, num_tokens=25), True),
        (CONFIG, replace(IDLE, num_tokens=25), False),
    ],
    ids=[
        "a decode goes on beside rows in flight",
        "and without any",
        "no position is left before output is back",
        "one position is left",
        "no position is left, and nothing can come back",
        "a canvas is being refined",
        "by a single row",
        "a canvas is there to refine",
        "the last token is in flight",
        "the last token is not in flight",
    ],
)
def test_a_running_request_waits_for_output_that_is_in_flight(
    config: Config, request_: Counters, waits: bool
) -> None:
    assert waits_for_output(config, request_) == waits


def test_rows_in_flight_end_a_request_that_lacks_one_token() -> None:
    assert ends_in_flight(replace(DECODE, num_tokens=25))
    assert not ends_in_flight(replace(DECODE, num_tokens=24))
    assert not ends_in_flight(replace(IDLE, num_tokens=25))
    one_row = replace(DECODE, num_tokens=25, num_computed_tokens=25, num_output_placeholders=1)
    assert ends_in_flight(one_row)
