"""The audit log. Rows are added and read, nothing else."""

import msgspec

from roomful.domain.audit import Audited, AuditQuery
from roomful.domain.shape import UNSET, encode_json
from roomful.store.database import Database, Reader, Write

_decode = msgspec.json.Decoder(Audited).decode
_ADD = """
INSERT INTO audit (id, action, by_id, entity_id, body) VALUES (?, ?, ?, ?, ?) ON CONFLICT DO NOTHING"""
_ADD_SPACE = "INSERT INTO audit_spaces (space_id, audit_id) VALUES (?, ?) ON CONFLICT DO NOTHING"


def add_audit(row: Audited) -> Write:
    """The same row twice is one: a step that is done again after a takeover brings it again."""
    entity_id = None if row.entity_id is UNSET else row.entity_id
    values = (row.id, row.action, row.by, entity_id, encode_json(row).decode())

    def write(db: Database) -> None:
        db.count(_ADD, values)
        for space_id in dict.fromkeys(row.space_ids):
            db.count(_ADD_SPACE, (space_id, row.id))

    return write


async def audit(reader: Reader, query: AuditQuery) -> list[Audited]:
    where, params = ["a.id > ?"], [query.after or ""]
    join = ""
    if query.space_id is not None:
        join = "JOIN audit_spaces s ON s.audit_id = a.id AND s.space_id = ?"
        params.insert(0, query.space_id)
    if query.before is not None:
        where.append("a.id < ?")
        params.append(query.before)
    if query.action is not None:
        where.append("a.action = ?")
        params.append(query.action)
    if query.entity_id is not None:
        where.append("(a.by_id = ? OR a.entity_id = ?)")
        params += [query.entity_id, query.entity_id]
    order = "ASC" if query.after is not None else "DESC"
    sql = f"SELECT a.body FROM audit a {join} WHERE {' AND '.join(where)} ORDER BY a.id {order} LIMIT ?"
    rows = await reader.rows(sql, (*params, query.limit), slow=True)
    return sorted((_decode(body) for (body,) in rows), key=lambda row: row.id)
