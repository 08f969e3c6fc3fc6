"""Ids: no two alike, also where a process was forked between two of them."""

import subprocess
import sys

FORKS = """
import os
from roomful.app.clock import RandomIds

ids = RandomIds()
ids.new("run")
if os.fork() == 0:
    print("\\n".join(ids.new("run") for _ in range(300)), flush=True)
    os._exit(0)
os.wait()
print("\\n".join(ids.new("run") for _ in range(300)))
"""


def test_two_processes_never_give_the_same_ids() -> None:
    told = subprocess.run([sys.executable, "-c", FORKS], capture_output=True, text=True, check=True).stdout
    ids = told.split()
    assert len(ids) == 600
    assert len(set(ids)) == 600
    assert {len(one) for one in ids} == {26}
