"""A runner for Gitea Actions and Forgejo Actions, written to be read, embedded and changed."""
