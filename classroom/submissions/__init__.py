"""What comes back: files of unknown origin.

``files`` finds notebooks in folders and archives, ``notebook`` finds the answers in one of them,
``collect`` says whose each is and which of several answers counts.
"""
