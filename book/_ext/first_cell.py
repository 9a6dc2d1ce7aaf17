"""The first code cell of a notebook that's handed out: it finds the package, or installs it."""

from __future__ import annotations

from nbformat import NotebookNode
from nbformat.v4 import new_code_cell

TAG = "find-package"
# All of it is inside a function: a chapter's names stay its own, and NumPy isn't loaded before
# a chapter has set its threads. Jupyter shows an error's two lines without the stack.
SOURCE = r"""# @title Find mini_attn, or install it
def find_mini_attn(version, site):
    import importlib, pathlib, re, subprocess, sys
    try: from mini_attn import __version__ as found
    except ImportError: found = ""
    other = f"This notebook is for mini_attn {version}, and {found} is installed."
    if found: return None if found == version else print(other)
    wheel = pathlib.Path(f"mini_attn-{version}-py3-none-any.whl")
    address = wheel.absolute().as_uri() if wheel.exists() else site and f"{site}/{wheel}"
    why, then = "its wheel isn't beside this notebook", "Open it in the book's unpacked zip."
    for extra in ("[widgets]", "") if address else ():  # without, pictures stand still
        pip = [*"-m pip install -q --retries 1 matplotlib".split(), f"mini_attn{extra} @ {address}"]
        done = subprocess.run([sys.executable, *pip], capture_output=True, errors="replace")
        if done.returncode == 0: return importlib.invalidate_caches()
        offline = re.search("onnection|NameRes|versions: none", done.stderr)
        told = re.search("(?i).*(error|no module).*", done.stderr) or [done.stderr]
        why = "pip finds no network" if offline else told[0].strip()
        then = f'Try in a terminal: pip install matplotlib "{pip[-1]}"'
    message = f"mini_attn {version} isn't installed: {why}.\n{then}"
    raise type("NotInstalled", (ImportError,), {"_render_traceback_": lambda _: [message]})(message)

find_mini_attn("VERSION", "SITE")"""


def first_cell(version: str, site: str) -> NotebookNode:
    """Return the cell that makes sure of a version, from beside the notebook or a folder online.

    Parameters
    ----------
    version : str
        What the notebook was made with.
    site : str
        Address of the folder with the wheel, or "" where the book isn't public.
    """
    source = SOURCE.replace("VERSION", version).replace("SITE", site)
    folded = {"tags": [TAG], "jupyter": {"source_hidden": True}, "cellView": "form"}
    return new_code_cell(source, id=TAG, metadata=folded)
