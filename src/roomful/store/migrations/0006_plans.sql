CREATE TABLE plans (
  id TEXT NOT NULL PRIMARY KEY,
  agent_id TEXT NOT NULL REFERENCES agents (id),
  next_at TEXT,
  updated_at TEXT NOT NULL,
  body TEXT NOT NULL
);
CREATE INDEX plans_by_agent ON plans (agent_id);
CREATE INDEX plans_by_time ON plans (next_at) WHERE next_at IS NOT NULL;
