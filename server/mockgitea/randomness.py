"""Seeded randomness, one independent generator per purpose.

Everything random in the server (ids, tokens, salts, fault draws) comes from a stream of this object, so one printed
seed reproduces a run, and drawing more of one kind never shifts another.
"""

import random
import secrets
import string
import uuid
from typing import Final

_ALNUM: Final = string.ascii_letters + string.digits
_URL: Final = _ALNUM + "-_"


class Randomness:
    """Named random streams under one seed.

    Args:
        seed: any integer; None draws a fresh 64-bit one from the operating system.
    """

    def __init__(self, seed: int | None = None) -> None:
        self.seed = secrets.randbits(64) if seed is None else seed
        self._generation = 0
        self._streams: dict[str, random.Random] = {}

    def begin_generation(self, number: int) -> None:
        """Draw from other streams from now on: restart ``number`` on a file must not repeat the ids it holds."""
        self._generation = number
        self._streams.clear()

    def stream(self, purpose: str) -> random.Random:
        """Return the generator of this purpose, the same object until the next generation begins."""
        found = self._streams.get(purpose)
        if found is None:
            name = f"{self.seed}:{purpose}" if not self._generation else f"{self.seed}:{self._generation}:{purpose}"
            found = self._streams[purpose] = random.Random(name)  # noqa: S311 - a seeded mock
        return found

    def uuid4(self) -> str:
        """Draw a version 4 UUID as text."""
        return str(uuid.UUID(int=self.stream("uuid").getrandbits(128), version=4))

    def token_hex(self) -> str:
        """Draw a runner or task token: 40 lower-case hex digits."""
        return f"{self.stream('token').getrandbits(160):040x}"

    def registration_token(self, alphabet: str) -> str:
        """Draw a registration token: 40 letters and digits (``alnum``) or 43 with ``-`` and ``_`` (``url``)."""
        letters, length = (_URL, 43) if alphabet == "url" else (_ALNUM, 40)
        return "".join(self.stream("registration").choices(letters, k=length))

    def salt(self, length: int) -> str:
        """Draw a salt of letters and digits."""
        return "".join(self.stream("salt").choices(_ALNUM, k=length))
