"""The same sheets, and their grades, on other systems.

``nbgrader`` and ``otter`` write what these graders take, from what they share in ``assignment``;
``graders`` installs them. ``hub`` puts a JupyterHub into a folder, with ``jupyterhub_config`` and
what lies in ``hub_files``.

``lms`` gives grades and feedback back to Moodle, Canvas or Blackboard. ``platforms`` says what
their tables look like, ``gradebook`` changes single cells of them, ``matching`` says who is
who, and ``feedback_zip`` packs the pages.

``export`` writes chapters for learning platforms. ``questions`` is what asks for a number, in one
form; ``moodle`` and ``qti`` write it, by ``markup``. ``scorm`` packs a built page, which ``page``
makes stand alone, with what lies in ``scorm_files``.
"""
