"""A gateway dies by SIGKILL at any point of a story, and another one goes on."""

from pathlib import Path

import pytest

from tests.faults.databases import SqliteFiles
from tests.faults.killing import Story, Theatre
from tests.faults.stories import Plain
from tests.faults.zygote import Zygote
from tests.servers.mcp_server import McpHttpServer
from tests.servers.world import World


@pytest.mark.parametrize("story", [Plain()], ids=lambda story: story.name)
def test_killed_at_any_point_a_story_comes_to_its_end(
    tmp_path: Path, zygote: Zygote, world: World, mcp: McpHttpServer, story: Story
) -> None:
    with Theatre(story, zygote, SqliteFiles(tmp_path), world, mcp, tmp_path) as theatre:
        for fatal in range(1, len(theatre.play()) + 1):
            theatre.play(fatal)
