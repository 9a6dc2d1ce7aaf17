"""The classroom: release, grade and report, from a checkout of the project.

The commands of the ``Makefile`` call these modules. They stand beside the package and not in
it, because a teacher has the checkout with the solutions and a student has the wheel.
"""
