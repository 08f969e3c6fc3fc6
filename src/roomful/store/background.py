"""What an agent has behind it when a run of it begins: all of it in one read."""

from roomful.domain.ports import Background
from roomful.domain.runs import Run
from roomful.store import goals, memories, plans, runs
from roomful.store.database import Reader

_BEHIND = f"""
SELECT 0 AS kind, updated_at AS at, key AS id, coalesce(space_id, '') AS place, created_at, body
  FROM memories WHERE agent_id = ?
UNION ALL SELECT 1, updated_at, id, '', created_at, body FROM goals WHERE agent_id = ?
UNION ALL SELECT 2, '', id, '', '', body FROM plans WHERE agent_id = ?
UNION ALL SELECT * FROM (
  SELECT 3, r.created_at, r.id, '', '', r.body FROM runs r WHERE r.agent_id = ? AND {runs.IS_ACTIVE}
  ORDER BY r.created_at DESC, r.id DESC LIMIT ?
) AS active
UNION ALL SELECT * FROM (
  SELECT 4, '', '', '', s.created_at, '' FROM run_spaces s JOIN runs r ON r.id = s.run_id
  WHERE s.space_id = ? AND (s.created_at, s.run_id) < (?, ?) AND r.agent_id = ?
  ORDER BY s.created_at DESC, s.run_id DESC LIMIT 1
) AS before
ORDER BY 1, 2 DESC, 3, 4"""


async def background(reader: Reader, run: Run, space_id: str | None, most: int) -> Background:
    noted, here = (run.agent_id,) * 3, (space_id, run.created_at, run.id, run.agent_id)
    found = Background()
    for kind, _, _, _, created_at, body in await reader.rows(_BEHIND, (*noted, run.agent_id, most, *here)):
        match kind:
            case 0:
                found.memories.append(memories.as_stored(created_at, body))
            case 1:
                found.goals.append(goals.decode(body))
            case 2:
                found.plans.append(plans.decode(body))
            case 3:
                found.runs.append(runs.decode(body))
            case _:
                found.began_before = created_at
    found.plans.sort(key=plans.made)
    found.runs.sort(key=lambda run: (run.created_at, run.id), reverse=True)
    return found
