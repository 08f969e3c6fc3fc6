CREATE TABLE entities (
  id TEXT NOT NULL PRIMARY KEY,
  name TEXT NOT NULL,
  kind TEXT NOT NULL,
  created_at TEXT NOT NULL
) WITHOUT ROWID;

CREATE TABLE tokens (
  digest BLOB NOT NULL PRIMARY KEY,
  id TEXT NOT NULL UNIQUE,
  entity_id TEXT NOT NULL REFERENCES entities (id),
  created_at TEXT NOT NULL
) WITHOUT ROWID;
CREATE INDEX tokens_of_entity ON tokens (entity_id);

CREATE TABLE agents (
  id TEXT NOT NULL PRIMARY KEY,
  created_at TEXT NOT NULL,
  body TEXT NOT NULL
);

CREATE TABLE spaces (
  id TEXT NOT NULL PRIMARY KEY,
  last_seq BIGINT NOT NULL DEFAULT 0,
  created_at TEXT NOT NULL,
  body TEXT NOT NULL
);

CREATE TABLE members (
  space_id TEXT NOT NULL REFERENCES spaces (id),
  entity_id TEXT NOT NULL REFERENCES entities (id),
  role TEXT NOT NULL,
  joined_at DOUBLE PRECISION NOT NULL,
  read_seq BIGINT NOT NULL DEFAULT 0,
  PRIMARY KEY (space_id, entity_id)
) WITHOUT ROWID;
CREATE INDEX members_by_entity ON members (entity_id);

CREATE TABLE messages (
  space_id TEXT NOT NULL REFERENCES spaces (id),
  seq BIGINT NOT NULL,
  id TEXT NOT NULL UNIQUE,
  entity_id TEXT NOT NULL,
  run_id TEXT,
  status TEXT NOT NULL,
  is_private BOOLEAN NOT NULL,
  is_answered BOOLEAN NOT NULL,
  words TEXT NOT NULL,
  body TEXT NOT NULL,
  PRIMARY KEY (space_id, seq)
) WITHOUT ROWID;
CREATE INDEX messages_by_entity ON messages (entity_id, space_id, seq);
CREATE INDEX messages_open ON messages (run_id) WHERE status = 'open';

CREATE TABLE runs (
  id TEXT NOT NULL PRIMARY KEY,
  agent_id TEXT NOT NULL,
  status TEXT NOT NULL,
  root_run_id TEXT NOT NULL,
  created_at TEXT NOT NULL,
  ended_at TEXT,
  owner TEXT,
  fence BIGINT NOT NULL,
  body TEXT NOT NULL
);
CREATE INDEX runs_by_time ON runs (created_at, id);
CREATE INDEX runs_by_agent ON runs (agent_id, created_at, id);
CREATE INDEX runs_active ON runs (status, created_at, id)
  WHERE status IN ('queued', 'running', 'waiting_tool', 'waiting_reply');
CREATE INDEX runs_active_by_agent ON runs (agent_id, created_at, id)
  WHERE status IN ('queued', 'running', 'waiting_tool', 'waiting_reply');

CREATE TABLE run_spaces (
  space_id TEXT NOT NULL,
  created_at TEXT NOT NULL,
  run_id TEXT NOT NULL REFERENCES runs (id),
  is_active BOOLEAN NOT NULL,
  PRIMARY KEY (space_id, created_at, run_id)
) WITHOUT ROWID;
CREATE INDEX run_spaces_active ON run_spaces (space_id, is_active, created_at, run_id);

CREATE TABLE calls (
  id TEXT NOT NULL PRIMARY KEY,
  run_id TEXT NOT NULL REFERENCES runs (id),
  step BIGINT NOT NULL,
  idx BIGINT NOT NULL,
  status TEXT NOT NULL,
  body TEXT NOT NULL
);
CREATE INDEX calls_by_run ON calls (run_id, step, idx, id);

CREATE TABLE steps (
  run_id TEXT NOT NULL REFERENCES runs (id),
  number BIGINT NOT NULL,
  body TEXT NOT NULL,
  PRIMARY KEY (run_id, number)
);

CREATE TABLE workers (
  id TEXT NOT NULL PRIMARY KEY,
  until DOUBLE PRECISION NOT NULL
) WITHOUT ROWID;

CREATE TABLE answers (
  owner TEXT NOT NULL,
  key TEXT NOT NULL,
  digest BLOB NOT NULL,
  status BIGINT NOT NULL,
  answer BLOB NOT NULL,
  created_at DOUBLE PRECISION NOT NULL,
  PRIMARY KEY (owner, key)
);

CREATE TABLE meta (
  key TEXT NOT NULL PRIMARY KEY,
  value TEXT NOT NULL
) WITHOUT ROWID;

CREATE TABLE writers (
  id TEXT NOT NULL PRIMARY KEY,
  number BIGINT NOT NULL,
  seen DOUBLE PRECISION NOT NULL
) WITHOUT ROWID;
