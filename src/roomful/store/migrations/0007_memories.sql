CREATE TABLE memories (
  agent_id TEXT NOT NULL REFERENCES agents (id),
  space_id TEXT REFERENCES spaces (id),
  key TEXT NOT NULL,
  created_at TEXT NOT NULL,
  updated_at TEXT NOT NULL,
  body TEXT NOT NULL
);
CREATE UNIQUE INDEX memories_by_place ON memories (agent_id, coalesce(space_id, ''), key);
CREATE INDEX memories_by_space ON memories (space_id) WHERE space_id IS NOT NULL;

CREATE TABLE goals (
  id TEXT NOT NULL PRIMARY KEY,
  agent_id TEXT NOT NULL REFERENCES agents (id),
  space_id TEXT REFERENCES spaces (id),
  created_at TEXT NOT NULL,
  updated_at TEXT NOT NULL,
  body TEXT NOT NULL
);
CREATE INDEX goals_by_agent ON goals (agent_id, updated_at);
CREATE INDEX goals_by_space ON goals (space_id) WHERE space_id IS NOT NULL;
