"""Gitea's and Forgejo's REST v1, the part that runner tools use."""
