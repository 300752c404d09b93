"""Use cases: the one place where rules, store and wake-ups meet. Every transport calls these and nothing else."""
