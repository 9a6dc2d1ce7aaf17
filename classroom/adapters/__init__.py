"""The same sheets on other systems.

``nbgrader`` and ``otter`` write what these graders take, from what they share in ``assignment``;
``graders`` installs them. ``hub`` puts a JupyterHub into a folder, with ``jupyterhub_config`` and
what lies in ``hub_files``.
"""
