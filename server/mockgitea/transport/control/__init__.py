"""The control API: what a test does to the mock. Lives on its own listener, never faulted."""
