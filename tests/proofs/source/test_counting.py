"""A text that counts further than a proof does is undecided, with its line."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from mini import texts

from proofs.source.check import check_source
from proofs.source.loader import load
from proofs.source.profile import profile_for
from proofs.source.runs.harness import Harness
from proofs.source.runs.scenarios import shapes
from proofs.source.runs.shapes import Shape
from proofs.source.verdicts import SourceReport
from proofs.symbolic import Context, Exploration, Limits
from proofs.symbolic.counts import MOST
from proofs.verdict import SYNC, UNDECIDED


def _checked(schedule: str, init: str = "pass") -> SourceReport:
    return check_source(texts(schedule=schedule, init=init), "mini", modes=[SYNC])


@pytest.mark.parametrize(
    ("schedule", "init"),
    [
        ("assert not len(self.running) > 8", "pass"),
        ("assert not len(self.running) > self.most", "self.most = 8"),
        ("assert not 8 <= len(self.running) <= 9", "pass"),
        ("assert len(self.running) != 8", "pass"),
        ("assert len(self.running) not in (8, 9)", "pass"),
        ("assert not len(self.running) >= 4", "pass"),
        ("for _ in range(16):\n            break", "pass"),
        ("assert not len(self.running) - 8 >= 0", "pass"),
        ("assert not len(self.running) // 8", "pass"),
        ("assert not len(self.running) >> 3 >> 4", "pass"),
        ("assert len(self.running) % 8 == len(self.running)", "pass"),
        ("assert min(len(self.running), 8) == len(self.running)", "pass"),
        ("assert len(self.running[:8]) == len(self.running)", "pass"),
        ("assert all(n != len(self.running) for n in range(8, 9))", "pass"),
        ("assert sum(1 for r in self.running) < 8", "pass"),
        ("for at, r in enumerate(self.running):\n            assert at != 8", "pass"),
        ("assert not len(self.running) > 3", "pass"),
        ("assert len(self.running) != 3", "pass"),
        ("assert not len(self.running) * 4 > 8", "pass"),
        ("assert not len(self.running) + 1 > 4", "pass"),
        ("assert not len(self.running) - 1 - 1 - 1 > 0", "pass"),
        ("assert not len(self.running) > self.num_spec_tokens + 8", "pass"),
        ("assert not len(self.running) + len(self.requests) > 8", "pass"),
        ("assert not max(len(self.running), 3) > 3", "pass"),
        ("assert (0, 1, 2, 3, 3)[min(len(self.running), 4)] == len(self.running)", "pass"),
        ("assert not (0, 0, 0, 0, 1)[len(self.running)]", "pass"),
        ("assert not {4: 1}.get(len(self.running))", "pass"),
        ("assert not len(self.running) in {4, 5}", "pass"),
        ("assert not self.running[3:]", "pass"),
        ("assert not self.running[-1:-4:-1][3:]", "pass"),
        ("assert not [1] * len(self.running) > [1, 1, 1, 1]", "pass"),
        ("assert [0] * 16 != [0] * len(self.running)", "pass"),
        ("n = 0\n        for r in self.running:\n            n += 1\n        assert n < 3", "pass"),
        ("n = 3\n        for r in self.running:\n            n -= 1\n        assert n", "pass"),
        ("n = 3\n        for r in self.running:\n            n = n - 1\n        assert n", "pass"),
        (
            "n = 0\n        while n < len(self.running):\n            n += 1\n        assert n < 3",
            "pass",
        ),
        (
            "n = 0\n        for r in self.running:\n            if r.num_tokens > 4:\n"
            "                n += 1\n        assert n < 4",
            "pass",
        ),
        ("assert sum(r.num_tokens > 4 for r in self.running) < 4", "pass"),
        ("assert sum([1 for r in self.running]) < 4", "pass"),
        (
            "n = 0\n        for r in self.running:\n            n = 1 + n\n        assert n < 3",
            "pass",
        ),
        (
            "n, k = 0, 1\n        for r in self.running:\n"
            "            n = n + k\n        assert n < 3",
            "pass",
        ),
        ("n = 16\n        for r in self.running:\n            n -= 4\n        assert n", "pass"),
        ("assert not self.running or 3 // len(self.running)", "pass"),
        ("assert len(self.running) < 1 or self.max_model_len // len(self.running) > -1", "pass"),
        ("assert [r.request_id for r in self.running].count('x') < 3", "pass"),
        ("assert all(i < 3 for i in range(len(self.running)))", "pass"),
        ("for i, _ in enumerate(self.running, start=1):\n            assert i < 4", "pass"),
        (
            "seen = {'x': 0}\n        for r in self.running:\n            seen['x'] += 1\n"
            "        assert seen['x'] < 3",
            "pass",
        ),
    ],
)
def test_what_counts_further_than_a_run_is_undecided(schedule: str, init: str) -> None:
    report = _checked(schedule, init)
    verdicts = {finding.verdict for finding in report.findings}
    assert UNDECIDED in verdicts, "a proof about three requests said nothing of eight"
    reasons = {finding.reason for finding in report.findings}
    said = ("counts up to", "looks a count up", "of the symbolic integer")
    assert any(words in reason for reason in reasons for words in said), reasons


LOGGER = "from vllm.logger import init_logger\nlogger = init_logger(__name__)"


@pytest.mark.parametrize(
    "schedule",
    [
        "if len(self.running) > 100:\n            logger.warning('many: %d', len(self.running))",
        "logger.debug('%s', [r.request_id for r in self.running[:10]])",
        "logger.debug('load %s', 'high' if len(self.running) > 64 else 'low')",
        "room = min(len(self.running), self.max_model_len)",
        "for attempt in range(3):\n            pass",
    ],
)
def test_what_only_a_logger_learns_is_not_asked(schedule: str) -> None:
    report = check_source(texts(imports=LOGGER, schedule=schedule), "mini", modes=[SYNC])
    assert not [finding.reason for finding in report.findings if finding.verdict == UNDECIDED]


def test_a_logger_of_its_own_is_asked() -> None:
    imports = "class L:\n    def debug(self, n):\n        assert n < 8\nlogger = L()"
    report = check_source(
        texts(imports=imports, schedule="logger.debug(len(self.running))"), "mini", modes=[SYNC]
    )
    assert UNDECIDED in {finding.verdict for finding in report.findings}


@pytest.mark.parametrize(
    ("imports", "schedule"),
    [
        ("import math", "assert math.floor(len(self.running) / 4) < 1"),
        ("import math", "assert not int(len(self.running) * 0.25)"),
        ("import math", "assert len(self.running).bit_length() < 3"),
        ("import math", "assert divmod(len(self.running), 4)[0] == 0"),
        ("import math", "assert not len(self.running) & 4"),
        ("import math", "assert not len(self.running) > 3.5"),
        ("import math", "assert not math.sqrt(len(self.running)) > 2"),
        ("from itertools import islice", "assert not list(islice(self.running, 3, None))"),
        ("from collections import deque", "assert len(deque(self.running, maxlen=3)) < 3"),
        ("from bisect import bisect", "assert bisect([3, 4], len(self.running)) == 0"),
        ("from functools import reduce", "assert reduce(lambda n, r: n + 1, self.running, 0) < 3"),
        ("from itertools import count", "assert all(n < 3 for n, _ in zip(count(), self.running))"),
        (
            "from itertools import accumulate",
            "assert [*accumulate([1 for r in self.running])][-1:] != [3]",
        ),
        ("import operator", "assert not operator.gt(len(self.running), 3)"),
    ],
)
def test_no_way_to_count_further_is_decided(imports: str, schedule: str) -> None:
    report = check_source(texts(imports=imports, schedule=schedule), "mini", modes=[SYNC])
    verdicts = {finding.verdict for finding in report.findings}
    assert UNDECIDED in verdicts, (report.rejected, "a proof about three requests said so of four")


def test_a_long_queue_is_not_walked() -> None:
    report = _checked("assert all(r.num_tokens < 9 for r in self.waiting)")
    assert any("walks a queue" in finding.reason for finding in report.findings), report


@pytest.mark.parametrize(
    "schedule",
    [
        "seats = len(self.running) < self.max_model_len",
        "alone = len(self.running) > 1",
        "long = any(r.num_tokens > 4096 for r in self.running)",
        "many = len(self.waiting) > 8",
        "part = self.max_model_len // 8 > 512",
        "few = len(self.running) in (0, 1)",
    ],
)
def test_what_a_run_knows_is_decided(schedule: str) -> None:
    report = _checked(schedule)
    assert not [finding.reason for finding in report.findings if finding.verdict == UNDECIDED]


def test_a_run_has_as_many_requests_as_may_be_counted() -> None:
    loaded = load(texts(), profile_for(None))
    most = 0
    for shape in shapes(False, loaded.mentioned):
        built: list[Harness] = []

        def run(context: Context, shape: Shape = shape, built: list[Harness] = built) -> None:
            built.append(Harness(loaded, context, shape.features, None))
            shape.begin(built[-1])

        with Exploration(run, Limits(paths=1)) as exploration:
            assert [path.error for path in exploration] == [None]
        most = max(most, len(built[0].everyone))
    assert most == MOST
