"""Pages of feedback as a zip in the form that a learning platform takes back.

- Moodle (``mod/assign/feedback/file/importziplib.php``): "Full name_number_assignsubmission_file_"
  is a student's folder; of the name only the number is read, behind the first underscore.
- Canvas (``infer_comment_context_from_filename`` in ``app/models/assignment.rb``): the first two
  numbers between underscores are the user and the file handed in; the page becomes a comment's
  attachment, under the name of that file.
- Blackboard takes back no files of feedback for a class.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from classroom.adapters.matching import Person, moodle_folder
from classroom.adapters.platforms import Platform
from classroom.grading.tables import GradeRow
from classroom.packed import packed
from classroom.submissions.attempts import NUMBERED, canvas_ids

__all__ = ["feedback_zip"]

PAGE = re.compile(r"feedback/[^/\\]+\.html")


def _entry(platform: Platform, one: GradeRow, person: Person) -> str | None:
    """The name of a page of feedback in the platform's zip; None if there is none."""
    if platform.name == "Canvas":
        stem = re.sub(r'[\\/:*?"<>|…]', "-", one.student)
        return f"{stem}.html" if canvas_ids(stem) else None
    numbered = NUMBERED.fullmatch(one.student)
    ident = person.ident or (numbered[2] if numbered else "")
    name = moodle_folder(person.name) or "Participant"
    return f"{name}_{ident}_assignsubmission_file_/feedback.html" if ident else None


def feedback_zip(
    folder: Path, platform: Platform, pairs: Sequence[tuple[GradeRow, Person]]
) -> tuple[bytes, list[str]]:
    """The pages of feedback for a platform.

    Parameters
    ----------
    folder : Path
        Of the grades.
    platform : Platform
        Whose form the zip has; for one that takes none it is empty.
    pairs : sequence of (GradeRow, Person)
        Who is who.

    Returns
    -------
    bytes
        The zip, the same bytes for the same pages.
    list of str
        Who is not in it, with the reason.
    """
    pages, said = [], []
    for one, person in pairs if platform.pages else ():
        if not one.feedback:  # nothing was handed in
            continue
        name, page = _entry(platform, one, person), folder / one.feedback
        if name is None:
            said.append(f"{one.student}: no number of the platform's, so no page in the zip")
        elif not PAGE.fullmatch(one.feedback) or not page.is_file():
            said.append(f"{one.student}: there is no page of feedback {one.feedback!r}")
        else:
            pages.append((name, page.read_bytes()))
    return packed(pages), said
