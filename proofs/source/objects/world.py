"""The world around the scheduler: every answer free, under the named assumptions of the spec.

One method per ``world`` row of the profile.  The same class answers symbolically and, with the
numbers of a counterexample, on integers: only the context differs.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Protocol

from proofs.source.objects.host import Host, unpacked
from proofs.source.objects.queues import PolicyName
from proofs.source.objects.requests import Request, RequestStatus
from proofs.source.objects.stubs import Record, Stub
from proofs.source.objects.tokens import StopToken, Token
from proofs.source.profile import Row
from spec import assumptions as spec_world
from spec.config import Config
from spec.logic import implies, min

if TYPE_CHECKING:
    from typing import NoReturn

CONNECTED = "a KV connector is attached"
"""The question that decides it where a scenario leaves it open."""


class Context(Protocol):
    """What a world needs of a symbolic or a concrete run."""

    def int(self, name: str, lo: int | None = None, hi: int | None = None) -> Any: ...
    def bool(self, name: str) -> Any: ...
    def assume(self, condition: Any, name: str | None = None) -> None: ...
    def unsupported(self, reason: str) -> NoReturn: ...


class World:
    """One rank's environment during one run.

    Args:
        context: where free values come from.
        config: the knobs.
        connector: whether a KV connector is attached; None: maybe, a question for who asks.
    """

    def __init__(
        self, host: Host, context: Context, config: Config, connector: bool | None
    ) -> None:
        self.host, self.context, self.config = host, context, config
        self._connector = connector
        self.slots: dict[str, Any] = {}
        """Request id → tokens its KV blocks were last allocated for."""
        self.handed: dict[str, tuple[Any, Any]] = {}
        """Request id → tokens of the cached blocks its last allocation was handed, and how many it
        was told to count."""
        self.ahead: dict[str, Any] = {}
        """Request id → look-ahead slots its last allocation asked for."""
        self.published: dict[str, list[tuple[Any, Any]]] = {}
        """Request id → each time its blocks were put into the prefix cache in this step: for how
        many tokens, and how many were computed by then."""
        self.begun = 0
        """How often the pool was told that a step begins."""
        self.freed: set[str] = set()
        """Requests whose blocks the text gave back, and did not ask for again."""
        self.given_back: list[str] = []
        """Whose blocks the text gave back, once for each time."""
        self.never_short: set[str] = set()
        """Requests the pool always serves."""
        self.always_short: set[str] = set()
        """Requests the pool never serves."""
        self.short: set[str] = set()
        """Requests for which the pool had no block in this step."""
        self.looked: list[str] = []
        """Waiting requests the step looked at, in order."""
        self.skipped: set[str] = set()
        """Waiting requests the step took from their queue."""
        self.hits: dict[str, Any] = {}
        """Request id → tokens found in the cache or by the connector in this step."""
        self.matches: dict[str, tuple[Any, Any]] = {}
        """Request id → tokens the connector has, and whether it loads them by itself."""
        self.unsure: set[str] = set()
        """Requests of which the connector could not tell in this step what it has."""
        self.local: dict[str, Any] = {}
        """Request id → tokens of the cache beyond which the connector was asked."""
        self.refusals = 0
        """How often the pool had no blocks in this step."""
        self.served: list[str] = []
        """Requests for which the pool had blocks in this step, in order."""
        self.withdrawn: dict[str, set[str]] = {}
        """Request served and then preempted in this step → those whose rows it may have cut."""
        self._cached: list[tuple[Stub, Any]] = []
        """Cached blocks that were found, and how many tokens they hold."""
        self._asked: defaultdict[str, int] = defaultdict(int)
        self._refused = ""

    def next_step(self) -> None:
        """A further step of the same run begins."""
        self.short, self.looked, self.skipped = set(), [], set()
        self.hits, self.matches, self.served, self.withdrawn = {}, {}, [], {}
        self.local, self.refusals, self.unsure, self.begun = {}, 0, set(), 0
        self.published = {}

    # -- asking --------------------------------------------------------------------------------

    def name(self, question: str) -> str:
        """A name for the next answer to a question: the same on every run of a path."""
        self._asked[question] += 1
        count = self._asked[question]
        return question if count == 1 else f"{question} #{count}"

    def assume(self, assumption: spec_world.Assumption, *arguments: Any) -> None:
        """Take a named assumption for granted."""
        self.context.assume(assumption.condition(*arguments), assumption.id)

    def knob(self, name: str) -> Any:
        """A knob of the configuration."""
        if name == "diffusion":
            return self.config.num_sampled_tokens_per_step == 0
        return getattr(self.config, name)

    def configured(self, row: Row) -> Any:
        """What a ``free`` row leaves open: once and for all, but for calls."""
        asked = row.attribute
        if asked.endswith("()"):
            asked = self.name(asked)
        if row.value == "any-bool":
            return self.context.bool(asked)
        return self.context.int(asked, row.literal)

    def answer(self, path: str) -> Any:
        """What the text sees under a ``world`` row."""
        return _ANSWERS[path](self)

    @property
    def connector(self) -> bool:
        """Whether a KV connector is attached."""
        if self._connector is None:
            self._connector = bool(self.context.bool(CONNECTED))
        return self._connector

    @property
    def is_alone(self) -> bool:
        """Whether it is settled that no KV connector is attached."""
        return self._connector is False

    # -- what the queues tell ------------------------------------------------------------------

    def looked_at(self, request: Request) -> None:
        """The head of a queue was looked at."""
        if request.request_id not in self.looked:
            self.looked.append(request.request_id)

    def taken(self, request: Request) -> None:
        """The head of a queue was taken out."""
        self.skipped.add(request.request_id)

    # -- the KV cache manager ------------------------------------------------------------------

    def allocate_slots(
        self,
        request: Request,
        num_new_tokens: Any,
        num_new_computed_tokens: Any = 0,
        new_computed_blocks: Any = None,
        num_lookahead_tokens: Any = 0,
        num_external_computed_tokens: Any = 0,
        **options: Any,
    ) -> Any:
        """Blocks for the tokens asked for, or None when the pool is too small."""
        name = request.request_id
        for option in options.keys() - _ALLOCATION:
            self.host.unprofiled(f"kv_cache_manager.allocate_slots({option}=)")
        self.handed[name] = self.tokens_of(new_computed_blocks), num_new_computed_tokens
        self.ahead[name] = num_lookahead_tokens
        served = name in self.never_short
        if not served and name not in self.always_short:
            served = self.context.bool(self.name(f"KV blocks for {name}"))
        if not bool(served):
            self.short.add(name)
            self._refused = name
            self.refusals += 1
            return None
        self.served.append(name)
        self.freed.discard(name)
        self.slots[name] = (
            request.num_computed_tokens
            + num_new_computed_tokens
            + num_external_computed_tokens
            + num_new_tokens
        )
        return Stub(self.host, "blocks")

    def tokens_of(self, blocks: Any) -> Any:
        """How many tokens cached blocks hold; others, and none, hold no token that is cached."""
        if blocks is not None and not isinstance(blocks, Stub):
            self.host.unprofiled("kv_cache_manager.allocate_slots(new_computed_blocks=)")
        return next((tokens for known, tokens in self._cached if known is blocks), 0)

    def cached(self, tokens: Any) -> Stub:
        """Blocks of the prefix cache with so many tokens."""
        blocks = Stub(self.host, "blocks")
        self._cached.append((blocks, tokens))
        return blocks

    def cache_blocks(self, request: Request, num_computed_tokens: Any) -> None:
        """The blocks of so many tokens may be found by others from now on.

        What is in flight is not computed yet: all rows of it, or those that will sample.
        """
        pending = min(request.num_in_flight_tokens, request.num_output_placeholders)
        written = request.num_computed_tokens - pending
        told = self.published.setdefault(request.request_id, [])
        told.append((num_computed_tokens, written))

    def step_begins(self) -> None:
        """The pool forgets what it kept for the step before."""
        self.begun += 1

    def free(self, request: Request) -> None:
        """The request's blocks go back to the pool."""
        name = request.request_id
        self.given_back.append(name)
        self.slots.pop(name, None)
        self.freed.add(name)
        if name in self.served:
            behind = self.served[self.served.index(name) + 1 :]
            self.withdrawn[name] = {*behind, self._refused} - {name}

    def computed_blocks(self, method: str, arity: int) -> Callable[..., Any]:
        """A prefix-cache look-up that answers with as many values as the text unpacks."""

        def look_up(request: Request, *args: Any, **kwargs: Any) -> Any:
            name = request.request_id
            hit = self.hits.get(name)
            if hit is None:
                hit = self.context.int(self.name(f"prefix hit of {name}"), 0)
                self.assume(spec_world.HIT_LEAVES_ONE, request.num_tokens, hit)
                self.hits[name] = hit
            answer = (self.cached(hit), hit, 0, False)
            return unpacked(answer, self.host.arities.get(method, arity))

        return look_up

    # -- the connector -------------------------------------------------------------------------

    def matched_tokens(self, request: Request, num_local: Any) -> tuple[Any, Any]:
        """Tokens a connector has beyond the local hit, and whether it loads them by itself.

        None for the tokens: it cannot tell yet, and is to be asked again in a later step.
        """
        name, context = request.request_id, self.context
        if bool(context.bool(self.name(f"connector cannot tell yet of {name}"))):
            self.unsure.add(name)
            return None, False
        matched = context.int(self.name(f"connector match of {name}"), 0)
        load_async = context.bool(self.name(f"connector loads {name} by itself"))
        within = spec_world.HIT_LEAVES_ONE.condition(request.num_tokens, num_local + matched)
        context.assume(load_async | within, spec_world.HIT_LEAVES_ONE.id)
        loaded = spec_world.LOAD_WITHIN_REQUEST.condition(request.num_tokens, num_local, matched)
        context.assume(implies(load_async, loaded), spec_world.LOAD_WITHIN_REQUEST.id)
        self.matches[name], self.local[name] = (matched, load_async), num_local
        return matched, load_async

    # -- data for the runner ---------------------------------------------------------------------

    def new_request_data(self, request: Request, *args: Any, **options: Any) -> Record:
        """What the runner is told about a new request."""
        return Record(self.host, "NewRequestData", {"req_id": request.request_id})

    # -- stopping ------------------------------------------------------------------------------

    def returned(self, request: Request, count: int) -> list[Token]:
        """So many tokens come back for a request, each of which may be its stop token."""
        request.num_invented__ = 0
        question = f"stop token of {request.request_id}"
        return [Token(self.context.bool(self.name(question))) for _ in range(count)]

    def check_stop(self, request: Request, max_model_len: Any, *args: Any) -> bool:
        """Whether the last token ends the request, as vLLM's ``check_stop`` decides."""
        if self.is_stop(request.last__):
            request.status = RequestStatus.FINISHED_STOPPED
            return True
        full = request.num_tokens >= max_model_len
        if full | (request.num_output_tokens >= request.max_tokens):
            request.status = RequestStatus.FINISHED_LENGTH_CAPPED
            return True
        return False

    def is_stop(self, token: Any) -> bool:
        """Whether a token ends its request."""
        if type(token) is not Token:
            self.context.unsupported("asks of a token the runner did not return if it is a stop")
        return bool(token.stops__)


_ALLOCATION = frozenset(
    {"delay_cache_blocks", "num_encoder_tokens", "full_sequence_must_fit", "reserved_blocks"}
    | {"has_scheduled_reqs", "skip_zeroing_group_ids"}
)
"""What `allocate_slots` can be told besides, up to 0.33; none of it makes a pool larger."""

_Answer = Callable[[World], Any]

_ANSWERS: dict[str, _Answer] = {
    "kv_cache_manager.allocate_slots": lambda w: w.allocate_slots,
    "kv_cache_manager.free": lambda w: w.free,
    "kv_cache_manager.get_computed_blocks": lambda w: w.computed_blocks("get_computed_blocks", 3),
    "kv_cache_manager.get_computed_blocks_for_connector": lambda w: w.computed_blocks(
        "get_computed_blocks_for_connector", 4
    ),
    "kv_cache_manager.new_step_starts": lambda w: w.step_begins,
    "kv_cache_manager.cache_blocks": lambda w: w.cache_blocks,
    "kv_cache_manager.truncate_computed_blocks": lambda w: lambda blocks, tokens: w.cached(tokens),
    "connector.get_num_new_matched_tokens": lambda w: w.matched_tokens,
    "vllm_config.kv_transfer_config": lambda w: (
        Stub(w.host, "kv_transfer_config") if w.connector else None
    ),
    "scheduler_config.policy": lambda w: PolicyName(w.config.priority_scheduling),
    "NewRequestData.from_request": lambda w: w.new_request_data,
    "sampling_params.eos_token_id": lambda w: StopToken(w.is_stop),
    "kv_cache_config.kv_cache_groups": lambda w: (Stub(w.host, "kv_cache_group"),),
    "structured_output_manager.validate_tokens": lambda w: lambda request, tokens: tokens,
}
