"""Booking, against hand-worked numbers of ``update_from_output`` and ``check_stop``."""

from __future__ import annotations

import pytest

from model.environment import Sample
from model.output import append_tokens, book_output, is_decode, propose_drafts, roll_back_rejected
from model.request import Request, RequestStatus
from model.step import Scheduled
from spec.config import Config

CONFIG = Config.checked(max_model_len=32, num_spec_tokens=3)


def decode(output: int = 5, in_flight: int = 4, max_tokens: int = 20) -> Request:
    """10 prompt tokens, ``output`` generated, one async step of 1 + 3 rows in flight."""
    request = Request("r", 10, max_tokens)
    request.status = RequestStatus.RUNNING
    request.num_output_tokens = output
    request.num_computed_tokens = 10 + output - 1 + in_flight
    request.num_output_placeholders = in_flight
    request.num_in_flight_tokens = in_flight
    return request


def counters(request: Request) -> tuple[int, int, int]:
    return (
        request.num_output_tokens,
        request.num_computed_tokens,
        request.num_output_placeholders,
    )


@pytest.mark.parametrize(
    ("accepted", "expected"),
    [(0, (6, 15, 0)), (1, (7, 16, 0)), (3, (9, 18, 0))],
)
def test_accepted_drafts_stay_and_rejected_ones_roll_back(
    accepted: int, expected: tuple[int, int, int]
) -> None:
    request = decode()
    booking = book_output(CONFIG, Scheduled(request, 4, 3, False, True), Sample(1 + accepted))
    assert counters(request) == expected
    assert booking.num_emitted_tokens == 1 + accepted
    assert request.num_in_flight_tokens == 0


def test_a_roll_back_leaves_rows_of_the_next_step_in_flight() -> None:
    request = decode(in_flight=8)
    roll_back_rejected(CONFIG, request, drafts=3, generated=2)
    assert counters(request) == (5, 20, 6)


@pytest.mark.parametrize(
    ("output", "generated", "stop_after", "kept", "status"),
    [
        (5, 4, 0, 4, RequestStatus.RUNNING),
        (5, 4, 2, 2, RequestStatus.FINISHED_STOPPED),
        (18, 4, 0, 2, RequestStatus.FINISHED_LENGTH_CAPPED),  # max_tokens 20
        (18, 4, 3, 2, RequestStatus.FINISHED_LENGTH_CAPPED),  # the stop token comes too late
        (18, 4, 2, 2, RequestStatus.FINISHED_STOPPED),  # a stop at the limit is a stop
    ],
)
def test_tokens_are_kept_up_to_the_first_stop(
    output: int, generated: int, stop_after: int, kept: int, status: RequestStatus
) -> None:
    request = decode(output)
    append_tokens(CONFIG, request, generated, stop_after, stale=False)
    assert request.num_output_tokens == output + kept
    assert request.status is status


def test_no_token_is_kept_past_max_model_len() -> None:
    request = decode(output=20, max_tokens=99)  # 30 of 32 tokens
    append_tokens(CONFIG, request, 4, 0, stale=False)
    assert request.num_tokens == CONFIG.max_model_len
    assert request.status is RequestStatus.FINISHED_LENGTH_CAPPED


def test_output_of_an_earlier_life_moves_only_the_tokens() -> None:
    request = decode()
    request.num_stale_output_tokens = 4
    request.num_computed_tokens = request.num_output_placeholders = 0
    book_output(CONFIG, Scheduled(request, 4, 3, False, True), Sample(2))
    assert counters(request) == (7, 0, 0)
    assert request.num_stale_output_tokens == 0


def test_a_finished_request_books_nothing() -> None:
    request = decode()
    request.status = RequestStatus.FINISHED_ABORTED
    booking = book_output(CONFIG, Scheduled(request, 4, 3, False, True), Sample(4))
    assert booking.num_emitted_tokens == 0
    assert not booking.must_emit


def test_a_prefill_chunk_gets_no_drafts_and_a_finished_request_keeps_its_own() -> None:
    request = decode()
    request.is_prefill_chunk = True
    propose_drafts(CONFIG, request, 3)
    assert request.num_spec_tokens == 0
    request.is_prefill_chunk = False
    propose_drafts(CONFIG, request, 3)
    assert request.num_spec_tokens == 3
    assert is_decode(request)
    request.status = RequestStatus.FINISHED_STOPPED
    propose_drafts(CONFIG, request, 1)
    assert request.num_spec_tokens == 3
    assert not is_decode(request)
