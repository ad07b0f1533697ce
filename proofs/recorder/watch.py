"""Looking at a scheduler of the engine, call by call, and saying what it did in plain numbers.

Nothing here changes anything the scheduler reads; per call it costs a few attribute reads for each
request the call has touched.
"""

from __future__ import annotations

import time
import traceback
from collections.abc import Callable, Iterable
from typing import Any

from proofs.recorder import describe, lines

Sink = Callable[[lines.Line], None]
Share = tuple[int, int, int, bool, bool]
"""Request, rows, drafts, padded, samples."""
STATUS_NUMBER = {name: number for number, name in enumerate(lines.STATUSES)}
OTHER = STATUS_NUMBER["OTHER"]
LOADING = "WAITING_FOR_REMOTE_KVS"
WINDOW = "window"
"""Why a snapshot is made when nothing out of the ordinary has happened."""


class Watch:
    """One scheduler under observation.

    Args:
        scheduler: the engine's object, just constructed.
        sink: takes every line, in order.
        count_pool_every: count the held KV blocks every so many calls.
        window: say where everything stands every so many lines; None: never.
    """

    def __init__(
        self, scheduler: Any, sink: Sink, count_pool_every: int, window: int | None = None
    ) -> None:
        self.scheduler = scheduler
        self.sink = sink
        self.number: dict[str, int] = {}
        """Request id → its number, while it lives."""
        self.in_flight: dict[int, tuple[int, list[Share]]] = {}
        """``id`` of an output not booked yet → the number of its line, its shares."""
        self._next_line = self._next_request = 0
        self._asked: list[tuple[Any, ...]] = []
        self._loading: set[str] = set()
        self._waiting: list[int] = []
        self._held: list[int] = []
        self._pool_every, self._until_pool = count_pool_every, 0
        self._window = window
        self._snapshot_at = window or 0
        self._born = time.time()
        self._returned: tuple[list[Any], list[int]] = ([], [])
        self._managers = scheduler.kv_cache_manager.coordinator.single_type_managers
        self._listen(scheduler)
        self._tell(lines.HEADER, **describe.header(scheduler))

    # -- the calls, as the scheduler class tells them ------------------------------------------

    def added(self, request: Any) -> None:
        """A request has entered."""
        self.number[request.request_id] = number = self._next_request
        self._next_request += 1
        self._tell(lines.ADD, request=self._arrival(number, request), **self._queues())

    def schedules(self) -> None:
        """A step is about to be decided."""
        self._asked.clear()
        if self._window is not None and self._next_line >= self._snapshot_at:
            self._snapshot_at = self._next_line + self._window
            self.interrupted(WINDOW)

    def scheduled(self, output: Any, throttled: bool) -> None:
        """A step was decided."""
        number, requests = self.number, self.scheduler.requests
        names, drafts = output.num_scheduled_tokens, output.scheduled_spec_decode_tokens
        preempted = [name for name in output.preempted_req_ids or () if name in number]
        granted = [ask for ask in self._asked if ask[0] == "slots" and ask[4]]
        self._loading.update(name for _, name, *_, load, _ in granted if load)
        touched = dict.fromkeys((*names, *preempted, *self._loading))
        told: lines.Line = {
            "rows": [[number[name], n, len(drafts.get(name, ()))] for name, n in names.items()],
            "asked": self._told_asked(all_of_it=bool(preempted)),
            "preempted": [number[name] for name in preempted],
            "state": [self._state(requests[name]) for name in touched if name in requests],
        }
        if throttled or describe.paused(self.scheduler):
            told["held_back"] = True
        line = self._tell(lines.SCHEDULE, **told, **self._queues(), **self._pool())
        self._loading = {
            name
            for name in self._loading
            if name in requests and requests[name].status.name == LOADING
        }
        if names:
            admitted = {name for _, name, *_, waits in granted if waits}
            shares = [
                (number_, n, d, bool(d and name in admitted), not requests[name].is_prefill_chunk)
                for name, (number_, n, d) in zip(names, told["rows"], strict=True)
            ]
            self.in_flight[id(output)] = line, shares

    def returns(self, output: Any, returned: Any) -> None:
        """The runner's output is about to be booked, which trims it in place."""
        sampled, index = returned.sampled_token_ids, returned.req_id_to_index
        requests, names = self.scheduler.requests, output.num_scheduled_tokens
        self._returned = (
            [requests.get(name) for name in names],
            [len(sampled[index[name]]) if sampled and name in index else 0 for name in names],
        )

    def booked(self, output: Any) -> None:
        """The runner's output was booked."""
        step, shares = self.in_flight.pop(id(output), (-1, []))
        if not shares:
            return
        live, generated = self._returned
        samples = [[share[0], n] for share, n in zip(shares, generated, strict=True)]
        state = [
            self._state(request, share[0])
            for share, request in zip(shares, live, strict=True)
            if request is not None
        ]
        for request in live:
            if request is not None and request.is_finished():
                self.number.pop(request.request_id, None)
        self._tell(
            lines.BOOK, step=step, samples=samples, state=state, **self._queues(), **self._pool()
        )

    def drafted(self, names: Iterable[str]) -> None:
        """Drafts were proposed for the next step."""
        requests = self.scheduler.requests
        drafts = [
            [self.number[name], len(requests[name].spec_token_ids)]
            for name in names
            if name in requests and name in self.number
        ]
        self._tell(lines.DRAFT, drafts=drafts)

    def living(self, names: str | Iterable[str] | None) -> list[Any]:
        """The requests that are about to be finished from outside."""
        requests = self.scheduler.requests
        named = [names] if isinstance(names, str) else requests.keys() if names is None else names
        found = [requests[name] for name in named if name in requests]
        return [request for request in found if not request.is_finished()]

    def finished(self, asked_for: list[Any]) -> None:
        """Requests were finished from outside: aborted, or failed."""
        ended = [r for r in asked_for if r.is_finished() and r.request_id in self.number]
        if ended:
            state = [self._state(request) for request in ended]
            for request in ended:
                self.number.pop(request.request_id)
            self._tell(lines.FINISH, state=state, **self._queues(), **self._pool())

    def raised(self, during: str, error: BaseException) -> None:
        """The scheduler died.  Its message is not kept: it may quote a request."""
        frames = [f for f in traceback.extract_tb(error.__traceback__) if "vllm" in f.filename]
        last = frames[-1] if frames else None
        where = f"vllm{last.filename.rpartition('vllm')[2]}" if last else ""
        self._tell(
            lines.RAISED,
            during=during,
            error=type(error).__name__,
            file=where,
            line=(last.lineno or 0) if last else 0,
            asked=self._told_asked(all_of_it=True),
        )

    def interrupted(self, why: str) -> None:
        """Say where everything stands: what follows can be read without what came before."""
        requests = [(n, self.scheduler.requests.get(name)) for name, n in self.number.items()]
        self._waiting, self._held = [-1], [-1]  # say the queues in full
        told = {
            "why": why,
            "requests": [self._arrival(n, r) for n, r in requests if r is not None],
            "state": [self._state(r, n) for n, r in requests if r is not None],
            "in_flight": [[step, shares] for step, shares in self.in_flight.values()],
        }
        self._tell(lines.SNAPSHOT, **told, **self._queues(), **self._pool())

    def flies(self, output: Any, name: str, rows: int, drafts: int, samples: bool) -> None:
        """A step of one request was in flight before anybody watched."""
        self.in_flight[id(output)] = -1, [(self.number[name], rows, drafts, False, samples)]
        self.interrupted("in flight")

    def end(self) -> None:
        """Nothing follows."""
        self._tell(lines.END)

    # -- what is read ---------------------------------------------------------------------------

    def _tell(self, kind: str, **told: Any) -> int:
        number = self._next_line
        self._next_line += 1
        self.sink({"n": number, "kind": kind, **told})
        return number

    def _arrival(self, number: int, request: Any) -> list[int]:
        micros = int((request.arrival_time - self._born) * 1e6)
        return [number, request.num_prompt_tokens, request.max_tokens, request.priority, micros]

    def _state(self, request: Any, number: int = -1) -> list[int]:
        name = request.request_id
        return [
            self.number[name] if number < 0 else number,
            STATUS_NUMBER.get(request.status.name, OTHER),
            request.num_output_tokens,
            request.num_computed_tokens,
            request.num_output_placeholders,
            len(request.spec_token_ids),
            getattr(request, "num_in_flight_tokens", -1),
            getattr(request, "num_stale_output_tokens", -1),
            int(request.is_prefill_chunk),
            request.num_preemptions,
            max(len(m.req_to_blocks.get(name, ())) * m.block_size for m in self._managers),
        ]

    def _queues(self) -> lines.Line:
        """``running`` always; the others only when they have changed."""
        scheduler, number = self.scheduler, self.number
        told: lines.Line = {"running": [number[r.request_id] for r in scheduler.running]}
        waiting = [number[r.request_id] for r in scheduler.waiting]
        held = [number[r.request_id] for r in describe.held(scheduler)]
        if waiting != self._waiting:
            told["waiting"] = self._waiting = waiting
        if held != self._held:
            told["held"] = self._held = held
        return told

    def _pool(self) -> lines.Line:
        told: lines.Line = {
            "free": self.scheduler.kv_cache_manager.block_pool.get_num_free_blocks()
        }
        self._until_pool -= 1
        if self._until_pool <= 0 and self.scheduler.connector is None:
            self._until_pool = self._pool_every
            blocks = (b for m in self._managers for bs in m.req_to_blocks.values() for b in bs)
            told["taken"] = len({b.block_id for b in blocks if not b.is_null})
        return told

    def _told_asked(self, all_of_it: bool) -> list[list[Any]]:
        """What was asked in this step, by request number."""
        return [
            [what, self.number[name], *told]
            for what, name, *told in self._asked
            # Slots granted to a running request: its row says it all.
            if all_of_it or what != "slots" or not told[2] or told[4]
        ]

    def _listen(self, scheduler: Any) -> None:
        """Hear what the scheduler asks of cache, connector and block pool, and the answers."""
        manager, asked = scheduler.kv_cache_manager, self._asked
        cached, allocate = manager.get_computed_blocks, manager.allocate_slots

        def get_computed_blocks(request: Any, *more: Any, **named: Any) -> Any:
            found = cached(request, *more, **named)
            asked.append(("hit", request.request_id, found[1]))
            return found

        def allocate_slots(
            request: Any, rows: int, num_new_computed_tokens: int = 0, *more: Any, **named: Any
        ) -> Any:
            computed = request.num_computed_tokens + num_new_computed_tokens
            computed += named.get("num_external_computed_tokens", 0)
            waits = int(request.status.name != "RUNNING")
            blocks = allocate(request, rows, num_new_computed_tokens, *more, **named)
            load = int(bool(named.get("delay_cache_blocks")))
            granted = int(blocks is not None)
            asked.append(("slots", request.request_id, computed, rows, granted, load, waits))
            return blocks

        manager.get_computed_blocks, manager.allocate_slots = get_computed_blocks, allocate_slots
        connector = scheduler.connector
        if connector is not None:
            match = connector.get_num_new_matched_tokens

            def get_num_new_matched_tokens(request: Any, num_local: int) -> Any:
                found, load = match(request, num_local)
                tokens = -1 if found is None else found
                asked.append(("match", request.request_id, num_local, tokens, int(bool(load))))
                return found, load

            connector.get_num_new_matched_tokens = get_num_new_matched_tokens
