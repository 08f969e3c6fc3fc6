"""All that an agent noted, of whatever kind, in one read."""

from roomful.domain.ports import Notes
from roomful.store import goals, memories, plans
from roomful.store.database import Reader

_OF_AGENT = """
SELECT 0 AS kind, updated_at, key AS id, coalesce(space_id, '') AS place, created_at, body
  FROM memories WHERE agent_id = ?
UNION ALL SELECT 1, updated_at, id, '', created_at, body FROM goals WHERE agent_id = ?
UNION ALL SELECT 2, '', id, '', '', body FROM plans WHERE agent_id = ?
ORDER BY 1, 2 DESC, 3, 4"""


async def notes_of(reader: Reader, agent_id: str) -> Notes:
    found = Notes(memories=[], goals=[], plans=[])
    for kind, _, _, _, created_at, body in await reader.rows(_OF_AGENT, (agent_id, agent_id, agent_id)):
        match kind:
            case 0:
                found.memories.append(memories.as_stored(created_at, body))
            case 1:
                found.goals.append(goals.decode(body))
            case _:
                found.plans.append(plans.decode(body))
    found.plans.sort(key=plans.made)
    return found
