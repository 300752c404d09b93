"""The load laboratory: fleets of production runners against the production server, in virtual time.

Every figure is counted, none is sampled. Nothing outside this package imports it.
"""
