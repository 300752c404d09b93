"""Hash runner and task tokens, and compare them in constant time.

Tokens are 160 random bits, so one round of salted SHA-256 is enough; nothing here draws randomness.
"""

import hashlib
import hmac


def hash_token(token: str, salt: str) -> str:
    """Return the hex digest under which a token is kept."""
    return hashlib.sha256(f"{salt}:{token}".encode()).hexdigest()


def last_eight(token: str) -> str:
    """Return the characters of a task's token that are kept in the open, to find its row."""
    return token[-8:]


def token_matches(token: str, salt: str, digest: str) -> bool:
    """Tell whether ``token`` is the one behind ``digest``, in time that does not depend on the answer."""
    return hmac.compare_digest(hash_token(token, salt), digest)
