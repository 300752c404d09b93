"""Token hashes."""

from mockgitea.core.secret_hash import hash_token, token_matches


def test_token_matches_only_its_own_hash_and_salt() -> None:
    digest = hash_token("t" * 40, "salt")
    assert token_matches("t" * 40, "salt", digest)
    assert not token_matches("t" * 39, "salt", digest)
    assert not token_matches("t" * 40, "pepper", digest)
    assert "t" * 40 not in digest
