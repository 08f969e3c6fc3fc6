CREATE TABLE former_members (
  space_id TEXT NOT NULL REFERENCES spaces (id),
  entity_id TEXT NOT NULL REFERENCES entities (id),
  PRIMARY KEY (space_id, entity_id)
) WITHOUT ROWID;
INSERT INTO former_members (space_id, entity_id)
SELECT found.space_id, found.entity_id FROM (
  SELECT space_id, entity_id FROM messages
  UNION SELECT s.space_id, r.agent_id FROM run_spaces s JOIN runs r ON r.id = s.run_id
) AS found
JOIN spaces ON spaces.id = found.space_id
JOIN entities ON entities.id = found.entity_id
WHERE NOT EXISTS (
  SELECT 1 FROM members m WHERE m.space_id = found.space_id AND m.entity_id = found.entity_id
);

CREATE TABLE erased_blobs (
  id TEXT NOT NULL PRIMARY KEY
) WITHOUT ROWID;

DELETE FROM grants WHERE NOT EXISTS (SELECT 1 FROM spaces WHERE spaces.id = grants.space_id);
DELETE FROM grants WHERE NOT EXISTS (SELECT 1 FROM agents WHERE agents.id = grants.agent_id);
DELETE FROM run_spaces WHERE NOT EXISTS (SELECT 1 FROM spaces WHERE spaces.id = run_spaces.space_id);
