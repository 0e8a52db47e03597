"""memctl setup and teardown, killed before each write: settings stay whole, and a second run ends well."""

import os
import re
import subprocess
import sys
from pathlib import Path

from support import PATIENCE


def test_settings_stay_whole_wherever_setup_or_teardown_is_killed(tmp_path: Path) -> None:
    home = tmp_path / "home"
    env = {"PATH": os.environ["PATH"], "HOME": str(home), "XDG_STATE_HOME": str(home / ".local" / "state")}
    script = str(Path(__file__).with_name("setups.py"))
    done = subprocess.run(
        [sys.executable, script, str(home)],
        env=env,
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=True,
    )
    told = done.stdout.splitlines()
    assert [line for line in told if line[0] != "#"] == []
    kills = [int(found[1]) for line in told if (found := re.search(r": (\d+) kills", line))]
    assert len(kills) == 2
    assert min(kills) > 8
