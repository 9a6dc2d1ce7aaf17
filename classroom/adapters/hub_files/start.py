"""Start one student's JupyterLab: hand out new sheets, set the limits, become the server.

JupyterHub runs this as the student, so nothing here has more rights than the student has.

    python start.py SHEETS MEMORY_GIB PROCESSES [arguments of the server …]
"""

from __future__ import annotations

import os
import resource
import shutil
import sys
from pathlib import Path

FOLDER = "living-attention"


def hand_out(sheets: Path, target: Path) -> list[str]:
    """Copy the notebooks that the student does not have; one that is there is never touched."""
    target.mkdir(parents=True, exist_ok=True)
    target.chmod(0o700)  # homes can often be read by everybody
    new = []
    for source in sorted(sheets.glob("*.ipynb")):
        aim = target / source.name
        if aim.is_symlink() or aim.exists():
            continue
        unfinished = target / f".{source.name}.part"
        shutil.copyfile(source, unfinished)
        unfinished.replace(aim)
        new.append(source.name)
    return new


def limit(memory_gib: int, processes: int) -> None:
    """Bound the memory of each process, the number of processes, and keep no crash dumps."""
    wanted = {resource.RLIMIT_AS: memory_gib * 2**30, resource.RLIMIT_CORE: 0}
    if processes:
        wanted[resource.RLIMIT_NPROC] = processes
    for kind, value in wanted.items():
        _, hard = resource.getrlimit(kind)
        value = value if hard == resource.RLIM_INFINITY else min(value, hard)
        resource.setrlimit(kind, (value, value))


def main() -> None:
    """Prepare, then run the single-user server in this process."""
    sheets, memory_gib, processes, *arguments = sys.argv[1:]
    target = Path.home() / FOLDER
    try:
        new = hand_out(Path(sheets), target)
    except OSError as error:  # a full disk: the student can still open what is there
        print(f"[hub] sheets were not copied: {error}", file=sys.stderr)
    else:
        print(f"[hub] new in {target}: {', '.join(new) or 'nothing'}", file=sys.stderr)
    limit(int(memory_gib), int(processes))
    server = Path(sys.executable).with_name("jupyterhub-singleuser")
    os.execv(server, [str(server), *arguments])


if __name__ == "__main__":
    main()
