"""The form of a recording: JSON lines of counters, nothing of what anybody asked or was answered.

The first line describes the scheduler, every further line is one call of the engine and what the
scheduler looked like after it.  Lines are numbered from 0 (``n``), so that a hole shows.  Requests
are numbered in the order they came; their names stay in the engine.
"""

from __future__ import annotations

from typing import Any

FORMAT = "schedproof-recording"
SCHEMA = 1
Line = dict[str, Any]

HEADER, SNAPSHOT, ADD, SCHEDULE, BOOK, DRAFT, FINISH, RAISED, END = (
    "header",
    "snapshot",
    "add",
    "schedule",
    "book",
    "draft",
    "finish",
    "raised",
    "end",
)
KINDS = (HEADER, SNAPSHOT, ADD, SCHEDULE, BOOK, DRAFT, FINISH, RAISED, END)

ARRIVAL = ("request", "num_prompt_tokens", "max_tokens", "priority", "arrival_time")
"""What is known of a request when it comes; the arrival time in microseconds of the recording."""
STATE = (
    "request",
    "status",
    "num_output_tokens",
    "num_computed_tokens",
    "num_output_placeholders",
    "num_spec_tokens",
    "num_in_flight_tokens",
    "num_stale_output_tokens",
    "is_prefill_chunk",
    "num_preemptions",
    "kv_capacity",
)
"""What is recorded of a request a call has touched.  A counter the release lacks is -1;
``kv_capacity`` is the tokens its KV blocks can hold."""
STATUSES = (
    "WAITING",
    "WAITING_FOR_REMOTE_KVS",
    "RUNNING",
    "PREEMPTED",
    "FINISHED_STOPPED",
    "FINISHED_LENGTH_CAPPED",
    "FINISHED_ABORTED",
    "OTHER",
)
"""``status`` is an index into these; OTHER is one no model here knows."""
ASKED = {"hit": 1, "match": 3, "slots": 5}
"""What the scheduler asked while it decided → how many numbers follow the request's.

``[hit, request, tokens]`` of the prefix cache, ``[match, request, local tokens, tokens or -1,
async]`` of a KV connector, ``[slots, request, C, rows, granted, load, waiting]`` of the block pool.
Slots granted to running requests are left out, unless somebody was preempted in the step."""
