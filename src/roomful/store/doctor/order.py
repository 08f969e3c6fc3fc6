"""Every space counts its messages 1, 2, 3 … up to `last_seq`, those that were deleted among them."""

from itertools import groupby
from operator import itemgetter

from roomful.store.doctor.finding import Finding, Findings
from roomful.store.doctor.reading import Snapshot

_SEQS = """
SELECT s.id, s.last_seq, m.seq FROM spaces s LEFT JOIN messages m ON m.space_id = s.id
ORDER BY s.id, m.seq"""
_IDS_TWICE = "SELECT id, count(*) FROM messages GROUP BY id HAVING count(*) > 1"
_READ_BEYOND = """
SELECT m.space_id, m.entity_id, m.read_seq, s.last_seq FROM members m JOIN spaces s ON s.id = m.space_id
WHERE m.read_seq > s.last_seq"""


def seqs(db: Snapshot) -> Findings:
    for (space_id, last_seq), rows in groupby(db.rows(_SEQS), key=itemgetter(0, 1)):
        last = 0
        for seq in (row[2] for row in rows if row[2] is not None):
            yield from _step(space_id, last, seq, last_seq)
            last = seq
        if last < last_seq:
            yield _gap(space_id, last + 1, last_seq)


def _step(space_id: str, last: int, seq: int, last_seq: int) -> Findings:
    place = f"{space_id}/{seq}"
    if seq == last:
        yield Finding("seq_twice", "messages", place, "two messages have this place: restore a backup")
    elif seq > last + 1:
        yield _gap(space_id, last + 1, seq - 1)
    if seq > last_seq:
        problem = f"lies beyond the space's last_seq {last_seq}: raise that to the highest seq there is"
        yield Finding("seq_beyond", "messages", place, problem)


def _gap(space_id: str, first: int, last: int) -> Finding:
    missing = f"message {first} is" if first == last else f"messages {first} to {last} are"
    return Finding("seq_gap", "messages", f"{space_id}/{first}", f"{missing} missing: restore a backup")


def message_ids(db: Snapshot) -> Findings:
    for message_id, count in db.rows(_IDS_TWICE):
        yield Finding("id_twice", "messages", message_id, f"{count} messages have this id: restore a backup")


def read_marks(db: Snapshot) -> Findings:
    for space_id, entity_id, read, last in db.rows(_READ_BEYOND):
        problem = f"has read up to {read}, but the last message is {last}: set read_seq to {last}"
        yield Finding("read_beyond", "members", f"{space_id}/{entity_id}", problem)
