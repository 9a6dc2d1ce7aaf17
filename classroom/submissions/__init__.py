"""What comes back: files of unknown origin.

``files`` finds notebooks in folders, ``archives`` in zip files. ``cells`` takes the cells out of
one, and ``notebook`` finds the answers among them. ``collect`` says whose each is and which of
several answers counts.
"""
