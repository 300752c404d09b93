"""What an Actions server and its runners must agree on: messages, codes, labels, results, log arithmetic.

Pure: no I/O, no clock, no event loop. Both `mockgitea` and `actionsrunner` import it; it imports neither.
"""
