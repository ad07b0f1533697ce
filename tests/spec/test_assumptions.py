"""Every assumption excludes exactly what it says: one stronger than that would prove too much."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from examples import CONFIG

from spec.assumptions import ASSUMPTIONS

BATCH = replace(
    CONFIG,
    max_num_seqs=4,
    draft_slots=1,
    max_num_scheduled_tokens=16,  # 4 * (1 + 3)
    max_num_batched_tokens=20,
)
WHOLE = replace(CONFIG, enable_chunked_prefill=False, max_num_scheduled_tokens=32)
DIFFUSION = replace(CONFIG, num_sampled_tokens_per_step=0)

KEPT: dict[str, list[tuple[Any, ...]]] = {
    "legal-config": [
        (CONFIG,),
        (replace(CONFIG, max_num_scheduled_tokens=9, max_num_batched_tokens=9),),
    ],
    "budget-covers-batch": [(BATCH,)],
    "inputs-cover-rows": [(BATCH,)],
    "whole-prompts-fit": [(WHOLE,), (replace(CONFIG, max_num_scheduled_tokens=1),)],
    "prompt-fits": [(CONFIG, 1), (CONFIG, 31)],
    "asks-for-output": [(1,)],
    "hit-leaves-one": [(20, 0), (20, 19)],
    "load-within-request": [(20, 0, 1), (20, 7, 13)],
    "drafts-at-most-k": [(CONFIG, 0), (CONFIG, 3), (DIFFUSION, 3)],
    "runner-samples": [(CONFIG, 3, 1), (CONFIG, 3, 4), (DIFFUSION, 3, 0), (DIFFUSION, 3, 3)],
    "placeholders-rejected": [(True, 0), (False, 2)],
    "output-in-order": [(7, 7), (7, 0)],
    "crash-is-the-end": [(1,)],
}
EXCLUDED: dict[str, list[tuple[Any, ...]]] = {
    "legal-config": [
        (replace(CONFIG, max_num_scheduled_tokens=10, max_num_batched_tokens=9),),
        (replace(CONFIG, max_model_len=0),),
        (replace(CONFIG, num_spec_tokens=-1),),
    ],
    "budget-covers-batch": [
        (replace(BATCH, max_num_scheduled_tokens=15),),
        (replace(BATCH, max_num_batched_tokens=19),),
    ],
    "inputs-cover-rows": [(replace(BATCH, max_num_batched_tokens=19),)],
    "whole-prompts-fit": [(replace(WHOLE, max_num_scheduled_tokens=31),)],
    "prompt-fits": [(CONFIG, 0), (CONFIG, 32)],
    "asks-for-output": [(0,)],
    "hit-leaves-one": [(20, -1), (20, 20)],
    "load-within-request": [(20, 0, 0), (20, 7, 14)],
    "drafts-at-most-k": [(CONFIG, -1), (CONFIG, 4), (DIFFUSION, 2)],
    "runner-samples": [(CONFIG, 3, 0), (CONFIG, 3, 5), (DIFFUSION, 3, 4), (DIFFUSION, 3, -1)],
    "placeholders-rejected": [(True, 1)],
    "output-in-order": [(7, 8)],
    "crash-is-the-end": [(0,)],
}


def test_every_assumption_has_examples() -> None:
    ids = [assumption.id for assumption in ASSUMPTIONS]
    assert sorted(ids) == sorted(KEPT) == sorted(EXCLUDED)


@pytest.mark.parametrize("assumption", ASSUMPTIONS, ids=lambda assumption: assumption.id)
def test_an_assumption_excludes_what_it_says_and_no_more(assumption: Any) -> None:
    for arguments in KEPT[assumption.id]:
        assert assumption.condition(*arguments), f"{assumption.id} excludes {arguments}"
    for arguments in EXCLUDED[assumption.id]:
        assert not assumption.condition(*arguments), f"{assumption.id} admits {arguments}"
