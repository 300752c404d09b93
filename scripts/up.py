"""`make up`: a server and one runner on this machine until Ctrl-C."""

from __future__ import annotations

import signal
import sys
import threading

from playground import EXAMPLES, Playground


def main() -> int:
    """Start both, say where they are, and wait."""
    ended = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: ended.set())
    with Playground(1, serve_arguments=sys.argv[1:]) as ground:
        example = EXAMPLES.relative_to(EXAMPLES.parent.parent) / "hello.yml"
        print(f"page and control API  {ground.control_url}/")
        print(f"runner port           {ground.runner_url}/")
        print("one runner is connected; hand it a workflow from another terminal:\n")
        print(f"  .venv/bin/mockgitea enqueue --server {ground.control_url} --wait {example}\n")
        print("Ctrl-C stops both.", flush=True)
        while not ended.wait(0.5):
            if ground.server_ended():
                print(f"the server ended by itself:\n{ground.tail('server')}", file=sys.stderr)
                return 1
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
