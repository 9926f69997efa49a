"""The tables of a call store in SQL."""

import zlib
from collections.abc import Sequence
from typing import Any

from driftledger.core.canonical import sha256_bytes

VERSION = 6
"""Version of the tables."""

CREATE = f"""BEGIN IMMEDIATE;
CREATE TABLE calls (
    key BLOB PRIMARY KEY,       -- SHA-256
    result BLOB NOT NULL,       -- canonical JSON
    image BLOB,                 -- SHA-256
    checksum INTEGER NOT NULL,  -- CRC-32 of the columns before it
    component INTEGER,          -- the first 8 bytes of the SHA-256 of its fingerprint
    dataset TEXT NOT NULL, sample TEXT NOT NULL, t INTEGER NOT NULL,  -- context, not in the key
    seconds REAL NOT NULL, input_tokens INTEGER, output_tokens INTEGER,
    cost REAL,                  -- as far as it was counted
    most_cost REAL
);
CREATE TABLE spent (  -- attempts at services and their largest cost, by the store that made them
    component TEXT, store TEXT, attempts INTEGER NOT NULL, cost REAL NOT NULL,
    PRIMARY KEY (component, store)
);
CREATE TABLE submitted (  -- calls in batches of services, without results
    key TEXT PRIMARY KEY, component TEXT NOT NULL,
    file TEXT NOT NULL, sent REAL NOT NULL, id TEXT, most REAL NOT NULL  -- its largest cost
);
CREATE TABLE store (name TEXT NOT NULL);
CREATE TABLE pictures (  -- size and time of a file when it was last hashed
    image BLOB PRIMARY KEY, size INTEGER NOT NULL, mtime_ns INTEGER NOT NULL
);
INSERT INTO store VALUES (lower(hex(randomblob(8))));
PRAGMA user_version = {VERSION};
COMMIT;"""
COLUMNS = "key, result, image, checksum, component, dataset, sample, t, "
COLUMNS += "seconds, input_tokens, output_tokens, cost, most_cost"
CALL = 13
"""Number of columns of a call."""
INSERT = f"INSERT OR {{}} INTO calls ({COLUMNS}) VALUES ({', '.join('?' * CALL)})"
MERGE_SPENT = """INSERT INTO spent VALUES (?, ?, ?, ?) ON CONFLICT DO UPDATE
SET attempts = max(attempts, excluded.attempts), cost = max(cost, excluded.cost)"""
LEFT = {
    INSERT.format("IGNORE"): f"SELECT {COLUMNS} FROM calls NOT INDEXED "
    "WHERE typeof(result) = 'blob'",
    MERGE_SPENT: "SELECT * FROM spent NOT INDEXED WHERE length(component) = 64 AND "
    "typeof(store) = 'text' AND typeof(attempts) = 'integer' AND typeof(cost) = 'real'",
    "INSERT OR IGNORE INTO submitted VALUES (?, ?, ?, ?, ?, ?)": "SELECT * FROM submitted "
    "NOT INDEXED WHERE length(key) = 64 AND length(component) = 64 AND typeof(file) = 'text' "
    "AND typeof(sent) = 'real' AND typeof(most) = 'real'",
}
"""Statement that inserts a row → query that finds such rows among those of other tables in a
damaged store."""
HAVE_ARRIVED = "DELETE FROM submitted WHERE key IN (SELECT lower(hex(key)) FROM calls)"

COMPUTED = "SELECT 1 FROM sqlite_master WHERE type IN ('view', 'trigger')"
"""Find views and triggers: no store of ours has any, and one may run for ever."""


def is_intact(row: Sequence[Any]) -> bool:
    """Return True if a row of calls is as it was stored: key, result, image, checksum."""
    are_bytes = all(isinstance(cell, bytes | None) for cell in row[:3])
    return are_bytes and row[3] == checksum(*row[:3])


def checksum(*columns: bytes | None) -> int:
    """Return the checksum of the first columns of a call."""
    return zlib.crc32(b"".join(filter(None, columns)))


def component_id(fingerprint: str) -> int:
    """Return a component's number in the rows of calls, by its fingerprint."""
    return int.from_bytes(
        bytes.fromhex(sha256_bytes(fingerprint.encode()))[:8], "big", signed=True
    )
