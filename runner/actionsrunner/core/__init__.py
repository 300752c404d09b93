"""Pure decisions of the runner: polling, reporting, masking. No I/O, no clock, no event loop."""
