"""What is handed out.

``sheet`` says which exercises; ``standalone`` gives the text of one without its ``chapter``.
``notebook`` makes the student's notebook of them, ``release`` packs notebooks with the ``wheel``
and lets no solution through (``leaks``). ``handout`` prints pencil exercises with a ``key`` for the
marker, set by ``typeset``. ``public`` copies the repository without assessed solutions.
``commands`` is what the commands of all rooms share.
"""
