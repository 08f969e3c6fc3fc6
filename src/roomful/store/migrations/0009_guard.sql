CREATE TABLE mcp_pins (
  agent_id TEXT NOT NULL,
  server TEXT NOT NULL,
  address TEXT NOT NULL,
  digests TEXT NOT NULL,
  PRIMARY KEY (agent_id, server, address)
);

CREATE TABLE audit (
  id TEXT NOT NULL PRIMARY KEY,
  action TEXT NOT NULL,
  by_id TEXT NOT NULL,
  entity_id TEXT,
  body TEXT NOT NULL
);
CREATE TABLE audit_spaces (
  space_id TEXT NOT NULL,
  audit_id TEXT NOT NULL REFERENCES audit (id),
  PRIMARY KEY (space_id, audit_id)
);
CREATE INDEX audit_by_maker ON audit (by_id, id);
CREATE INDEX audit_by_entity ON audit (entity_id, id) WHERE entity_id IS NOT NULL;
CREATE INDEX audit_by_action ON audit (action, id);
