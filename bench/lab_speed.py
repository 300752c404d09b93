"""How fast the laboratory simulates: the headline under two strategies, and 10,000 idle runners.

Each scenario runs in its own process, so that its memory can be read from the operating system. Beside it stands what
a bare ASGI call costs in the same process right before and after, since machines differ and are shared. Prints JSON,
one line a case; a whole run writes a result file too.
"""

from __future__ import annotations

import argparse
import asyncio
import dataclasses
import json
import multiprocessing
import resource
import sys
import time
from typing import Any, Final

from _measuring import write_result

from mockgitea.lab.run import run
from mockgitea.lab.scenario import Scenario
from mockgitea.lab.scenario_reader import read_preset
from mockgitea.lab.strategies import StrategyChoice
from mockgitea.lab.transport import call

SECOND_US = 1_000_000
WHOLE_S = 600
"""The virtual time that the limits are for."""
BARE_CALLS = 20_000
CASES: dict[str, tuple[str, str, int, float]] = {
    "headline-fixed": ("headline", "fixed", 200, 60.0),
    "headline-current": ("headline", "current", 200, 20.0),
    "idle-10000": ("idle", "current", 10_000, 180.0),
}
"""Name -> preset, strategy, runners, and the processor seconds that the whole simulation may take."""
SMOKE_SHARE: Final = 40
SMOKE_S: Final = 5
"""A smoke test has one runner of so many, and so many virtual seconds."""


def scenario_of(preset: str, runners: int, *, seconds: int, warm_up: int) -> Scenario:
    """Return a preset with another size and duration."""
    scenario = read_preset(preset)
    fleet = dataclasses.replace(scenario.fleet, runners=runners)
    return dataclasses.replace(
        scenario, fleet=fleet, duration_us=(seconds - warm_up) * SECOND_US, warm_up_us=warm_up * SECOND_US
    )


def bare_us() -> float:
    """Return the processor time of one call, in microseconds, to an application that does nothing."""

    async def app(_: Any, receive: Any, send: Any) -> None:
        await receive()
        await send({"type": "http.response.start", "status": 200, "headers": [(b"content-type", b"application/proto")]})
        await send({"type": "http.response.body", "body": b"x"})

    async def calls() -> None:
        for _ in range(BARE_CALLS):
            await call(app, "/", {"content-type": "application/proto"}, b"x")

    began = time.process_time()
    asyncio.run(calls())
    return (time.process_time() - began) / BARE_CALLS * 1e6


def measure(case: str, seconds: int, share: int = 1) -> dict[str, Any]:
    """Simulate ``seconds`` of virtual time with one runner of ``share`` and return the cost."""
    preset, strategy, runners, limit_s = CASES[case]
    whole = seconds >= WHOLE_S and share == 1
    scenario = scenario_of(preset, runners // share, seconds=seconds, warm_up=min(120, seconds // 2))
    bare = bare_us()
    began, began_cpu = time.perf_counter(), time.process_time()
    result = run(scenario, StrategyChoice(name=strategy))
    cpu_s, wall_s = time.process_time() - began_cpu, time.perf_counter() - began
    requests = result.connections["attempts"]
    return {
        "case": case,
        "virtual_s": seconds,
        "requests": requests,
        "rate_per_s": result.rates["total"],
        "cpu_s": round(cpu_s, 2),
        "wall_s": round(wall_s, 2),
        "cpu_us_per_request": round(cpu_s / requests * 1e6, 1),
        "bare_us_per_request": [round(bare, 1), round(bare_us(), 1)],
        "memory_mib": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024,
        "limit_s": limit_s,
        "within": cpu_s <= limit_s if whole else None,
    }


def main() -> int:
    """Run the chosen cases one after the other."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("cases", nargs="*", choices=[*CASES, []], help="default: all")
    parser.add_argument("--seconds", type=int, default=600, help="virtual seconds")
    parser.add_argument("--smoke", action="store_true", help="a few runners for a few virtual seconds, no result file")
    options = parser.parse_args()
    context = multiprocessing.get_context("spawn")
    seconds, share = (SMOKE_S, SMOKE_SHARE) if options.smoke else (options.seconds, 1)
    results = []
    for case in options.cases or CASES:
        if options.smoke:
            results.append(measure(case, seconds, share))
        else:
            with context.Pool(1) as pool:
                results.append(pool.apply(measure, (case, seconds, share)))
        print(json.dumps(results[-1]), flush=True)
    if not options.smoke:
        command = " ".join(["python bench/lab_speed.py", *options.cases, f"--seconds {seconds}"])
        print(write_result("lab_speed", {"command": command, "results": results}))
    return 0


if __name__ == "__main__":
    sys.exit(main())
