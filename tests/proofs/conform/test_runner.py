"""The runner shim beside the runner: the comparison itself, and the runner where there is one."""

from __future__ import annotations

import json
from typing import Any

import pytest

from proofs.cli import main
from proofs.conform.engine import Installation
from proofs.conform.runner import compare
from spec.config import Config

CONFIG = Config(
    max_model_len=96,
    num_spec_tokens=3,
    max_num_scheduled_tokens=256,
    max_num_batched_tokens=256,
    max_num_seqs=5,
    block_size=32,
    num_gpu_blocks=15,
)
LAYOUT: dict[str, Any] = {
    "kind": "layout",
    "rows": [4, 100, 3, 100, 2],
    "drafts": [3, 0, 2, 0, 1],
    "drafted": {
        "cu_num_draft_tokens": [3, 3, 5, 5, 6],
        "cu_num_sampled_tokens": [4, 5, 8, 9, 11],
        "logits_indices": [0, 1, 2, 3, 103, 104, 105, 106, 206, 207, 208],
        "target_logits_indices": [0, 1, 2, 5, 6, 9],
        "bonus_logits_indices": [3, 4, 7, 8, 10],
    },
}
BATCH: dict[str, Any] = {
    "kind": "batch",
    "rows": [2, 1],
    "drafts": [1, 0],
    "computed": [31, 5],
    "blocks": [[4, 7, 0], [2, 0, 0]],
    "req_indices": [0, 0, 1],
    "query_pos": [0, 1, 0],
    "positions": [31, 32, 5],
    "slot_mapping": [4 * 32 + 31, 7 * 32, 2 * 32 + 5],
    "drafted": {
        "cu_num_draft_tokens": [1, 1],
        "cu_num_sampled_tokens": [2, 3],
        "logits_indices": [0, 1, 2],
        "target_logits_indices": [0],
        "bonus_logits_indices": [1, 2],
    },
}
DISPATCH: dict[str, Any] = {
    "kind": "dispatch",
    "drafts": 3,
    "seqs": 4,
    "sizes": [4, 16],
    "group": [[4, 4, 4], [4], [1]],
    "settled": [["PIECEWISE", 16]] * 3,
}
STATES: list[dict[str, Any]] = [
    {"finished": [], "preempted": [], "rows": [[0, 9, 0], [1, 9, 0]], "placed": [0, 1]},
    {"finished": [], "preempted": [1], "rows": [[0, 1, 0]], "placed": [0]},
    {
        "finished": [],
        "preempted": [],
        "rows": [[0, 1, 0], [1, 9, 0], [2, 5, 0]],
        "placed": [0, 2, 1],
    },
]


def text(*lines: dict[str, Any]) -> list[str]:
    return ["noise", *(f"told {json.dumps(line)}" for line in lines), 'told {"kind": "end"}']


def test_what_is_the_same_is_counted() -> None:
    states = [{"kind": "states", "batch": s["placed"], **s} for s in STATES]
    compared = compare(CONFIG, text(LAYOUT, BATCH, DISPATCH, *states))
    assert compared is not None
    assert compared.unlike == []
    assert compared.numbers["slot mapping"] == 3
    assert compared.numbers["logits_indices"] == 14
    assert compared.numbers["request in each row"] == 6


@pytest.mark.parametrize(
    ("line", "field", "value"),
    [
        (BATCH, "slot_mapping", [159, 224, 70]),
        (BATCH, "positions", [31, 32, 6]),
        (DISPATCH, "settled", [["FULL", 16]] * 3),
        (LAYOUT, "rows", [4, 100, 3, 100, 3]),
    ],
)
def test_one_number_off_is_seen(line: dict[str, Any], field: str, value: Any) -> None:
    compared = compare(CONFIG, text(line | {field: value}))
    assert compared is not None
    assert len(compared.unlike) >= 1


def test_an_engine_that_ended_early_compares_nothing() -> None:
    assert compare(CONFIG, text(LAYOUT)[:-1]) is None


@pytest.mark.engine
def test_the_released_runner(
    released: tuple[Installation, str], capsys: pytest.CaptureFixture[str]
) -> None:
    installation, version = released
    asked = ["--vllm", version, "--python", installation.python, "--steps", "60"]
    assert main(["conform", *asked, "--runner"]) == 0, capsys.readouterr().out
