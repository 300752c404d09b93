"""The subcommands of `mockgitea`, one module each, imported only when asked for."""
