"""How an answer leaves when a fault has a hand in it: out of order, repeated, in pieces, in part, twice, or never.

Every wait ends by time, by the rule's release or removal, or when the caller has gone; then the rest leaves at once.
Source: docs/faults.md, "Kinds".
"""

import asyncio
from collections import OrderedDict, deque
from collections.abc import Callable
from typing import Final, NamedTuple

from mockgitea.clock import SECOND_US
from mockgitea.core.faults import Fault, FaultKind, Hit
from mockgitea.transport.asgi import Send
from mockgitea.transport.fault_answers import Answer, changed, dated, kept_part
from mockgitea.transport.fault_passage import Passage
from mockgitea.transport.fault_verdicts import Verdicts

CALLERS_REMEMBERED_MAX: Final = 1000
REMEMBERED_BYTES_MAX: Final = 1024 * 1024
"""A larger answer is not kept for repetition."""
TICKS_PER_S: Final = 10
"""How often a limited bandwidth lets a piece go."""


class _Parked(NamedTuple):
    """An answer that waits for the next call's."""

    answer: Answer
    replacement: "asyncio.Future[Answer]"


class Delivery:
    """Sends answers as rules want it.

    Args:
        verdicts: the rules in force, and waits because of them.
    """

    def __init__(self, verdicts: Verdicts) -> None:
        self._verdicts = verdicts
        self._earlier: OrderedDict[tuple[str, str], deque[Answer]] = OrderedDict()
        self._parked: dict[tuple[str, str], _Parked] = {}

    def clear(self) -> None:
        """Forget earlier answers."""
        self._earlier.clear()

    async def finish(self, passage: Passage, answer: Answer, send: Send) -> None:
        """Do to a whole answer what the rules say, and send what is left of it."""
        own = answer
        after_sending: list[Callable[[], None]] = []
        last: Hit | None = None
        for hit in passage.after:
            kind = hit.fault.kind
            if kind is FaultKind.STALE_ANSWER:
                answer = self._earlier_answer(passage, hit.fault, answer)
            elif kind is FaultKind.REORDER:
                answer = await self._reordered(passage, hit.fault, answer, after_sending)
            elif kind is FaultKind.CLOCK_SKEW:
                answer = dated(answer, self._verdicts.now_us() + round((hit.fault.skew_s or 0.0) * SECOND_US))
                if passage.peer is not None:
                    passage.peer.forget_date()
            else:
                answer = changed(hit, answer, passage.entry.method)
                last = hit
        self._remember(passage, own)
        await self._leave(passage, last, answer, send)
        for act in after_sending:
            act()

    async def _leave(self, passage: Passage, hit: Hit | None, answer: Answer, send: Send) -> None:
        fault = None if hit is None else hit.fault
        kind = None if fault is None else fault.kind
        if fault is None or passage.is_gone:
            await send_whole(send, answer)
        elif kind in (FaultKind.CLOSE, FaultKind.RESET, FaultKind.LOSE_ANSWER):
            passage.cut(is_reset=kind is FaultKind.RESET or fault.how == "reset")
        elif kind is FaultKind.PARTIAL_BODY:
            await _begin(send, answer)
            await send({"type": "http.response.body", "body": kept_part(fault, answer.body), "more_body": True})
            passage.cut(is_reset=False)
        elif kind is FaultKind.SLOW_BODY:
            await self._in_pieces(passage, fault, answer, send, size=fault.chunk_bytes or 1, gap_s=fault.gap_s or 0.1)
        elif kind is FaultKind.BANDWIDTH:
            size = max(1, (fault.bytes_per_s or 1) // TICKS_PER_S)
            gap_s = size / (fault.bytes_per_s or 1)
            await self._in_pieces(passage, fault, answer, send, size=size, gap_s=gap_s)
        else:
            await send_whole(send, answer)
            if kind is FaultKind.ANSWER_TWICE and passage.peer is not None:
                passage.peer.write(answer.raw())

    async def _in_pieces(
        self, passage: Passage, fault: Fault, answer: Answer, send: Send, *, size: int, gap_s: float
    ) -> None:
        await _begin(send, answer)
        body = answer.body
        gap_us = round(gap_s * SECOND_US)
        due_us = self._verdicts.now_us()
        sent = 0
        while sent + size < len(body) and not passage.is_gone and self._verdicts.is_in_force(fault):
            await send({"type": "http.response.body", "body": body[sent : sent + size], "more_body": True})
            sent += size
            due_us += gap_us
            await self._verdicts.wait(passage, fault.name, until_us=due_us)
        await send({"type": "http.response.body", "body": body[sent:], "more_body": False})

    async def _reordered(
        self, passage: Passage, fault: Fault, answer: Answer, after_sending: list[Callable[[], None]]
    ) -> Answer:
        if not self._verdicts.is_in_force(fault):
            return answer  # removed while the answer waited for another rule
        # Only calls of one method change answers: a page must never show the secrets of a task's message.
        key = (fault.name, passage.entry.method if fault.swap else "")
        parked = self._parked.pop(key, None)
        if parked is not None and not parked.replacement.done():
            given = answer if fault.swap else parked.answer
            after_sending.append(lambda: _resolve(parked.replacement, given))
            return parked.answer if fault.swap else answer
        own = _Parked(answer, asyncio.get_running_loop().create_future())
        self._parked[key] = own
        until_us = self._verdicts.now_us() + round((fault.wait_s or 0.0) * SECOND_US)
        await self._verdicts.wait(passage, fault.name, own.replacement, until_us=until_us)
        if self._parked.get(key) is own:
            del self._parked[key]
        if own.replacement.done() and not own.replacement.cancelled():
            return own.replacement.result()
        return answer

    def _earlier_answer(self, passage: Passage, fault: Fault, answer: Answer) -> Answer:
        earlier = self._earlier.get(_memory_key(passage), ())
        back = fault.back or 1
        return earlier[-back] if len(earlier) >= back else answer

    def _remember(self, passage: Passage, answer: Answer) -> None:
        kept = self._verdicts.rules.repeats
        if not kept or len(answer.body) > REMEMBERED_BYTES_MAX:
            return
        key = _memory_key(passage)
        earlier = deque(self._earlier.pop(key, ()), maxlen=kept)
        earlier.append(answer)
        self._earlier[key] = earlier
        if len(self._earlier) > CALLERS_REMEMBERED_MAX:
            self._earlier.popitem(last=False)


async def send_whole(send: Send, answer: Answer) -> None:
    """Send a whole answer."""
    await send({"type": "http.response.start", "status": answer.status, "headers": answer.headers})
    await send({"type": "http.response.body", "body": answer.body})


async def _begin(send: Send, answer: Answer) -> None:
    headers = answer.with_header(b"content-length", b"%d" % len(answer.body)).headers
    await send({"type": "http.response.start", "status": answer.status, "headers": headers})


def _memory_key(passage: Passage) -> tuple[str, str]:
    return passage.call.runner_uuid, passage.entry.path


def _resolve(future: "asyncio.Future[Answer]", answer: Answer) -> None:
    if not future.done():
        future.set_result(answer)
