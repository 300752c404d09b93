"""Where the runner touches the world: sockets, files, the clock."""
