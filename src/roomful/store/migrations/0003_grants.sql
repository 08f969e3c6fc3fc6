ALTER TABLE calls ADD COLUMN deadline DOUBLE PRECISION;
CREATE INDEX calls_by_deadline ON calls (deadline) WHERE status = 'waiting' AND deadline IS NOT NULL;

CREATE TABLE grants (
  id TEXT NOT NULL PRIMARY KEY,
  space_id TEXT NOT NULL,
  agent_id TEXT NOT NULL,
  created_at TEXT NOT NULL,
  body TEXT NOT NULL
);
CREATE INDEX grants_by_space ON grants (space_id, created_at, id);
CREATE INDEX grants_by_agent ON grants (agent_id);
