"""Wrong rows, each with what the doctor says of it: check, table, row and some of its words."""

import json
from collections.abc import Callable
from typing import Any, TypeAlias

from tests.store.whole_house import Spoiler, vote

Plant: TypeAlias = Callable[[Spoiler], object]


def ended(db: Spoiler, run_id: str, status: str = "completed") -> None:
    at = "2026-01-02T12:00:00.000Z"
    change = {"status": status, "endedAt": at}
    db.body("runs", run_id, lambda run: run.update(change), status=status, ended_at=at)


def status(db: Spoiler, table: str, id: str, status: str) -> None:
    db.body(table, id, lambda thing: thing.update(status=status), status=status)


def twice(db: Spoiler, change: str) -> None:
    """Message m1 once more, but for one column."""
    db.without_keys("messages")
    db("CREATE TABLE again AS SELECT * FROM messages WHERE id = 'm1'")
    db(f"UPDATE again SET {change}")
    db("INSERT INTO messages SELECT * FROM again")
    db("DROP TABLE again")
    for (seq,) in db("SELECT seq FROM messages WHERE seq > 7"):
        db("UPDATE messages SET body = replace(body, '\"seq\":1', ?) WHERE seq = ?", f'"seq":{seq}', seq)
        db("UPDATE spaces SET last_seq = ? WHERE id = 's'", seq)
    for (id,) in db("SELECT id FROM messages WHERE seq = 1 AND id <> 'm1'"):
        db('UPDATE messages SET body = replace(body, \'"id":"m1"\', ?) WHERE id = ?', f'"id":"{id}"', id)


def second_child(db: Spoiler) -> None:
    db("CREATE TABLE again AS SELECT * FROM runs WHERE id = 'below'")
    db('UPDATE again SET id = \'beside\', body = replace(body, \'"id":"below"\', \'"id":"beside"\')')
    db("INSERT INTO runs SELECT * FROM again")
    db("DROP TABLE again")


def shown_at(db: Spoiler, call_id: str, part_id: str) -> None:
    """The call shows itself there, in m3, and nowhere else."""
    place = {"spaceId": "s", "messageId": "m3", "partId": part_id}
    db.body("calls", call_id, lambda call: call.update(places=[place]))


def says_twice(db: Spoiler, table: str, id: str, poll: Callable[[dict[str, Any]], dict[str, Any]]) -> None:
    again = {"entityId": "ann", "result": {}, "at": vote("ann").at}
    db.body(table, id, lambda thing: poll(thing)["answers"].append(again))


POINTS = "points_nowhere"
PLANTED: dict[str, tuple[Plant, list[tuple[str, str, str, str]]]] = {
    "a message is gone": (
        lambda db: [db("DELETE FROM messages WHERE id = 'm2'")],
        [("seq_gap", "messages", "s/2", "message 2 is missing")],
    ),
    "the last messages are gone": (
        lambda db: [db("DELETE FROM messages WHERE id IN ('m6', 'm7')")],
        [("seq_gap", "messages", "s/6", "messages 6 to 7 are missing")],
    ),
    "a message beyond the last": (
        lambda db: [db("UPDATE spaces SET last_seq = 6 WHERE id = 's'")],
        [("seq_beyond", "messages", "s/7", "last_seq 6")],
    ),
    "two messages in one place": (
        lambda db: [twice(db, "id = 'm0'")],
        [("seq_twice", "messages", "s/1", "two messages")],
    ),
    "two messages with one id": (
        lambda db: [twice(db, "seq = 8")],
        [("id_twice", "messages", "m1", "2 messages have this id")],
    ),
    "read what is not there": (
        lambda db: [db("UPDATE members SET read_seq = 9 WHERE space_id = 's' AND entity_id = 'ann'")],
        [("read_beyond", "members", "s/ann", "up to 9, but the last message is 7")],
    ),
    "a message that cannot be read": (
        lambda db: [db("UPDATE messages SET body = '{' WHERE id = 'm2'")],
        [("body", "messages", "s/2", "cannot be read")],
    ),
    "a message of another id": (
        lambda db: [db("UPDATE messages SET id = 'mx' WHERE id = 'm2'")],
        [("body", "messages", "s/2", "id is 'mx', but its body says 'm2'")],
    ),
    "a message of another space": (
        lambda db: [db.body("messages", "m2", lambda message: message.update(spaceId="t"))],
        [("body", "messages", "s/2", "space_id is 's', but its body says 't'")],
    ),
    "a message of another place": (
        lambda db: [db.body("messages", "m2", lambda message: message.update(seq=3))],
        [("body", "messages", "s/2", "seq is 2, but its body says 3")],
    ),
    "a message of another status": (
        lambda db: [db("UPDATE messages SET status = 'open' WHERE id = 'm3'")],
        [("body", "messages", "s/3", "status is 'open', but its body says 'final'")],
    ),
    "a message of another run": (
        lambda db: [db("UPDATE messages SET run_id = NULL WHERE id = 'm5'")],
        [
            ("body", "messages", "s/5", "run_id is None, but its body says 'driven'"),
            ("no_end", "messages", "s/5", "is open, but no run goes on with it"),
            ("no_end", "messages", "s/5", "part p6 is running"),
        ],
    ),
    "a run of another status": (
        lambda db: [db("UPDATE runs SET status = 'running' WHERE id = 'below'")],
        [
            ("body", "runs", "below", "status is 'running', but its body says 'queued'"),
            ("no_owner", "runs", "below", "nobody drives it: start a gateway"),
        ],
    ),
    "a call of another step": (
        lambda db: [db("UPDATE calls SET step = 4 WHERE id = 'drawn'")],
        [("body", "calls", "drawn", "step is 4, but its body says 1")],
    ),
    "a run that used other tokens": (
        lambda db: [db("UPDATE runs SET tokens = 5 WHERE id = 'below'")],
        [("body", "runs", "below", "tokens is 5, but its body says 0")],
    ),
    "a run whose body used other tokens": (
        lambda db: [
            db.body("runs", "below", lambda run: run.update(usage={"inputTokens": 2, "outputTokens": 3}))
        ],
        [("body", "runs", "below", "tokens is 0, but its body says 5")],
    ),
    "a call that waits for a message elsewhere": (
        lambda db: [db("UPDATE calls SET waits_in = 't' WHERE id = 'asked'")],
        [("body", "calls", "asked", "waits_in is 't', but its body says None")],
    ),
    "a plan that cannot be read": (
        lambda db: [db("UPDATE plans SET body = '[]' WHERE id = 'plan'")],
        [("body", "plans", "plan", "cannot be read")],
    ),
    "an open message of an ended run": (
        lambda db: [status(db, "messages", "m3", "open")],
        [("no_end", "messages", "s/3", "is open, but its run is completed")],
    ),
    "a streaming part of an ended run": (
        lambda db: [db.part("m3", 0, status="streaming")],
        [("no_end", "messages", "s/3", "part p1 is streaming, but its run is completed")],
    ),
    "a sub-agent at work in an ended run": (
        lambda db: [
            ended(db, "driven", "failed"),
            status(db, "calls", "calls", "error"),
            status(db, "messages", "m5", "final"),
            db.part("m5", 0, status="error"),
        ],
        [("no_end", "messages", "s/5", "part p6 shows a sub-agent at work, but its run is failed")],
    ),
    "a running run of a worker that is gone": (
        lambda db: [db("DELETE FROM workers")],
        [("no_owner", "runs", "driven", "its worker worker is gone: start a gateway")],
    ),
    "a run that waits for nothing": (
        lambda db: [status(db, "calls", "asked", "complete"), db.part("m4", 0, status="complete")],
        [("waits_for_nothing", "runs", "waiting", "is waiting_tool, but none of its calls waits")],
    ),
    "a waiting call of an ended run": (
        lambda db: [ended(db, "waiting"), status(db, "messages", "m4", "final")],
        [("no_end", "calls", "asked", "is waiting, but its run waiting is completed")],
    ),
    "a running call of an ended run": (
        lambda db: [status(db, "calls", "late", "running")],
        [("no_end", "calls", "late", "is running, but its run done is completed")],
    ),
    "a ready call of an ended run": (
        lambda db: [status(db, "calls", "late", "ready")],
        [("no_end", "calls", "late", "is ready, but its run done is completed")],
    ),
    "a call settled twice": (
        lambda db: [db.part("m3", 1, status="error")],
        [("two_winners", "messages", "s/3", "part p2 is error and not complete, the outcome of call")],
    ),
    "a call that is done and shows itself canceled": (
        lambda db: [shown_at(db, "answered", "p2"), db.part("m3", 1, status="canceled")],
        [("two_winners", "messages", "s/3", "part p2 is canceled and not complete, the outcome of call")],
    ),
    "a card that shows no answer": (
        lambda db: [status(db, "calls", "late", "complete")],
        [("two_winners", "messages", "s/3", "part p4 is waiting and not complete, the outcome of call")],
    ),
    "a call answered by two": (
        lambda db: [db.part("m3", 1, answeredBy="bo")],
        [("two_winners", "messages", "s/3", "part p2 was answered by bo and not by ann")],
    ),
    "a member votes twice": (
        lambda db: [says_twice(db, "calls", "asked", lambda call: call)],
        [("voted_twice", "calls", "asked", "ann has 2 votes")],
    ),
    "a member's two votes are shown": (
        lambda db: [says_twice(db, "messages", "m4", lambda message: message["parts"][0])],
        [("voted_twice", "messages", "s/4/p5", "ann has 2 votes")],
    ),
    "two runs for one call": (
        second_child,
        [("two_children", "calls", "calls", "2 runs were started")],
    ),
    "a person who never came speaks": (
        lambda db: [db("DELETE FROM former_members")],
        [("never_joined", "messages", "s/2", "bo was never a member of s")],
    ),
    "an agent that never came is at work": (
        lambda db: [
            db("INSERT INTO run_spaces SELECT 't', created_at, id, TRUE FROM runs WHERE id = 'driven'")
        ],
        [("never_joined", "run_spaces", "t/driven", "bot was never a member of t")],
    ),
    "a called run asks where it was not called": (
        lambda db: [db.body("runs", "below", lambda run: run.update(asksIn="t"))],
        [
            ("never_joined", "messages", "s/6", "sub was never a member of s"),
            ("never_joined", "run_spaces", "s/below", "sub was never a member of s"),
        ],
    ),
    "an attachment is gone": (
        lambda db: [
            db("DELETE FROM blobs WHERE id = 'blob'"),
            db("DELETE FROM blob_spaces WHERE blob_id = 'blob'"),
        ],
        [("no_blob", "messages", "s/1", "attachment blob is gone")],
    ),
    "an image is gone": (
        lambda db: [
            db("DELETE FROM blobs WHERE id = 'picture'"),
            db("DELETE FROM blob_spaces WHERE blob_id = 'picture'"),
        ],
        [("no_blob", "messages", "s/3", "result picture is gone")],
    ),
    "an attachment that nobody may have": (
        lambda db: [db("DELETE FROM blob_spaces WHERE blob_id = 'blob'")],
        [("blob_not_shown", "messages", "s/1", "attachment blob is not shown in s")],
    ),
    "an image that nobody may have": (
        lambda db: [db("DELETE FROM blob_spaces WHERE blob_id = 'picture'")],
        [("blob_not_shown", "messages", "s/3", "result picture is not shown in s")],
    ),
    "a blob cut short": (
        lambda db: [db("UPDATE blobs SET size = 4 WHERE id = 'blob'")],
        [("blob_changed", "blobs", "blob", "has 5 bytes, but size says 4")],
    ),
    "a blob with other bytes": (
        lambda db: [db("UPDATE blobs SET data = ? WHERE id = 'blob'", b"jello")],
        [("blob_changed", "blobs", "blob", "do not have its digest")],
    ),
    "a blob shown in no space": (
        lambda db: [db("INSERT INTO blob_spaces VALUES ('blob', 'x')")],
        [(POINTS, "blob_spaces", "blob/x", "space_id names 'x', which is not in spaces")],
    ),
    "no blob shown in a space": (
        lambda db: [db("INSERT INTO blob_spaces VALUES ('x', 't')")],
        [(POINTS, "blob_spaces", "x/t", "blob_id names 'x', which is not in blobs")],
    ),
    "a member of no space": (
        lambda db: [db("UPDATE members SET space_id = 'x' WHERE space_id = 't'")],
        [(POINTS, "members", "x/ann", "space_id names 'x'")],
    ),
    "a token of nobody": (
        lambda db: [db("UPDATE tokens SET entity_id = 'x'")],
        [(POINTS, "tokens", "tok", "entity_id names 'x', which is not in entities")],
    ),
    "a call of no run": (
        lambda db: [db.body("calls", "drawn", lambda call: call.update(runId="x"), run_id="x")],
        [(POINTS, "calls", "drawn", "run_id names 'x', which is not in runs")],
    ),
    "a step of no run": (
        lambda db: [db('UPDATE steps SET run_id = \'x\', body = \'{"runId":"x","number":1}\'')],
        [(POINTS, "steps", "x/1", "run_id names 'x'")],
    ),
    "a message that was handed and is not there": (
        lambda db: [
            db(
                "UPDATE handed SET message_id = 'x', body = ?",
                json.dumps(
                    {"runId": "driven", "messageId": "x", "spaceId": "s", "entityId": "ann", "at": ""}
                ),
            )
        ],
        [(POINTS, "handed", "driven/x", "there is no such message in s")],
    ),
    "a plan of no agent": (
        lambda db: [db.body("plans", "plan", lambda plan: plan.update(agentId="x"), agent_id="x")],
        [(POINTS, "plans", "plan", "agent_id names 'x', which is not in agents")],
    ),
    "a memory of no space": (
        lambda db: [
            db(
                "UPDATE memories SET space_id = 'x', body = replace(body, ?, ?)",
                '"spaceId":"s"',
                '"spaceId":"x"',
            )
        ],
        [(POINTS, "memories", "bot/x/k", "space_id names 'x'")],
    ),
    "a grant in no space": (
        lambda db: [db.body("grants", "grant", lambda grant: grant.update(spaceId="x"), space_id="x")],
        [(POINTS, "grants", "grant", "space_id names 'x'")],
    ),
    "a space of no record": (
        lambda db: [db("INSERT INTO audit_spaces (space_id, audit_id) VALUES ('s', 'x')")],
        [(POINTS, "audit_spaces", "s/x", "audit_id names 'x', which is not in audit")],
    ),
    "a run called by nobody": (
        lambda db: [
            db("DELETE FROM run_spaces WHERE run_id = 'done'"),
            db.body("runs", "done", lambda run: run.update(parentCallId="x"), parent_call_id="x"),
        ],
        [(POINTS, "runs", "done", "parent_call_id names 'x', which is not in calls")],
    ),
}
