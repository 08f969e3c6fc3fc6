"""An agent calls another one, and the call shows the trail: what the sub-agent called and said.

    python examples/06_sub_agent.py

With `visibility: full` the part in the space has `child`, the sub-agent's run. It grows live, at any depth.
"""

import asyncio

import roomful
from roomful.testing import open_house


@roomful.tool
def search(words: str) -> list[str]:
    """Look for books."""
    return ["Tides and Currents", "Sailing Alone"]


LIBRARIAN = {
    "name": "Librarian",
    "instructions": "Find books.",
    "model": "scripted:librarian",
    "tools": [{"name": "search", "executionType": "python", "execution": {"function": "search"}}],
}
ASK = {
    "name": "askLibrarian",
    "description": "Ask for books.",
    "executionType": "ai-agent",
    "execution": {"agentConfig": LIBRARIAN},
    "visibility": "full",
}
TEACHER = {"id": "teacher", "name": "Teacher", "model": "scripted:teacher", "speaks": "text", "tools": [ASK]}
TEACHER_SCRIPT = """
turns:
  - steps:
      - calls: [{tool: askLibrarian, args: {prompt: Books about the sea}}]
      - text: Begin with the first one.
"""
LIBRARIAN_SCRIPT = """
turns:
  - steps:
      - calls: [{tool: search, args: {words: sea}}]
      - text: There are two of them.
"""


async def main() -> None:
    async with open_house(
        tools=[search],
        agents=[TEACHER],
        scripts={"teacher": TEACHER_SCRIPT, "librarian": LIBRARIAN_SCRIPT},
        spaces={"class": ["ada", "teacher"]},
    ) as house:
        said = await house.say("ada", "class", "What can I read about the sea?")
        [call] = said.calls
        print(call.tool_name, call.args)
        for inner in call.child.calls:
            print(f"  {call.child.name}: {inner.tool_name} {inner.args} -> {inner.result}")
        print(f"  {call.child.name}: {call.child.text}")
        print(*said.texts)


if __name__ == "__main__":
    asyncio.run(main())
