"""Sources checked in a row come out as each alone, whatever one of them does."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from hostile import AT_RUN_TIME, WITHOUT_END
from mini import OVERFLOWING_PAD, texts

from proofs.source.check import check_source
from proofs.source.errors import SourceError
from proofs.source.sandbox import Job, Limit, Relay
from proofs.source.verdicts import SourceReport
from proofs.verdict import MODES, SYNC, UNDECIDED

LIMIT = Limit(cpu_seconds=2, wall_seconds=30, memory_bytes=1 << 30)
HOSTILE = next(iter(AT_RUN_TIME))
ENDLESS = next(iter(WITHOUT_END))


def relayed(*jobs: Job, limit: Limit | None = None, at_once: int = 1) -> list[SourceReport]:
    """The reports of jobs, in the order of the jobs."""
    with Relay(jobs, limit, at_once) as relay:
        found = dict(relay)
    assert sorted(found) == list(range(len(jobs)))
    reports = [found[number] for number in range(len(jobs))]
    for report in reports:
        assert isinstance(report, SourceReport), report
    return reports  # type: ignore[return-value]


def verdicts(report: SourceReport) -> list[tuple[str, str, str, int | None]]:
    """What a report says of each invariant."""
    return [(f.invariant, f.mode, f.verdict, f.line) for f in report.findings]


def test_the_second_of_two_that_are_alike_asks_next_to_nothing() -> None:
    first, again = relayed(Job(texts(), "one", modes=(SYNC,)), Job(texts(), "two", modes=(SYNC,)))
    assert again.statistics.queries < first.statistics.queries / 4
    assert again.statistics.paths == first.statistics.paths
    assert verdicts(again) == verdicts(first) == verdicts(check_source(texts(), "", modes=[SYNC]))


def test_a_good_one_does_not_help_a_bad_one_nor_a_bad_one_harm_a_good_one() -> None:
    good, bad = texts(), texts(OVERFLOWING_PAD)
    jobs = [Job(given, "given", modes=(SYNC,)) for given in (good, bad, good, bad)]
    alone = [verdicts(check_source(given, "given", modes=[SYNC])) for given in (good, bad)]
    assert [verdicts(report) for report in relayed(*jobs)] == alone * 2
    assert [verdicts(report) for report in relayed(*jobs, at_once=3)] == alone * 2


def test_both_modes_may_be_one_job() -> None:
    (report,) = relayed(Job(texts(), "mini", modes=MODES))
    assert verdicts(report) == verdicts(check_source(texts(), "mini"))


def test_what_becomes_of_one_is_its_own_affair() -> None:
    given = (texts(**AT_RUN_TIME[HOSTILE]), texts(**WITHOUT_END[ENDLESS]), texts())
    jobs = [Job(one, "given", modes=(SYNC,)) for one in given]
    caught, endless, good = relayed(*jobs, limit=LIMIT)
    assert caught.rejected.startswith("rejected: ")
    assert {f.reason for f in endless.findings} == {
        "the check used more than 2 s of processor time"
    }
    assert {f.verdict for f in endless.findings} == {UNDECIDED}
    assert verdicts(good) == verdicts(check_source(texts(), "", modes=[SYNC]))


def test_one_that_takes_too_long_is_stopped() -> None:
    job = Job(texts(**WITHOUT_END[ENDLESS]), "slow", modes=(SYNC,))
    slow, good = relayed(job, Job(texts(), "mini", modes=(SYNC,)), limit=Limit(60, 3.0))
    assert {f.reason for f in slow.findings} == {"the check did not finish within 3 s"}
    assert UNDECIDED not in {f.verdict for f in good.findings}


def test_what_is_no_scheduler_is_said_so() -> None:
    with Relay([Job((), "nothing", modes=(SYNC,)), Job(texts(), "mini", modes=(SYNC,))]) as relay:
        found = dict(relay)
    assert isinstance(found[0], SourceError) and isinstance(found[1], SourceReport)


def test_a_relay_that_is_left_stops_its_children() -> None:
    job = Job(texts(**WITHOUT_END[ENDLESS]), "slow", modes=(SYNC,))
    with Relay([job]) as relay:
        process = relay._child
    assert process.returncode is not None and process.returncode < 0
