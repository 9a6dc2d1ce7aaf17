"""Reference and wrong answers of the exercises: in the repository, never in a package or a page.

Each module has ``REFERENCE`` and ``WRONG``: tuples of a name, the answer, the check that must
fail, and words that its message must hold.
"""
