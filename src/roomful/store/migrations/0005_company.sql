ALTER TABLE runs ADD COLUMN parent_call_id TEXT;
ALTER TABLE runs ADD COLUMN started_by TEXT;
ALTER TABLE runs ADD COLUMN in_turn BOOLEAN NOT NULL DEFAULT FALSE;
ALTER TABLE runs ADD COLUMN tokens BIGINT NOT NULL DEFAULT 0;
CREATE INDEX runs_by_parent ON runs (parent_call_id) WHERE parent_call_id IS NOT NULL;
CREATE INDEX runs_by_root ON runs (root_run_id, id) WHERE root_run_id <> id;
CREATE INDEX runs_by_pair ON runs (started_by, agent_id, created_at) WHERE started_by IS NOT NULL;
CREATE INDEX runs_in_turn ON runs (agent_id, created_at, id)
  WHERE in_turn AND status IN ('queued', 'running');

ALTER TABLE calls ADD COLUMN waits_for TEXT;
ALTER TABLE calls ADD COLUMN waits_in TEXT;
CREATE INDEX calls_waiting ON calls (waits_for, waits_in) WHERE status = 'waiting';

ALTER TABLE messages ADD COLUMN delegates BOOLEAN NOT NULL DEFAULT FALSE;

CREATE TABLE handed (
  run_id TEXT NOT NULL REFERENCES runs (id),
  message_id TEXT NOT NULL,
  step BIGINT,
  body TEXT NOT NULL,
  PRIMARY KEY (run_id, message_id)
);
CREATE INDEX handed_anew ON handed (run_id) WHERE step IS NULL;
