"""What can be written about runs, their calls and who drives them. See `changes`."""

from typing import TypeAlias

from roomful.domain.messages import MemberAnswer
from roomful.domain.runs import Call, Handed, Lease, Run, RunError, RunStatus, Step
from roomful.domain.shape import UNSET, Frozen, Unset


class AddRun(Frozen):
    """With a lease the run is driven by its maker; without one it waits for a worker to claim it."""

    run: Run
    lease: Lease | None = None


class ExpectRoom(Frozen):
    """OverBound unless the root may have another run, and the pair of agents another one since then."""

    root_run_id: str
    runs_per_root: int
    pair: tuple[str, str] | None = None
    since: str = ""
    runs_per_pair: int = 0


class SaveRun(Frozen):
    run: Run


class ClaimRun(Frozen):
    """Takes an unowned run, or one whose owner's lease ended, and answers with Claimed, or None."""

    run_id: str
    owner: str


class Claimed(Frozen):
    """A run with a new driver, as it is then. One that had to be read again could be left with an owner who
    does nothing, when that fails; and what its driver stores in between would be lost."""

    lease: Lease
    run: Run
    was_queued: bool


class Guard(Frozen):
    """Everything in this commit is refused with LeaseLost unless the lease is still the newest."""

    lease: Lease


class TakeOver(Frozen):
    """Takes the run to stop it, whoever drives it: who does can write no more. Answers with Claimed."""

    run_id: str
    owner: str
    why: RunError | Unset = UNSET


class Release(Frozen):
    """The run is nobody's until it is claimed again."""

    run_id: str


class SaveCalls(Frozen):
    calls: tuple[Call, ...]


class SaveStep(Frozen):
    step: Step


class Hand(Frozen):
    """Gives a message to a run that is at work. Conflict when it is not queued or running any more."""

    handed: Handed


class TakeHanded(Frozen):
    """Messages that a run was given now have the step they say. Conflict when one had a step already."""

    handed: tuple[Handed, ...]


class ExpectNoneHanded(Frozen):
    """Conflict when the run was given a message that none of its steps has had yet."""

    run_id: str


class KeepAlive(Frozen):
    """This worker lives for so long from now, by the clock of the store."""

    worker: str
    seconds: float


class Leave(Frozen):
    """This worker is gone: its runs are free at once."""

    worker: str


class EndLeases(Frozen):
    """Every worker but this one is gone: their runs are free at once."""

    but: str


class ExpectStatus(Frozen):
    """Conflict unless the run is in one of these states: the compare of compare-and-set."""

    run_id: str
    statuses: tuple[RunStatus, ...]


class Unblock(Frozen):
    """Recounts what a waiting run still waits for: its `pending_tool_calls` lose every call that no longer
    blocks (status waiting and `told` unset). When none is left the run becomes queued and unowned. Answers
    with the run as it is then, or None when it was not waiting."""

    run_id: str


class ExpectCall(Frozen):
    """Conflict, with the call as outcome, unless the call still waits, and nobody has answered the poll since
    it had these `votes`."""

    call_id: str
    votes: tuple[MemberAnswer, ...] | None = None


RunChange: TypeAlias = (
    Guard
    | AddRun
    | SaveRun
    | SaveCalls
    | SaveStep
    | ClaimRun
    | TakeOver
    | Release
    | KeepAlive
    | Leave
    | EndLeases
    | Unblock
    | ExpectStatus
    | ExpectCall
    | ExpectRoom
    | Hand
    | TakeHanded
    | ExpectNoneHanded
)
