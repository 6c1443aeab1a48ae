#!/usr/bin/env python
"""Django's command line; a wrong setting stops it with one line."""
import os
import sys


def main() -> None:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "drillapp.settings")
    from django.core.exceptions import ImproperlyConfigured
    from django.core.management import execute_from_command_line

    try:
        execute_from_command_line(sys.argv)
    except ImproperlyConfigured as fault:
        sys.exit(f"drillapp: {fault}")


if __name__ == "__main__":
    main()
