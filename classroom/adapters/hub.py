"""Put a classroom's JupyterHub into a folder that can be copied to its server. ``make hub``."""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
from pathlib import Path

from classroom import ROOT
from classroom.sheets.release import OUT as RELEASES
from mini_attn import __version__
from mini_attn.errors import ConfigError

__all__ = ["assemble", "main"]

OUT = ROOT / "_build/hub"
FILES = Path(__file__).with_name("hub_files")
CONFIG = Path(__file__).with_name("jupyterhub_config.py")
KEPT = "class.txt"  # what the teacher has written in the folder


def requirements() -> str:
    """The chapters' packages and the hub's, in one file."""
    both = (ROOT / ".binder/requirements.txt", FILES / "requirements.txt")
    return "".join(path.read_text(encoding="utf-8") for path in both)


def assemble(out: Path = OUT, release: Path | None = None) -> Path:
    """Write or renew a hub's folder; a class list, environment and state in it stay.

    Parameters
    ----------
    out : Path
        The folder.
    release : Path or None
        What ``make release`` wrote; None for that of this version.

    Returns
    -------
    Path
        The folder.

    Raises
    ------
    ConfigError
        If nothing was released; then nothing is written.
    """
    release = release or RELEASES / __version__
    sheets = sorted(release.glob("*.ipynb"))
    wheels = sorted(release.glob("mini_attn-*.whl"))
    if not sheets or len(wheels) != 1:
        raise ConfigError(f"no sheets and one wheel in {release}: run `make release` first")
    out.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=out, prefix=".unfinished-") as name:
        folder = Path(name)
        shutil.copytree(FILES, folder, dirs_exist_ok=True)
        (folder / "requirements.txt").write_text(requirements(), encoding="utf-8")
        shutil.copy(CONFIG, folder)
        shutil.copy(wheels[0], folder)
        (folder / "sheets").mkdir()
        for sheet in sheets:
            shutil.copy(sheet, folder / "sheets")
        if (out / KEPT).exists():
            (folder / KEPT).unlink()
        for old in [*out.glob("mini_attn-*.whl"), out / "sheets"]:
            shutil.rmtree(old) if old.is_dir() else old.unlink(missing_ok=True)
        for path in folder.iterdir():
            path.replace(out / path.name)
    return out


def main(arguments: list[str] | None = None) -> int:
    """The command; its exit status."""
    parser = argparse.ArgumentParser(prog="hub", description=__doc__)
    parser.add_argument("--out", type=Path, default=OUT, help="the hub's folder")
    parser.add_argument("--release", type=Path, help="folder that `make release` wrote")
    options = parser.parse_args(arguments)
    try:
        folder = assemble(options.out, options.release)
    except ConfigError as error:
        print(f"[hub] {error}", file=sys.stderr)
        return 2
    print(f"[hub] {folder}: copy it to the server, run setup.sh in it, fill in {KEPT}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
