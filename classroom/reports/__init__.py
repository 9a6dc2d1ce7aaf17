"""What a class gets back.

``report`` writes the grades, and the pages of ``feedback`` (a student's) and ``summary`` (the
teacher's); ``isolation`` says what kept the answers apart. ``sanitize`` makes harmless what
students wrote.
"""
