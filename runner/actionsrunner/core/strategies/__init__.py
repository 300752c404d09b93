"""Ways to poll and to report other than today's: specimens of older runners, and a breaker to lay over any of them.

Each module holds one pure state machine. Today's are in `core/poller.py` and `core/reporter.py`. Specimens keep the
faults of the version they show; names, options and presets are in `actionsrunner.strategies`.
"""
