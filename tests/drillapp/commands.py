"""The project's commands in processes of their own, with a known environment."""
import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
READ = ("DATABASE_URL", "SECRET_KEY", "ALLOWED_HOSTS", "BEHIND_PROXY", "DEBUG", "EMAIL_URL", "PORT", "SITE_URL")


def environment(data: Path, **more: str) -> dict[str, str]:
    """What this process has, without what the settings read, and with this data folder."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("DRILL_", "DJANGO_"))}
    ours = {"DRILL_DATA": str(data), "DRILL_BACKUPS": "off"}
    return {name: value for name, value in kept.items() if name not in READ} | ours | more


def run(data: Path, *arguments: str, **more: str) -> subprocess.CompletedProcess:
    """Python with these arguments in the project's folder; on SQLite, unless `more` says otherwise."""
    command = [sys.executable, *arguments]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, env=environment(data, **more))
