"""Write the manual pages into a folder: `man.py FOLDER`. The build of the wheel calls it, with nothing installed."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "src"))

from memctl.cli import help as pages
from memctl.ops import TABLE, commands


def write(folder: Path) -> None:
    """A page for memctl and one for each command."""
    folder.mkdir(parents=True, exist_ok=True)
    for old in folder.glob("*.1"):
        old.unlink()
    for name in ("", *commands()):
        lines = pages.manual_page(TABLE[name].load(name)) if name else pages.manual_overview()
        path = folder / f"memctl{name and '-'}{name}.1"
        path.write_text("".join(f"{line}\n" for line in lines), encoding="ascii")


if __name__ == "__main__":
    write(Path(sys.argv[1]))
