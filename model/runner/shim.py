"""The runner attached to the model: every scheduled step is prepared as the real host would.

The seam is the boundary the engine itself has.  ``RunnerScheduler`` hands each
``SchedulerOutput`` to the runner before anything is booked; ``RunnerEnvironment`` checks each
sample when the engine books it, which under async scheduling is one step later.  Nothing else of
the model changes, and the environment is asked the same questions in the same order.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from model.engine import Engine, Recorder
from model.environment import Environment, Sample
from model.policies import PaddingPolicy
from model.request import Request
from model.runner.batch import PersistentBatch
from model.runner.checks import (
    check_budgets,
    check_odd_rows,
    check_sample,
    check_share,
    decision_seen,
)
from model.runner.cudagraph import Dispatcher
from model.runner.errors import RunnerError
from model.runner.inputs import BatchInputs, InputPreparer
from model.runner.tokens import TokenSource
from model.scheduler import Scheduler
from model.step import SchedulerOutput, Step
from spec.config import Config
from spec.records import Decision

Refuse = Callable[[RunnerError], None]
"""What happens to a step the runner cannot execute."""


class Runner:
    """The host side of one rank's model runner.

    Args:
        config: the knobs.
        tokens: computes real tokens on a device; None to check shapes only and take the number
            of accepted drafts from the environment.

    Attributes:
        batch: the persistent batch.
        shape: what the rank wants to run this step; the dummy batch if it is idle.
        has_prefill: some request computes prompt in this step.
    """

    def __init__(self, config: Config, tokens: TokenSource | None = None) -> None:
        self.config = config
        self.tokens = tokens
        self.batch = PersistentBatch(config)
        self.preparer = InputPreparer(config)
        self.dispatcher = Dispatcher(config)
        self.shape = self.dispatcher.dummy
        self.has_prefill = False
        self._odd_rows: list[tuple[int, Decision]] = []
        """Decodes without 1 + K rows, kept until the group knows whether it matters."""

    def execute(
        self, output: SchedulerOutput, prefill_withdrawn: bool = False
    ) -> BatchInputs | None:
        """Prepare one step, and run it if there is a device; None for an idle rank.

        Args:
            output: the step.
            prefill_withdrawn: a prefill got rows in this step and was then preempted; nothing of
                it is left in ``output``, but it explains an odd row (waiver ``withdrawn-prefill``).

        Raises:
            RunnerError: the step cannot be executed.
        """
        config, sampled = self.config, self.config.num_sampled_tokens_per_step
        query_len = self.dispatcher.query_len
        rows_of_shares = self.batch.update(output)
        self._odd_rows, self.has_prefill = [], False
        shares = output.scheduled
        if not shares:
            self.shape = self.dispatcher.dummy
            return None
        num_reqs = len(shares)
        rows, starts, drafts = [0] * num_reqs, [0] * num_reqs, [0] * num_reqs
        for share, state in zip(shares, rows_of_shares, strict=True):
            request, index = share.request, state.index
            n, attached = share.num_scheduled_tokens, share.num_draft_tokens
            computed = request.num_computed_tokens - n
            known = request.num_tokens + request.num_output_placeholders
            if share.samples and config.async_scheduling:
                known -= sampled + attached  # this step's own placeholders
            check_share(config, share, index, computed, known)
            if state.fresh:
                # One token left of a request that has KV is a decode.
                is_prefill = known - computed > 1 or computed == 0 or sampled == 0
            else:
                is_prefill = state.is_prefill_chunk
            if is_prefill:
                self.has_prefill = True
            elif n != query_len:
                decision = decision_seen(config, share, computed, known, state.fresh)
                decision = replace(decision, prefill_withdrawn=prefill_withdrawn)
                self._odd_rows.append((index, decision))
            state.fresh = False
            state.is_prefill_chunk = not share.samples
            rows[index], starts[index], drafts[index] = n, computed, attached
        self.shape = self.dispatcher.shape(rows)
        last = rows_of_shares[-1].index
        check_budgets(config, shares[-1].request, last, self.shape.num_tokens, num_reqs)
        if self.tokens is not None:
            starts = self.tokens.before_step(self.batch, shares, rows_of_shares, starts)
        inputs = self.preparer.prepare(self.batch, rows, starts, drafts)
        if self.tokens is not None:
            dispatch = self.dispatcher.dispatch(self.shape)
            self.tokens.run_step(self.batch, shares, rows_of_shares, inputs, dispatch)
        return inputs

    def check_uniform(self, group_has_prefill: bool) -> None:
        """Called by the data-parallel group once every rank has scheduled.

        Raises:
            MixedShapes: a decode step that is not uniform, and no waiver says why.
        """
        if not group_has_prefill:
            for row, decision in self._odd_rows:
                check_odd_rows(row, decision)


class RunnerScheduler(Scheduler):
    """A scheduler whose every step goes to a runner at once."""

    def __init__(
        self,
        config: Config,
        policy: PaddingPolicy,
        environment: Environment,
        record: Recorder | None,
        runner: Runner,
        refuse: Refuse,
    ) -> None:
        super().__init__(config, policy, environment, record)
        self.runner = runner
        self.refuse = refuse
        self.prefill_withdrawn = False

    def schedule(self) -> SchedulerOutput:
        """Decide one step and execute it; see ``Runner.execute`` for the errors."""
        self.prefill_withdrawn = False
        output = super().schedule()
        try:
            self.runner.execute(output, self.prefill_withdrawn)
        except RunnerError as error:
            self.refuse(error)
        return output

    def preempt(self, step: Step, victim: Request) -> None:
        """As the model does; notes whether a prefill loses rows it got in this very step."""
        if victim in step.num_scheduled_tokens and victim.is_prefill_chunk:
            self.prefill_withdrawn = True
        super().preempt(step, victim)


class RunnerEnvironment:
    """An environment whose samples pass through a runner on their way to the engine."""

    def __init__(self, environment: Environment, runner: Runner, refuse: Refuse) -> None:
        self.environment = environment
        self.runner = runner
        self.refuse = refuse
        self.prefix_hit = environment.prefix_hit
        self.connector_match = environment.connector_match
        self.load_finished = environment.load_finished
        self.draft = environment.draft

    def sample(self, request: Request, num_draft_tokens: int, padded: bool) -> Sample:
        """The device's output if there is one, otherwise the environment's; checked."""
        runner = self.runner
        if runner.tokens is not None:
            sample = runner.tokens.take(request)
        else:
            sample = self.environment.sample(request, num_draft_tokens, padded)
        row = runner.batch.row_of(request)
        try:
            check_sample(runner.config, request, row, num_draft_tokens, padded, sample)
        except RunnerError as error:
            self.refuse(error)
        return sample


class RunnerEngine(Engine):
    """A rank's engine with the runner attached; the arguments are ``Engine``'s and ``Runner``'s."""

    def __init__(
        self,
        config: Config,
        policy: PaddingPolicy,
        environment: Environment,
        record: Recorder | None = None,
        tokens: TokenSource | None = None,
    ) -> None:
        self.runner = runner = Runner(config, tokens)
        checked = RunnerEnvironment(environment, runner, self.refuse)
        super().__init__(config, policy, checked, record)
        self.scheduler = RunnerScheduler(config, policy, checked, record, runner, self.refuse)

    def check_uniform(self, group_has_prefill: bool) -> None:
        """Let the runner judge the step's shape; called once every rank has scheduled.

        Raises:
            MixedShapes: a decode step that is not uniform, and no waiver says why.
        """
        try:
            self.runner.check_uniform(group_has_prefill)
        except RunnerError as error:
            self.refuse(error)

    def refuse(self, error: RunnerError) -> None:
        """What an impossible step ends in: as on a GPU, in the error.  A watcher overrides this."""
        raise error


def check_group(engines: Sequence[RunnerEngine]) -> None:
    """Let every runner of a data-parallel group judge its step, knowing all the others'.

    Raises:
        MixedShapes: see ``RunnerEngine.check_uniform``.
    """
    group_has_prefill = any(engine.runner.has_prefill for engine in engines)
    for engine in engines:
        engine.check_uniform(group_has_prefill)
