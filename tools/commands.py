"""The table of commands: what ``python -m tools`` and ``make`` can be asked, and what they run."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

__all__ = ["COMMANDS", "EVERYWHERE", "GROUPS", "Command", "Variable"]


@dataclass(frozen=True)
class Variable:
    """One word ``NAME=value``.

    Parameters
    ----------
    name : str
        In capitals.
    about : str
        What it says, for the help.
    flag : str
        The program's own option; empty for a word that needs none.
    kind : {"value", "switch", "words", "environment"}
        Whether the value goes along as it is, only says yes (all but 0), is a list, or goes to the
        environment, where a user may have set it as well.
    missing : str
        What to say if it isn't given, where the command makes no sense without it.
    """

    name: str
    about: str
    flag: str = ""
    kind: Literal["value", "switch", "words", "environment"] = "value"
    missing: str = ""


@dataclass(frozen=True)
class Command:
    """One command.

    Parameters
    ----------
    group : str
        Whom it is for: one of `GROUPS`.
    about : str
        One line, which fits into 80 columns beside the name.
    steps : tuple of tuple of str
        Modules with their arguments, run one after the other. The last one gets what the user
        adds.
    needs : {"environment", "book", "pages", ""}
        What has to be there first: ``book`` is built anew, ``pages`` only if there are none.
    variables : tuple of Variable
        The words that it knows.
    more : str
        The rest of its help.
    own : bool
        Whether other words go to its program as they are.
    """

    group: str
    about: str
    steps: tuple[tuple[str, ...], ...]
    needs: Literal["environment", "book", "pages", ""] = "environment"
    variables: tuple[Variable, ...] = ()
    more: str = ""
    own: bool = field(default=True)


GROUPS = {
    "read": "Read the book",
    "teach": "Teach with it",
    "work": "Work on it",
    "measure": "Train and measure",
}

# What every command takes.
EVERYWHERE = (
    Variable(
        "TORCH", "the PyTorch to install, as pip takes it; one that's there stays",
        kind="environment",
    ),
    Variable(
        "CHROMIUM", "the Chromium to use, if it isn't found or should be another",
        kind="environment",
    ),
)  # fmt: skip
SOLUTIONS = Variable(
    "SOLUTIONS", "open: for who learns alone, assessed ones after three tries", kind="environment"
)

OUT = Variable("OUT", "folder of the result", "--out")
CHOICE = (
    Variable("CH", "one chapter, such as kv-cache", "--chapter"),
    Variable("EX", 'ids of exercises: one problem set, "late_mask chunk_mask"', "--exercises"),
    Variable("NAME", "its name, such as week1", "--name"),
    Variable("POINTS", 'other points than the book\'s: "late_mask=6"', "--points"),
    OUT,
)
PARTIAL = Variable("PARTIAL", "1: groups of checks count one by one", "--partial", "switch")
DRAWN = (
    Variable("ROSTER", "the class: names, one per line, or a CSV file", "--roster"),
    Variable("DRAW", "seed of the numbers that each student gets", "--draw"),
)
UNISOLATED = Variable(
    "UNISOLATED", "1: also where this machine can't lock answers up", "--unisolated", "switch"
)
ROWS = (Variable("ROWS", "rows of each kind (128)", "--rows"),)
STORE = Variable("STORE", "1: keep the result with the project", "--store", "switch")
CHROMIUM = ("tools.browser", "--install")

READ = {
    "book": Command(
        "read", "build the book with its browser notebooks into _build/html", (("tools.build",),),
        variables=(SOLUTIONS,), own=False,
    ),
    "serve": Command(
        "read", "serve the built book on http://localhost:8000", (("tools.serve",),),
        "pages", (Variable("PORT", "another port than 8000", "--port"),),
        "Ctrl-C ends it.",
    ),
    "pdf": Command(
        "read", "print every chapter and the whole book as PDF, into _build/pdf",
        (CHROMIUM, ("tools.pdf",)), "book", own=False,
    ),
    "lab": Command(
        "read", "open the chapters as notebooks in JupyterLab", (("jupyterlab", "book/"),),
    ),
}  # fmt: skip

TEACH = {
    "release": Command(
        "teach", "write what students get, without solutions, into _build/release",
        (("classroom.sheets.release",),), variables=(*CHOICE, PARTIAL, *DRAWN),
        more="Without CH and EX: every chapter.",
    ),
    "handout": Command(
        "teach", "pencil exercises to print and, apart, their keys: _build/handout",
        (CHROMIUM, ("tools.handout",)), variables=(*CHOICE, *DRAWN),
    ),
    "grade": Command(
        "teach", "grade a folder of notebooks: DIR=submissions/", (("classroom.grading.grade",),),
        variables=(
            Variable("DIR", "the folder with what came in",
                     missing="say where the submissions are: DIR=submissions/"),
            Variable("SHEET", "the .json file of a released set, such as week1.json", "--sheet"),
            *CHOICE, *DRAWN,
            Variable("SEED", "seed of the cases; otherwise a secret one is drawn", "--seed"),
            PARTIAL,
            Variable("DUE", '"2026-10-12 23:59 Europe/Berlin"', "--due"),
            Variable("LATE", '"10% a day, at most 50%, 15 minutes of grace"', "--late"),
            Variable("TIMES", "a table of hand-in times", "--times"),
            Variable("EXTENSIONS", "a table of later due dates", "--extensions"),
            Variable("ATTEMPTS", "which one counts: best, last or first", "--attempts"),
            Variable("AGAIN", 'grade these again: "Ada Lovelace; bo"', "--again"),
            Variable("ANONYMOUS", "1: also without names", "--anonymous", "switch"),
            UNISOLATED,
        ),
        more="Interrupted, the same command goes on. book/grading.md explains each word.",
    ),
    "totals": Command(
        "teach", 'one grade from several sets: DIR="grades/week1 grades/week2"',
        (("classroom.grading.totals",),),
        variables=(
            Variable("DIR", "the folders of the sets", kind="words",
                     missing='say which sets: DIR="grades/week1 grades/week2"'),
            OUT,
            Variable("WEIGHTS", '"week1=2"', "--weights"),
            Variable("BEST", "how many count, the best ones", "--best"),
            Variable("OF", "points of the whole (100)", "--of"),
            Variable("MISSING", "what a set that wasn't handed in is: 0 or excused", "--missing"),
            Variable("EXCUSED", "a table of who is excused from what", "--excused"),
        ),
    ),
    "lms": Command(
        "teach", "grades into what Moodle, Canvas or Blackboard exported",
        (("classroom.adapters.lms",),),
        variables=(
            Variable("DIR", "the folder of the grades",
                     missing="say which grades: DIR=grades/week1 FROM=export.csv"),
            Variable("FROM", "the table that the platform exported",
                     missing="say which table: DIR=grades/week1 FROM=export.csv"),
            Variable("COLUMN", "the column that gets the points", "--column"),
            Variable("SCALE", "1: to the column's own maximum", "--scale", "switch"),
            OUT,
        ),
    ),
    "export": Command(
        "teach", "chapters for a learning platform: TO=moodle, qti or scorm",
        (("classroom.adapters.export",),),
        variables=(
            Variable("TO", "moodle, qti or scorm",
                     missing="say in which format: TO=moodle, TO=qti or TO=scorm"),
            *CHOICE,
            Variable("FORM", "how pencil exercises ask: number or choice", "--form"),
            Variable("ALIVE", "1: scorm with Python in the page", "--python", "switch"),
        ),
        more="TO=scorm needs the built book.",
    ),
    "class": Command(
        "teach", "the proof: 200 simulated students, graded, killed twice, compared",
        (("tests.classroom.simulate", "--grade"),),
        variables=(Variable("N", "how many students", "--students"), OUT),
    ),
    "nbgrader": Command(
        "teach", "assignments for nbgrader, into _build/nbgrader",
        (("classroom.adapters.nbgrader",),), variables=CHOICE,
    ),
    "otter": Command(
        "teach", "assignments for otter-grader, into _build/otter",
        (("classroom.adapters.otter",),), variables=CHOICE,
    ),
    "graders": Command(
        "teach", "install nbgrader and otter-grader into .venv-grading",
        (("classroom.adapters.graders",),), own=False,
    ),
    "hub": Command(
        "teach", "a JupyterHub for a class, into _build/hub; after release",
        (("classroom.adapters.hub",),), variables=(OUT,),
    ),
    "public": Command(
        "teach", "a copy of the repository without assessed solutions: OUT=folder",
        (("classroom.sheets.public",),),
        variables=(Variable("OUT", "a new folder", missing="say where the copy goes: OUT=folder"),),
    ),
}  # fmt: skip

WORK = {
    "check": Command(
        "work", "while you work: style, types, fast units (no book, no browser)",
        (("tools.test", "check"),), own=False,
    ),
    "test": Command(
        "work", "every kind of promise, also of the built book in a browser",
        (("tools.test", "test"),), "book", own=False,
    ),
    "test-all": Command(
        "work", "what test leaves out: every case that a sample stands for",
        (("tools.test", "test-all"),), "book", own=False,
    ),
    "soak": Command(
        "work", "what repeats: all exercises, random cases, faults (hours)",
        (("tools.test", "soak"),), "book", own=False,
    ),
    "format": Command(
        "work", "let ruff sort, fix and format the code",
        (("ruff", "check", "--fix", "--quiet", "."), ("ruff", "format", "--quiet", ".")), own=False,
    ),
    "bundle": Command(
        "work", "rebuild the widgets' JavaScript bundles and pictures", (("tools.bundle",),),
        own=False,
    ),
    "docstrings": Command(
        "work", "make the PyTorch side's docstrings from NumPy's", (("tools.docstrings",),),
    ),
    "chapters": Command(
        "work", "what each chapter holds, how long it runs, what it weighs",
        (("tools.chapters",),), "book", own=False,
    ),
    "links": Command(
        "work", "ask every address outside the book whether it answers (network)",
        (("tools.links",),), "book", own=False,
    ),
    "mutate": Command(
        "work", "put single faults into copies and ask the tests (long)",
        (("tests.mutation.run",),), variables=(STORE,),
    ),
    "dist": Command(
        "work", "wheel, source archive, checksums and list of parts into dist/",
        (("tools.release",),), own=False,
    ),
    "lock": Command(
        "work", "write requirements.lock, a hash for each file (network)", (("tools.lock",),),
        own=False,
    ),
    "publish": Command(
        "work", "push the built book to a repository's branch gh-pages",
        (("tools.publish",),),
        variables=(Variable("TO", "the repository's address or a remote's name (origin)"),),
    ),
    "clean": Command(
        "work", "remove what was built; environments and downloads stay",
        (("tools.clean", "_build", "dist"),), "", own=False,
    ),
}  # fmt: skip

MEASURE = {
    "bench": Command(
        "measure", "measure beside the peers", (("benchmarks.run",),), "book", (STORE,),
    ),
    "gpu": Command(
        "measure", "test and measure this machine's NVIDIA GPU in 9 minutes",
        (("benchmarks.on_gpu",),), more="The result goes to benchmarks/results.",
    ),
    "devices": Command(
        "measure", "split a model over processes; count and time what they send",
        (("benchmarks.devices",),),
        variables=(Variable("N", "how many processes, 2 or 4; otherwise 2", "--ranks"),),
        more="Several hosts or GPUs: benchmarks/devices.py has the line for torchrun.",
    ),
    "table": Command(
        "measure", "the largest differences between what must be equal",
        (("benchmarks.equivalences",),), variables=(STORE,),
    ),
    "train": Command(
        "measure", "train the small family: 4 to 8 min each on an idle core",
        (("training.run",),),
        variables=(
            Variable("MEMBER", "which ones, such as mha; otherwise all", kind="words"),
            Variable("SEED", "one seed or several (0)", "--seed", "words"),
            Variable("TOKENS", "how many tokens it reads", "--tokens"),
            Variable("LAYERS", "its layers (2)", "--layers"),
            Variable("WIDTH", "its width (64)", "--width"),
        ),
        more="Writes into training/results. The stored runs, on busy machines, took 4 to 73 min "
        "each. Ctrl-C keeps the state, and the same command goes on.",
    ),
    "after": Command(
        "measure", "train on with pooled heads and on longer rows (10 min)",
        (("training.after",),), own=False,
    ),
    "bytes": Command(
        "measure", "what each way of keeping the cache costs the family",
        (("training.equal_bytes",),), variables=ROWS,
    ),
    "choice": Command(
        "measure", "what a choice of compressed entries costs it (3 min)",
        (("training.choice",),), variables=ROWS,
    ),
    "fewer": Command(
        "measure", "what fewer bits and fewer weights cost it (15 min)",
        (("training.fewer",),), variables=ROWS,
    ),
    "floats": Command(
        "measure", "what a cache of small floats, rotated or not, costs it (10 min)",
        (("training.floats",),), variables=ROWS,
    ),
    "keys": Command(
        "measure", "what a budget of keys in the cache costs it (15 min)",
        (("training.keys",),), variables=ROWS,
    ),
    "pairs": Command(
        "measure", "how many pairs a cache or a state recalls (2 min)",
        (("training.pairs",),), variables=ROWS,
    ),
}  # fmt: skip

COMMANDS: dict[str, Command] = READ | TEACH | WORK | MEASURE
