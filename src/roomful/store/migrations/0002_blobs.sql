CREATE TABLE blobs (
  id TEXT NOT NULL PRIMARY KEY,
  owner_id TEXT NOT NULL REFERENCES entities (id),
  media_type TEXT NOT NULL,
  name TEXT,
  size BIGINT NOT NULL,
  digest BLOB NOT NULL,
  created_at TEXT NOT NULL,
  data BLOB NOT NULL
);
CREATE INDEX blobs_by_owner ON blobs (owner_id);

CREATE TABLE blob_spaces (
  blob_id TEXT NOT NULL REFERENCES blobs (id),
  space_id TEXT NOT NULL REFERENCES spaces (id),
  PRIMARY KEY (blob_id, space_id)
) WITHOUT ROWID;
CREATE INDEX blob_spaces_by_space ON blob_spaces (space_id);
