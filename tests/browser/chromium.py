"""The Chromium that the browser tests drive. Run by itself, prints its path, and gets one if there is none."""
import os
import shutil
import subprocess
import sys
from pathlib import Path

from playwright.sync_api import sync_playwright

# Without a window's own machinery the same pages take a third less of the processor.
SHELL = "chromium-headless-shell"
NAMES = (SHELL, "chromium", "chromium-browser", "google-chrome-stable", "google-chrome")


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
    if os.geteuid() == 0 and shutil.which("apt-get"):
        if not find():
            apt_get("update")
        apt_get("install", "--yes", "--no-install-recommends", "--no-remove", SHELL)
        if not find():
            apt_get("install", "--yes", "--no-install-recommends", "chromium")
    if not find():
        subprocess.run([sys.executable, "-m", "playwright", "install", "chromium"], stdout=sys.stderr)


def apt_get(*arguments: str) -> None:
    """What it could not do is seen by what is there afterwards, and told only where there is no Chromium at all."""
    told = subprocess.DEVNULL if find() else sys.stderr
    command = ["apt-get", "--quiet=2", "--option=Acquire::Retries=0", *arguments]
    subprocess.run(command, stdout=told, stderr=told, env=os.environ | {"DEBIAN_FRONTEND": "noninteractive"})


if __name__ == "__main__":
    if "CHROMIUM" not in os.environ and not shutil.which(SHELL):
        print("Looking for Chromium, for the browser tests …", file=sys.stderr)
        install()
    sys.exit("drillapp: no Chromium; install one, or name it in CHROMIUM") if not (path := find()) else print(path)
