"""The configuration keys that choose how to poll, how to report and which connections to keep. All are ours."""

from typing import Final

from actionsrunner.core.reporting import Retry
from actionsrunner.keys import Key, Kind
from actionsrunner.strategy_table import POLL, POOLS, PRESETS, REPORT

STRATEGY_KEYS: Final[tuple[Key, ...]] = (
    Key(
        name="runner.preset",
        kind=Kind.CHOICE,
        default="current",
        choices=tuple(PRESETS),
        help="Which runner to be towards the server; the sections poll, report and pool override its parts.",
        ours=True,
    ),
    Key(
        name="runner.poll.strategy",
        kind=Kind.CHOICE,
        default="current",
        choices=tuple(POLL),
        help="When to fetch; unless given, that of the preset.",
        ours=True,
    ),
    Key(
        name="runner.poll.jitter",
        kind=Kind.FLAG,
        default=True,
        help="Spread waits and the breaker's cooldown by 20 %.",
        ours=True,
    ),
    Key(
        name="runner.poll.one_counter",
        kind=Kind.FLAG,
        default=False,
        help="Count empty and failed fetches together and forget all of them at the first good answer after a failure.",
        ours=True,
    ),
    Key(
        name="runner.poll.poll_while_full",
        kind=Kind.FLAG,
        default=False,
        help="Let fixed and per-worker go on asking while every slot is taken.",
        ours=True,
    ),
    Key(
        name="runner.poll.breaker_threshold",
        kind=Kind.COUNT,
        default=0,
        help="After so many failed fetches in a row make none for a while; 0 for never.",
        ours=True,
    ),
    Key(
        name="runner.poll.breaker_cooldown",
        kind=Kind.DURATION,
        default="30s",
        least=0.001,
        help="How long that is, spread by 20 %; then one fetch decides.",
        ours=True,
    ),
    Key(
        name="runner.report.strategy",
        kind=Kind.CHOICE,
        default="current",
        choices=tuple(REPORT),
        help="When to report; unless given, that of the preset.",
        ours=True,
    ),
    Key(
        name="runner.report.interval",
        kind=Kind.DURATION,
        default="1s",
        least=0.001,
        help="Pause between two rounds of fixed.",
        ours=True,
    ),
    Key(
        name="runner.report.retry",
        kind=Kind.CHOICE,
        default="interval",
        choices=tuple(retry.value for retry in Retry),
        help="What brings the next try after rows could not be sent; event-driven takes every-row unless given.",
        ours=True,
    ),
    Key(
        name="runner.report.breaker_threshold",
        kind=Kind.COUNT,
        default=0,
        help="After so many failed reports of a task in a row make none for a while; 0 for never.",
        ours=True,
    ),
    Key(
        name="runner.report.breaker_cooldown",
        kind=Kind.DURATION,
        default="30s",
        least=0.001,
        help="How long that is, spread by 20 %; the reports that close a task are made in any case.",
        ours=True,
    ),
    Key(
        name="runner.pool.preset",
        kind=Kind.CHOICE,
        default="tuned",
        choices=tuple(POOLS),
        help="Which connections to keep; unless given, those of runner.preset.",
        ours=True,
    ),
    Key(
        name="runner.pool.idle_connections",
        kind=Kind.COUNT,
        default=10,
        most=1000,
        help="Most connections kept without a call.",
        ours=True,
    ),
    Key(
        name="runner.pool.idle_timeout",
        kind=Kind.DURATION,
        default="90s",
        help="How long each is kept.",
        ours=True,
    ),
)
