"""Verification of what went over the runner's ports: the live journal, exported sessions, and their replay."""
