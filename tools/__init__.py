"""Tools that make calls: set up, build, test, print, draw, count. Not part of the package."""

from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
HTML = ROOT / "_build/html"
