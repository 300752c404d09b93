"""Bytes in, bytes out: Connect, gRPC, REST v1, the page's JSON and the control API over the same services."""
