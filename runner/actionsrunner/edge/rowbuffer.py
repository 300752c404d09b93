"""The rows of one task that the server has not acknowledged: in memory, and in a file once they are many.

Nothing is ever dropped, and appending costs the same however many rows wait. Rows are addressed by their absolute
number; when and what to send is decided elsewhere.
"""

import os
import struct
import tempfile
from collections import deque
from itertools import islice
from typing import IO, Final

import structlog

from actionsrunner.core.rows import Row

MEMORY_BYTES_MAX: Final = 64 * 1024 * 1024
"""Rows beyond this go to a temporary file."""
ROW_OVERHEAD_BYTES: Final = 160
"""What a row costs in memory besides its text."""
_REFILL_BYTES_MAX: Final = 8 * 1024 * 1024
"""How much is read back from the file at a time."""
_UTF8_BYTES_MAX: Final = 4
"""Bytes of one character."""
_HEAD: Final = struct.Struct("<qI")

log = structlog.get_logger(__name__)


class RowBuffer:
    """A first-in-first-out store of rows; the oldest are in memory, the newest may be in a file."""

    def __init__(self, *, memory_bytes_max: int = MEMORY_BYTES_MAX) -> None:
        self._memory_bytes_max = memory_bytes_max
        self._rows: deque[Row] = deque()
        self._bytes = 0
        self._offset = 0
        self._total = 0
        self._file: IO[bytes] | None = None
        self._file_rows = 0
        self._read_at = 0
        self._write_at = 0
        self._spilling_failed = False

    @property
    def total(self) -> int:
        """Rows ever appended, which is the absolute number of the next one."""
        return self._total

    @property
    def spilled(self) -> int:
        """Rows that are in the file now."""
        return self._file_rows

    def append(self, row: Row) -> int:
        """Add a row at the end and return the new total."""
        self._total += 1
        # While older rows are in the file, newer ones must follow them there.
        if (self._file_rows or self._bytes >= self._memory_bytes_max) and self._spill(row):
            return self._total
        self._rows.append(row)
        self._bytes += len(row.content) + ROW_OVERHEAD_BYTES  # `_cost`, which every row would have to call
        return self._total

    def peek(self, rows_max: int, bytes_max: int) -> list[Row]:
        """Return the oldest rows: at most ``rows_max``, and no more than ``bytes_max`` but at least one."""
        taken: list[Row] = []
        size = 0
        if self._file_rows and len(self._rows) < rows_max and self._bytes < bytes_max:
            self._refill()
        if self._bytes * _UTF8_BYTES_MAX <= bytes_max:
            return list(islice(self._rows, rows_max))
        for row in islice(self._rows, rows_max):
            size += row_bytes(row)
            if taken and size > bytes_max:
                break
            taken.append(row)
        return taken

    def cut_oldest(self, bytes_max: int) -> None:
        """Keep at most ``bytes_max`` bytes of the oldest row, which `peek` has just returned."""
        row = self._rows[0]
        kept = row.content.encode()[:bytes_max].decode(errors="ignore")
        self._rows[0] = Row(row.at_us, kept)
        self._bytes += _cost(self._rows[0]) - _cost(row)

    def drop_to(self, offset: int) -> None:
        """Forget the rows before the absolute number ``offset``; they are acknowledged."""
        if not self._file_rows and offset - self._offset == len(self._rows):
            self._rows.clear()
            self._bytes = 0
            self._offset = offset
            return
        while self._offset < offset:
            if not self._rows:
                self._refill()
            self._bytes -= _cost(self._rows.popleft())
            self._offset += 1

    def close(self) -> None:
        """Remove the file; the buffer is not used after this."""
        if self._file is not None:
            self._file.close()
            self._file = None

    def _spill(self, row: Row) -> bool:
        """Write ``row`` to the file; False means that it has to stay in memory."""
        content = row.content.encode()
        record = _HEAD.pack(row.at_us, len(content)) + content
        try:
            if self._file is None:
                self._file = tempfile.TemporaryFile(prefix="actionsrunner-rows-", buffering=0)  # noqa: SIM115  lives as long as the task
            written = os.pwrite(self._file.fileno(), record, self._write_at)
        except OSError as error:
            return self._stay_in_memory(str(error))
        if written < len(record):
            return self._stay_in_memory("short write")
        self._write_at += written
        self._file_rows += 1
        return True

    def _stay_in_memory(self, reason: str) -> bool:
        if not self._spilling_failed:
            log.error("spill_failed", error=reason, rows_in_memory=len(self._rows))
        self._spilling_failed = True
        # Memory may take a row only while none is in the file, or the order would be lost.
        while self._file_rows:
            self._refill()
        return False

    def _refill(self) -> None:
        assert self._file is not None and self._file_rows
        descriptor = self._file.fileno()
        loaded = 0
        while self._file_rows and loaded < _REFILL_BYTES_MAX:
            at_us, length = _HEAD.unpack(os.pread(descriptor, _HEAD.size, self._read_at))
            row = Row(at_us, os.pread(descriptor, length, self._read_at + _HEAD.size).decode())
            self._read_at += _HEAD.size + length
            self._file_rows -= 1
            self._rows.append(row)
            self._bytes += _cost(row)
            loaded += _cost(row)
        if not self._file_rows:
            os.ftruncate(descriptor, 0)
            self._read_at = self._write_at = 0


def row_bytes(row: Row) -> int:
    """Return what a row counts against the limit of a call: its text, an empty one as a single byte."""
    return max(1, len(row.content.encode()))


def _cost(row: Row) -> int:
    return len(row.content) + ROW_OVERHEAD_BYTES
