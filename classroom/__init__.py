"""The classroom: release, grade and report, from a checkout of the project.

The commands of the ``Makefile`` call these modules. They stand beside the package and not in
it, because a teacher has the checkout with the solutions and a student has the wheel.

- What is handed out: ``sheet`` (which exercises), ``standalone`` (a task without its chapter) with
  ``chapter``, ``student`` (the notebook), ``release`` with ``leaks`` and ``wheel``; ``handout``
  with ``key`` and ``typeset`` for paper.
- What comes back: ``files`` and ``submissions`` read it, ``grade`` runs the whole. One answer:
  ``answer`` judges, ``child`` runs it in a process that ``cage`` has locked, ``wire`` is what
  passes between the two.
- What a class gets: ``report`` with ``feedback``, ``summary`` and ``wording``.
- Other graders: ``assignment`` with ``nbgrader`` and ``otter``; ``graders`` installs them.
- What the commands share: ``commands``.
- Servers and copies: ``hub`` with ``jupyterhub_config`` and ``hub_files``; ``public``.
- The proof: ``hostile`` (what is tried), ``simulate`` (a class), ``rehearse`` (graded, compared).
"""
