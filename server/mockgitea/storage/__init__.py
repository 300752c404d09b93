"""The SQL store: one writer, group commit, intents that are one transaction each."""
