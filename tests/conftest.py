import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from hypothesis import settings

from gumbel_softmax import pipeline

ROOT = Path(__file__).resolve().parent.parent
fuzz = settings(max_examples=int(os.environ.get("DRILL_EXAMPLES", 100)), deadline=None)  # 10,000 in `make drill`


@pytest.fixture(scope="session")
def root():
    return ROOT


@pytest.fixture(autouse=True)
def validation():
    "torch.compile switches the validation of torch.distributions off for good; a test begins with it on"
    torch.distributions.Distribution.set_default_validate_args(True)


REPRODUCE = [sys.executable, "-m", "gumbel_softmax.pipeline", "reproduce"]
CELLS = ["train@smoke-vae-categorical-st", "train@smoke-sbn-bernoulli-muprop"]


@pytest.fixture
def run():
    "Run a command in a folder and return it; its output is shown if it fails"
    def run(*command, cwd=ROOT, ok=True, **env):
        done = subprocess.run(command, cwd=cwd, capture_output=True, text=True, env={**os.environ, **env})
        if ok: assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"
        return done
    return run


@pytest.fixture(scope="session")
def untouched(tmp_path_factory):
    "The project's files as they are now, in a git repository of its own, with the smoke profile and the digits at hand"
    folder = tmp_path_factory.mktemp("untouched") / "checkout"
    with pytest.MonkeyPatch.context() as here:
        here.chdir(ROOT)
        pipeline.copy_to(folder)
    text = (folder / "params.yaml").read_text().replace("profile: cpu", "profile: smoke")
    (folder / "params.yaml").write_text(text.replace("- folder: null", f"- folder: {ROOT / 'data' / 'raw'}", 1))
    return folder


@pytest.fixture(scope="session")
def undisturbed(untouched, tmp_path_factory):
    "A checkout in which CELLS have been trained"
    folder = shutil.copytree(untouched, tmp_path_factory.mktemp("undisturbed") / "checkout", symlinks=True)
    subprocess.run([*REPRODUCE, *CELLS], cwd=folder, check=True, capture_output=True)
    return folder


@pytest.fixture
def smoke(untouched, tmp_path):
    "A checkout for a test to work in"
    return shutil.copytree(untouched, tmp_path / "checkout", symlinks=True)


@pytest.fixture
def trained(undisturbed, tmp_path):
    "A checkout with CELLS trained, for a test to work in"
    return shutil.copytree(undisturbed, tmp_path / "trained", symlinks=True)


CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
QUIET = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update", "--disable-sync",
         "--no-first-run"]


@pytest.fixture(scope="module")
def browser():
    "The system's chromium; skipped where there is none"
    sync_api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    if CHROMIUM is None: pytest.skip("no chromium on this machine")
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=QUIET)
        yield browser
        browser.close()


TRIED = {}


def tally(what, times=1):
    "Count what the drill tries; a test that fails has lost something, and its name says what"
    TRIED[what] = TRIED.get(what, 0) + times


def pytest_sessionfinish(session):
    if hasattr(session.config, "workeroutput"): session.config.workeroutput["tried"] = TRIED  # one of two: `pytest -n 2`


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node):
    for what, times in getattr(node, "workeroutput", {}).get("tried", {}).items(): tally(what, times)


def pytest_collection_modifyitems(items):
    "The files that take longest first, so that two workers end at about the same time"
    items.sort(key=lambda item: item.path.stem not in ("test_pipeline", "test_site"))


def pytest_terminal_summary(terminalreporter):
    if not TRIED: return
    failed = {r.nodeid for kind in ("failed", "error") for r in terminalreporter.stats.get(kind, [])}
    terminalreporter.write_sep("-", "what the drill tried, and how often")
    for what, times in sorted(TRIED.items()): terminalreporter.write_line(f"{times:8}  {what}")
    terminalreporter.write_line("lost: " + (", ".join(sorted(failed)) or "nothing"))
