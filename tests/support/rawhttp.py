"""A hand-written HTTP/1.1 client over a plain socket, so that expectations never pass through a library's ideas."""

import json
import socket
import ssl
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

TIMEOUT_S = 20.0
HEADER_BYTES_MAX = 64 * 1024


@dataclass(frozen=True)
class Reply:
    """One response: status, headers as received (name lower-cased), whole body."""

    status: int
    headers: list[tuple[str, str]]
    body: bytes
    reason: str = ""
    raw_head: bytes = field(default=b"", repr=False)

    def header(self, name: str) -> str | None:
        """Return the first header of this name, None when absent."""
        return next((value for key, value in self.headers if key == name.lower()), None)

    def json(self) -> Any:
        """Parse the body as JSON, or fail with the body in the message."""
        try:
            return json.loads(self.body)
        except ValueError:
            raise AssertionError(f"not JSON: {self.status} {self.headers} {self.body[:500]!r}") from None


class Connection:
    """One keep-alive connection."""

    def __init__(self, host: str, port: int, *, tls: ssl.SSLContext | None = None) -> None:
        self.socket = socket.create_connection((host, port), timeout=TIMEOUT_S)
        if tls is not None:
            self.socket = tls.wrap_socket(self.socket, server_hostname=host)
        self.host = f"{host}:{port}"
        self._buffer = b""

    def send(
        self, method: str, path: str, headers: Iterable[tuple[str, str]] = (), body: bytes | Iterable[bytes] = b""
    ) -> None:
        """Write one request; a list of byte strings is sent chunked."""
        lines = [f"{method} {path} HTTP/1.1", f"Host: {self.host}", *(f"{k}: {v}" for k, v in headers)]
        if isinstance(body, bytes):
            names = {key.lower() for key, _ in headers}
            if "content-length" not in names and (body or method in {"POST", "PUT", "PATCH"}):
                lines.append(f"Content-Length: {len(body)}")
            payload = body
        else:
            lines.append("Transfer-Encoding: chunked")
            payload = b"".join(b"%x\r\n%b\r\n" % (len(part), part) for part in body if part) + b"0\r\n\r\n"
        self.socket.sendall("\r\n".join(lines).encode("latin-1") + b"\r\n\r\n" + payload)

    def _fill(self) -> None:
        data = self.socket.recv(65536)
        if not data:
            raise ConnectionError(f"closed by the server after {self._buffer[:200]!r}")
        self._buffer += data

    def _take_until(self, mark: bytes) -> bytes:
        while mark not in self._buffer:
            assert len(self._buffer) < HEADER_BYTES_MAX, "header too long"
            self._fill()
        head, self._buffer = self._buffer.split(mark, 1)
        return head

    def _take(self, count: int) -> bytes:
        while len(self._buffer) < count:
            self._fill()
        taken, self._buffer = self._buffer[:count], self._buffer[count:]
        return taken

    def receive(self, *, head_only: bool = False) -> Reply:
        """Read one response."""
        head = self._take_until(b"\r\n\r\n")
        first, *lines = head.decode("latin-1").split("\r\n")
        _, status, reason = [*first.split(" ", 2), ""][:3]
        headers = [(k.strip().lower(), v.strip()) for k, _, v in (line.partition(":") for line in lines)]
        reply = Reply(int(status), headers, b"", reason, head)
        if head_only or reply.status in {204, 304}:
            return reply
        if (reply.header("transfer-encoding") or "").lower() == "chunked":
            body = b""
            while size := int(self._take_until(b"\r\n").split(b";")[0], 16):
                body += self._take(size)
                self._take(2)
            self._take_until(b"\r\n")
        elif (length := reply.header("content-length")) is not None:
            body = self._take(int(length))
        else:
            body = self._drain()
        return Reply(reply.status, headers, body, reason, head)

    def _drain(self) -> bytes:
        body = self._buffer
        while data := self.socket.recv(65536):
            body += data
        self._buffer = b""
        return body

    def request(self, method: str, path: str, headers: Iterable[tuple[str, str]] = (), body: Any = b"") -> Reply:
        """Send one request and read its response."""
        self.send(method, path, headers, body)
        return self.receive(head_only=method == "HEAD")

    def close(self) -> None:
        """Close the socket."""
        self.socket.close()

    def __enter__(self) -> "Connection":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
