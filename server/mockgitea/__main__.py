"""`python -m mockgitea` is the `mockgitea` command."""

from mockgitea.cli import main

if __name__ == "__main__":
    raise SystemExit(main())
