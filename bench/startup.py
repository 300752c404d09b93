"""How long until `mockgitea serve` answers its first Ping, and how much memory does it take while idle?"""

import argparse
import json
import socket
import sys
import tempfile
import time
from pathlib import Path

import psutil
from _measuring import process, summary, write_result

PROMISE_PING_S = 1.0
PROMISE_IDLE_MB = 100.0
SERVER_CORE = 0
PING = (
    b"POST /api/actions/ping.v1.PingService/Ping HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/proto\r\n"
    b"Content-Length: 4\r\n\r\n\x0a\x02r1"
)


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as probe:
        return int(probe.getsockname()[1])


def ping(port: int) -> bool:
    try:
        with socket.create_connection(("127.0.0.1", port), timeout=5) as connection:
            connection.sendall(PING)
            return connection.recv(4096).startswith(b"HTTP/1.1 200")
    except OSError:
        return False


def measure(folder: Path, *arguments: str) -> tuple[float, float, float]:
    """Return seconds to the first Ping, seconds until every part is ready, and idle megabytes."""
    port, ready = free_port(), folder / "ready.json"
    command = [sys.executable, "-m", "mockgitea", "serve", "--port", str(port), "--control-port", "0"]
    started = time.perf_counter()
    with process([*command, "--ready-file", str(ready), *arguments], core=SERVER_CORE) as server:
        while not ping(port):
            time.sleep(0.002)
        first_ping_s = time.perf_counter() - started
        while not ready.exists():
            time.sleep(0.002)
        ready_s = time.perf_counter() - started
        json.loads(ready.read_text())
        time.sleep(0.3)
        return first_ping_s, ready_s, psutil.Process(server.pid).memory_info().rss / 1e6


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--smoke", action="store_true", help="one short iteration, no result file")
    parser.add_argument("--runs", type=int, default=7)
    options = parser.parse_args()
    results = {}
    with tempfile.TemporaryDirectory() as name:
        for label, arguments in (("plain", ()), ("with_grpc", ("--grpc-port", "0"))):
            measured = [measure(Path(name), *arguments) for _ in range(1 if options.smoke else options.runs)]
            pings, readies, sizes = zip(*measured, strict=True)
            results[label] = {
                "first_ping_s": summary(pings), "ready_s": summary(readies), "idle_mb": summary(sizes),
            }  # fmt: skip
            found = results[label]
            print(
                f"{label}: first Ping {found['first_ping_s']['median']:.2f} s (promised {PROMISE_PING_S:g}), "
                f"ready {found['ready_s']['median']:.2f} s, idle {found['idle_mb']['median']:.0f} MB"
            )
    if not options.smoke:
        promises = {"promise_first_ping_s": PROMISE_PING_S, "promise_idle_mb": PROMISE_IDLE_MB}
        print(write_result("startup", {**promises, "results": results}))


if __name__ == "__main__":
    main()
