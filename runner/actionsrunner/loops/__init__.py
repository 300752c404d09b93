"""The waiting: loops that ask the pure cores what to do and do it."""
