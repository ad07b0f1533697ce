"""Which model stands for which release, and the queue orders of the older ones."""

from __future__ import annotations

import pytest

from model.environment import Quiet
from model.policies import POLICIES
from model.request import Request, RequestStatus
from proofs.conform.releases import RELEASES, SkippedFirst, release_of
from proofs.errors import UsageError
from spec.config import Config


@pytest.mark.parametrize(
    ("version", "policy"),
    [
        ("0.25.0", "45237"),
        ("0.27.1", "47464"),
        ("0.28.0", "50342"),
        ("0.29.0", "53962"),
        ("0.33.0", "55126"),
    ],
)
def test_every_release_has_its_policy(version: str, policy: str) -> None:
    assert release_of(version).policy is POLICIES[policy]


@pytest.mark.parametrize("version", ["0.24.0", "0.99.0", "1.0", "latest", "0.33", ""])
def test_nothing_is_guessed(version: str) -> None:
    newest = max(RELEASES)
    with pytest.raises(UsageError, match=rf"illegal; legal: 0\.25\.0 to 0\.{newest}\.x"):
        release_of(version)


class Loading(Quiet):
    """No KV load ever ends."""

    def load_finished(self, request: Request) -> bool:
        return False


def waiting(config: Config) -> SkippedFirst:
    """Two requests wait; the first one's output of an earlier life is still in flight."""
    scheduler = SkippedFirst(config, POLICIES["53962"], Loading())
    for order, name in enumerate("AB"):
        scheduler.add_request(Request(name, 3, 3, 0, order))
    scheduler.waiting[0].num_stale_output_tokens = 1
    return scheduler


def test_a_request_passed_over_goes_first_next_time() -> None:
    scheduler = waiting(Config(max_num_seqs=1))
    output = scheduler.schedule()
    assert [share.request.request_id for share in output.scheduled] == ["B"]
    assert [request.request_id for request in scheduler.kv_holding_waiting] == ["A"]
    late = Request("C", 3, 3, 0, 2)
    scheduler.add_request(late)
    scheduler.finish(scheduler.running[0], RequestStatus.FINISHED_ABORTED)
    scheduler.kv_holding_waiting[0].num_stale_output_tokens = 0
    output = scheduler.schedule()
    assert [share.request.request_id for share in output.scheduled] == ["A"]
    assert scheduler.waiting == [late]


def test_under_priority_the_more_urgent_head_goes_first() -> None:
    scheduler = waiting(Config(max_num_seqs=1, priority_scheduling=True))
    scheduler.schedule()
    scheduler.finish(scheduler.running[0], RequestStatus.FINISHED_ABORTED)
    scheduler.kv_holding_waiting[0].num_stale_output_tokens = 0
    scheduler.add_request(Request("C", 3, 3, -1, 2))
    output = scheduler.schedule()
    assert [share.request.request_id for share in output.scheduled] == ["C"]
