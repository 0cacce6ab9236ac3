import pytest
import sqlalchemy as sa

from deniable.console.accounts import tokens
from deniable.errors import DeniableError


def test_tokens(connection: sa.Connection, key: bytes) -> None:
    secret = tokens.make(connection, key, "hotline", ["status", "reports"])
    found = tokens.find(connection, key, secret)
    assert found is not None
    assert (found.name, found.scopes) == ("hotline", ("reports", "status"))
    assert tokens.find(connection, key, secret[:-1]) is None
    with pytest.raises(DeniableError, match="a token called Hotline already"):
        tokens.make(connection, key, "Hotline", ["status"])
    for scopes in ([], ["people"], ["status", "people"]):
        with pytest.raises(DeniableError, match="choose what the token may do"):
            tokens.make(connection, key, "other", scopes)
    assert tokens.listed(connection, key) == [found]
    assert tokens.revoke(connection, found.id) == "hotline"
    assert tokens.find(connection, key, secret) is None
    with pytest.raises(DeniableError, match="no such token"):
        tokens.revoke(connection, found.id)
