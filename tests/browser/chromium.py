"""The Chromium that the browser tests drive. Run by itself, prints its path, and gets one if there is none."""
import os
import shutil
import subprocess
import sys
from pathlib import Path

from playwright.sync_api import sync_playwright

NAMES = ("chromium", "chromium-browser", "google-chrome-stable", "google-chrome")


def find() -> str | None:
    """What CHROMIUM names, else the system's, else Playwright's own; None when there is none."""
    if named := os.environ.get("CHROMIUM"):
        return shutil.which(named)
    if found := next(filter(None, map(shutil.which, NAMES)), None):
        return found
    with sync_playwright() as playwright:
        own = Path(playwright.chromium.executable_path)
    return str(own) if own.exists() else None


def install() -> None:
    """Debian's package where that may be installed, else Playwright's own build in the home folder."""
    quietly = {"stdout": sys.stderr, "env": os.environ | {"DEBIAN_FRONTEND": "noninteractive"}}
    if os.geteuid() == 0 and shutil.which("apt-get"):
        subprocess.run(["apt-get", "update", "--quiet=2"], **quietly)
        subprocess.run(["apt-get", "install", "--yes", "--quiet=2", "--no-install-recommends", "chromium"], **quietly)
    if not find():
        subprocess.run([sys.executable, "-m", "playwright", "install", "chromium"], **quietly)


if __name__ == "__main__":
    if not find() and "CHROMIUM" not in os.environ:
        print("Installing Chromium for the browser tests …", file=sys.stderr)
        install()
    sys.exit("drillapp: no Chromium; install one, or name it in CHROMIUM") if not (path := find()) else print(path)
