"""The commands of `actionsrunner`, one module each, with a function ``run(args) -> exit status``."""
