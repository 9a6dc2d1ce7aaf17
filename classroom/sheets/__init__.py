"""What is handed out.

``sheet`` says which exercises, with their cells; ``notebook`` makes the student's notebook of
them, ``release`` packs notebooks with the ``wheel`` and lets no solution through (``leaks``).
``handout`` prints pencil exercises, set by ``typeset``. ``public`` copies the repository without
assessed solutions. ``commands`` is what the commands of all rooms share.
"""
