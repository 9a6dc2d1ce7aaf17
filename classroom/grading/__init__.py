"""What came in gets its points: each answer in a process of its own, judged here.

``grade`` is the command: a folder of submissions in, grades and reports out. ``student`` grades
the answers of one. ``process`` speaks with the worker of one answer, ``judge`` looks at what it
gives back. ``resume`` keeps results, so that a run which was interrupted goes on. ``credit`` says
what checks are worth on a sheet. ``marks`` reads what the teacher decides by hand, ``marked`` knows
which answers that is about. ``late`` takes off what handing in late costs, ``turns`` chooses one of
several attempts, ``again`` grades some students alone. ``anonymous`` shows grades and answers
without names. ``totals`` is a command of its own: one grade from several sheets.
"""
