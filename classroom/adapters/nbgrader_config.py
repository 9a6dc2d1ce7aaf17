"""nbgrader, set up for exercises that bring their own starters and checks (nbgrader 0.9.6).

Written by `make nbgrader`, and written anew each time. In this folder, for each sheet:

    nbgrader generate_assignment SHEET     # release/SHEET: what students get
    nbgrader zip_collect SHEET             # from downloaded/SHEET/archive into submitted/
    nbgrader autograde SHEET
    nbgrader generate_feedback SHEET       # feedback/STUDENT/SHEET
    nbgrader export                        # grades.csv

zip_collect takes STUDENT_SHEET.ipynb (what an LMS writes in front of the name becomes the
student's id), and STUDENT.zip or folders STUDENT/ with SHEET.ipynb in them.

A notebook is run as it is, in one process with the test that grades it. A student who means to
can change that test from inside. `make grade` runs each answer apart and reads the same files.
"""

import os
import re
import sysconfig
from pathlib import Path
from typing import Any

import nbformat
from nbgrader import preprocessors as steps  # type: ignore[import-not-found]
from nbgrader import utils

c = get_config()  # type: ignore[name-defined]  # noqa: F821
HERE = Path(__file__).resolve().parent
SHEETS = "|".join(sorted(map(re.escape, os.listdir(HERE / "source")), key=len, reverse=True))

c.CourseDirectory.root = str(HERE)
c.CourseDirectory.course_id = "attention"
# nbgrader starts a tool of its own environment by its name, also where that is not activated.
os.environ["PATH"] = sysconfig.get_path("scripts") + os.pathsep + os.environ.get("PATH", "")
os.environ["MINI_ATTN_PROGRESS"] = "off"  # a student's checks are not the teacher's progress


class PutBack(steps.NbGraderPreprocessor):  # type: ignore[misc]
    """Brings graded cells back that are gone, whatever went with them, or lost their marks.

    nbgrader's own way needs the marked cell before it, and runs it right behind that cell, before
    other cells into which a student may have written the answer.
    """

    def preprocess(self, nb: Any, resources: Any) -> tuple[Any, Any]:
        """Put each missing cell behind its check, or in front of the next cell that is marked."""
        of = resources["nbgrader"]
        name = f"{of['notebook']}.ipynb"
        source = nbformat.read(HERE / "source" / of["assignment"] / name, as_version=4)
        place = len(nb.cells)
        for cell in reversed(source.cells):
            grade_id = cell.metadata.get("nbgrader", {}).get("grade_id")
            here = [own.metadata.get("nbgrader", {}).get("grade_id") for own in nb.cells]
            if grade_id and grade_id in here:
                place = here.index(grade_id)
            elif utils.is_grade(cell):
                call = f'check("{cell.metadata.exercise.id}"'
                checks = [i for i, own in enumerate(nb.cells) if call in own.source]
                place = checks[-1] + 1 if checks else place
                nb.cells.insert(place, cell)
        return nb, resources


class OnlyErrorsCount(steps.NbGraderPreprocessor):  # type: ignore[misc]
    """Leaves a graded cell its errors and nothing else.

    nbgrader takes anything on stderr for a failure, a number for a grade, and silence for full
    marks, also that of a cell that did not run.
    """

    def preprocess_cell(self, cell: Any, resources: Any, index: int) -> tuple[Any, Any]:
        """Drop outputs that say nothing about the answer."""
        if utils.is_grade(cell):
            cell.outputs = [output for output in cell.outputs if output.output_type == "error"]
            if cell.execution_count is None and not cell.outputs:
                words = "This cell did not run."
                cell.outputs = [nbformat.v4.new_output("error", ename="NotRun", evalue=words,
                                                       traceback=[words])]  # fmt: skip
        return cell, resources


# No ClearSolutions: a source notebook holds starters and no solution. It would put its own stub
# in place of each of them, also of the functions that are to be repaired. No hidden tests either:
# nbgrader shows them in the feedback.
c.GenerateAssignment.preprocessors = [
    steps.IncludeHeaderFooter,
    steps.LockCells,
    steps.ClearOutput,
    steps.CheckCellMetadata,
    steps.ComputeChecksums,
    steps.SaveCells,
    steps.CheckCellMetadata,
]
c.Autograde.sanitize_preprocessors = [
    steps.ClearOutput,
    steps.DeduplicateIds,
    steps.OverwriteKernelspec,
    PutBack,
    steps.OverwriteCells,
    steps.CheckCellMetadata,
]
c.Autograde.autograde_preprocessors = [
    steps.Execute,
    steps.IgnorePattern,
    OnlyErrorsCount,
    steps.LimitOutput,
    steps.SaveAutoGrades,
    steps.AssignLatePenalties,
    steps.CheckCellMetadata,
]
c.OverwriteCells.add_missing_cells = True
c.Execute.timeout = 30  # seconds for a cell; each check takes less than one
c.FileNameCollectorPlugin.named_regexp = (
    rf".*?/extracted/(?P<student_id>[^/]+?)(?:(?:_(?:{SHEETS}))?/(?:.*[/_])?|_)"
    rf"(?P<file_id>{SHEETS})(?:-\d+| ?\(\d+\))?\.ipynb$"
)
