"""Pure rules of the server: values and `now` in, values out. No I/O, no clock, no event loop, no global random."""
