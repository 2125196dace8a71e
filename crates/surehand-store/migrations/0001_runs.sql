-- Runs and what they wrote. Times are RFC 3339, UTC, with milliseconds, so that text order is time order.

CREATE TABLE runs (
    id                  TEXT    NOT NULL PRIMARY KEY, -- UUID version 7: text order is the order of making
    toolset             TEXT    NOT NULL,
    tool                TEXT    NOT NULL,
    principal           TEXT    NOT NULL,
    channel             TEXT    NOT NULL,
    client_name         TEXT,
    client_version      TEXT,
    arguments           TEXT    NOT NULL,             -- JSON object
    command             TEXT    NOT NULL,             -- JSON array of strings
    display             TEXT    NOT NULL,
    cwd                 TEXT,
    status              TEXT    NOT NULL,
    created_at          TEXT    NOT NULL,
    started_at          TEXT,
    completed_at        TEXT,                         -- set exactly when the status is final
    duration_ms         INTEGER,
    exit_code           INTEGER,
    signal              TEXT,
    error               TEXT,
    owner_pid           INTEGER NOT NULL,             -- the process that carries the run out
    owner_started       INTEGER NOT NULL,
    owner_boot          TEXT    NOT NULL,
    owner_namespace     INTEGER NOT NULL,
    cancel_requested_at TEXT,
    cancel_requested_by TEXT,
    size                INTEGER NOT NULL              -- bytes that the run takes, outputs included
) STRICT;

CREATE INDEX runs_by_status ON runs (status, id);
CREATE INDEX runs_by_tool ON runs (tool, status, id);
CREATE INDEX runs_by_size ON runs (size);
CREATE INDEX runs_unfinished ON runs (id) WHERE completed_at IS NULL;
CREATE INDEX runs_to_cancel ON runs (id) WHERE completed_at IS NULL AND cancel_requested_at IS NOT NULL;

CREATE TABLE outputs (
    run_id      TEXT    NOT NULL REFERENCES runs (id) ON DELETE CASCADE,
    stream      TEXT    NOT NULL,
    total_bytes INTEGER NOT NULL,
    kept_bytes  INTEGER NOT NULL,
    sha256      TEXT    NOT NULL,
    spooled     INTEGER NOT NULL, -- 1: what is kept is in a file of the run's folder
    inline      BLOB,             -- what is kept, where it is not spooled
    PRIMARY KEY (run_id, stream)
) STRICT;
