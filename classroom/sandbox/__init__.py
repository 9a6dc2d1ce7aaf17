"""The process in which an answer runs, and what is said between it and the grader.

``worker`` is that process. ``lock`` locks it, before any of a student's code runs, in layers:
limits of its own, ``landlock`` and ``seccomp`` by the kernel, ``audit`` by Python itself;
``system_calls`` is the list that the kernel allows, ``linux`` what both of its layers use.
``protocol`` is what passes between the two processes.

The worker has nothing but Python, NumPy and this folder: modules here import each other and the
standard library, ``protocol`` also NumPy.
"""
