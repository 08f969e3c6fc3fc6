CREATE TABLE invites (
  digest BLOB NOT NULL PRIMARY KEY,
  space_id TEXT NOT NULL REFERENCES spaces (id),
  role TEXT NOT NULL,
  maker_id TEXT,
  expires_at DOUBLE PRECISION NOT NULL
) WITHOUT ROWID;
CREATE INDEX invites_by_space ON invites (space_id);
CREATE INDEX invites_by_expiry ON invites (expires_at);
