"""The bench of the labs finds inputs that their forms take."""
import subprocess
import sys
from pathlib import Path

from bench import labs as bench
from calculators.labs import LABS

ROOT = Path(__file__).resolve().parents[2]


def test_the_slowest_input_found_is_a_legal_one() -> None:
    lab = LABS["beam-blocks"]
    assert bench.took_s(lab, bench.slowest_of(lab, lab.view("bounds"))) > 0


def test_a_refused_input_takes_no_time() -> None:
    assert bench.took_s(LABS["leak-rate"], {"limit_gib": "none"}) == 0


def test_a_text_is_repeated_up_to_what_its_field_takes() -> None:
    assert bench.repeated("1,2; 3,4", 30) == "1,2; 3,4; 1,2; 3,4; 1,2; 3,4"
    assert bench.repeated("", 3) == ",,,"


def test_importing_the_bench_sets_up_nothing() -> None:
    asked = "import bench.labs, sys; assert 'django' not in sys.modules"
    assert subprocess.run([sys.executable, "-c", asked], cwd=ROOT, check=False).returncode == 0
