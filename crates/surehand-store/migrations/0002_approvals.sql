-- Calls that wait for a person, and when the store was last tidied.

CREATE TABLE approvals (
    run_id     TEXT NOT NULL PRIMARY KEY REFERENCES runs (id) ON DELETE CASCADE,
    principal  TEXT NOT NULL,
    tool       TEXT NOT NULL,
    digest     TEXT NOT NULL,
    asked_at   TEXT NOT NULL,
    decision   TEXT,          -- approved, rejected, expired, cancelled; NULL while nobody has spoken
    decided_at TEXT,
    decided_by TEXT,
    reason     TEXT,
    taken_at   TEXT           -- when the approved call was carried out
) STRICT;

-- One call waits once.
CREATE UNIQUE INDEX approvals_open ON approvals (principal, tool, digest)
    WHERE taken_at IS NULL AND (decision IS NULL OR decision = 'approved');

CREATE TABLE chores (
    name    TEXT NOT NULL PRIMARY KEY,
    done_at TEXT NOT NULL
) STRICT;
