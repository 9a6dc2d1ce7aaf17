"""What came in gets its points: each answer in a process of its own, judged here.

``grade`` is the command: a folder of submissions in, grades and reports out. ``batch`` grades the
students' answers, several at a time. ``process`` speaks with the worker of one answer, ``judge``
looks at what it gives back. ``run_folder`` keeps results and records, so that a run which was
interrupted goes on, and grades some students alone. ``credit`` says what checks are worth on a
sheet. ``marks`` reads what the teacher decides by hand, ``mark_provenance`` knows which answers
that is about. ``late`` takes off what handing in late costs, ``attempts`` chooses one of several.
``anonymous`` shows grades and answers without names. ``totals`` is a command of its own: one grade
from several sheets. ``people`` finds whom a roster or a table means.
"""
