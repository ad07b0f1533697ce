"""From the lines of a recording to the records of ``spec.records``.

Every number in a record was recorded, or is a difference of two recorded ones; only *what a
request was looked at with* (budgets left, what got rows before it) is added up from the rows of
the step, in the order the scheduler gave them out.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from proofs.recorder import lines
from proofs.recorder.known import ABORTED, CAPPED, STOPPED, Known, Story
from proofs.recorder.looks import Looks
from spec.config import Config
from spec.records import Booking, PoolState, RequestState, StepTotals


class Facts:
    """What the lines of one recording say, as records.

    Args:
        header: the first line.
    """

    def __init__(self, header: lines.Line) -> None:
        self.config = Config.checked(**header["config"])
        self.minor = int(header["engine"].split(".")[1])
        self.story = Story()

    def take(self, line: lines.Line) -> Iterator[Any]:
        """The records of one more line; whether the scheduler raised is a plain bool.

        Raises:
            Unfounded: the line speaks of a request that has not arrived.
        """
        kind, story = line["kind"], self.story
        if kind == lines.SNAPSHOT:
            story.restart(line)
            story.update(line)
            yield from self._states(story.requests)
        elif kind == lines.ADD:
            known = Known(*line["request"])
            story.requests[known.request] = known
            story.update(line)
            yield self._state(known)
        elif kind == lines.SCHEDULE:
            yield from self._scheduled(line)
        elif kind == lines.BOOK:
            yield from self._booked(line)
        elif kind == lines.DRAFT:
            for request, drafts in line["drafts"]:
                story.of(request).num_spec_tokens = drafts
        elif kind == lines.FINISH:
            story.update(line)
            yield from self._states(state[0] for state in line["state"])
        elif kind == lines.RAISED:
            yield True
        yield from self._pool(line)

    def _scheduled(self, line: lines.Line) -> Iterator[Any]:
        looks = Looks(self.config, self.minor, self.story, line)
        self.story.update(line)
        yield from looks.decisions(self.story)
        yield from looks.advances(self.story)
        rows = line["rows"]
        yield StepTotals(self.config, sum(n for _, n, _ in rows), len(rows))
        touched = [state[0] for state in line["state"]]
        # Sync: a step is only over when it is booked.
        yield from self._states(touched if self.config.async_scheduling else line["preempted"])
        if rows:
            self.story.in_flight.append((line["n"], looks.shares(self.story)))
        yield False

    def _booked(self, line: lines.Line) -> Iterator[Any]:
        story = self.story
        _, shares = story.in_flight.popleft() if story.in_flight else (0, [])
        generated = dict(line["samples"])
        before = {n: (k.num_output_tokens, k.is_finished) for n, k in story.requests.items()}
        story.update(line)
        for request, _, _, padded, samples in shares:
            output, was_finished = before[request]
            known = story.of(request)
            accepted = generated.get(request, 0) - self.config.num_sampled_tokens_per_step
            yield Booking(
                config=self.config,
                request_id=known.name,
                max_tokens=known.max_tokens,
                num_output_tokens=known.num_output_tokens,
                num_tokens=known.num_tokens,
                num_computed_tokens=known.num_computed_tokens,
                num_output_placeholders=known.num_output_placeholders,
                # Of a padded request every draft is a placeholder.
                num_accepted_placeholders=max(accepted, 0) if padded and not was_finished else 0,
                is_decode=known.is_decode,
                is_finished=known.is_finished,
                is_length_capped=known.status == CAPPED,
                stopped_early=was_finished or known.status in (STOPPED, ABORTED),
                num_emitted_tokens=known.num_output_tokens - output,
                must_emit=samples
                and not was_finished
                and self.config.num_sampled_tokens_per_step > 0,
            )
        yield from self._states(share[0] for share in shares)
        story.forget_finished()

    def _states(self, requests: Any) -> Iterator[RequestState]:
        for request in requests:
            yield self._state(self.story.of(request))

    def _state(self, known: Known) -> RequestState:
        story, number = self.story, known.request
        queues = sum(q.count(number) for q in (story.running, story.waiting, story.held))
        return RequestState(
            config=self.config,
            request_id=known.name,
            num_tokens=known.num_tokens,
            num_computed_tokens=known.num_computed_tokens,
            num_output_placeholders=known.num_output_placeholders,
            is_decode=known.is_decode,
            num_queues=queues + known.is_finished,
        )

    def _pool(self, line: lines.Line) -> Iterator[PoolState]:
        if "taken" in line:
            yield PoolState(self.config, line["free"], line["taken"])
