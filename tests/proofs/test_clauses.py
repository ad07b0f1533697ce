"""The inductive clauses against reality: every state a random execution reaches satisfies them.

The bodies start from arbitrary states that satisfy the clauses and a few structural facts.  If a
reachable state did not, the proof would pass over it in silence.
"""

from __future__ import annotations

import random

import pytest

from model.policies import RECOMMENDED
from model.request import Request, RequestStatus
from proofs.clauses import resting_clauses
from proofs.fuzz.draws import Tape
from proofs.fuzz.driver import begin, draw_setup, enter

STEPS = 40
EXECUTIONS = 150


@pytest.mark.parametrize("async_scheduling", [False, True])
def test_reachable_states_satisfy_what_the_bodies_take_for_granted(async_scheduling: bool) -> None:
    seen: set[RequestStatus] = set()
    for index in range(EXECUTIONS):
        tape = Tape(random.Random(1000 + index), num_groups=STEPS + 1)
        tape.next_group()
        execution = begin(tape, draw_setup(tape, async_scheduling), RECOMMENDED)
        while tape.next_group():
            enter(tape, execution)
            assert execution.advance() is None
            for engine in execution.engines:
                scheduler = engine.scheduler
                queues = (scheduler.running, scheduler.waiting, scheduler.kv_holding_waiting)
                for request in (r for queue in queues for r in queue):
                    seen.add(request.status)
                    broken = [
                        name
                        for name, holds in resting_clauses(engine.config, request).items()
                        if not holds
                    ]
                    assert not broken, f"execution {index}: {broken} of {request}"
                    _structural(engine.config.async_scheduling, request)
                assert len(scheduler.running) <= engine.config.max_num_seqs
    assert {RequestStatus.WAITING, RequestStatus.RUNNING, RequestStatus.PREEMPTED} <= seen
    assert RequestStatus.WAITING_FOR_REMOTE_KVS in seen


def _structural(async_scheduling: bool, request: Request) -> None:
    """Facts the harness gives an arbitrary request without a name."""
    assert request.num_output_tokens >= 0 and request.num_blocks >= 0
    if not async_scheduling:
        assert request.num_in_flight_tokens == 0
    if request.status is RequestStatus.WAITING:
        assert not request.is_finished
