"The road from the digits to an executed figure, in a checkout of its own."
import json
import os
import random
import re
import shutil
import signal
import subprocess
import time

import psutil
import pytest
import yaml
from conftest import CELLS, REPRODUCE, tally

from gumbel_softmax import pipeline

ESTIMATE = ["python", "-m", "gumbel_softmax.pipeline", "estimate"]


def test_the_whole_pipeline_small(smoke, run):
    """Every kind of stage, with one of the paper's estimators and one other, two stages at a time; then nothing is left
    to do; and executed again, figures and tables are the same bytes"""
    text = (smoke / "params.yaml").read_text()
    for key, names in (("estimators", "gumbel-softmax"), ("extended", "rloo"), ("choices", "sbn-bernoulli-gumbel-softmax")):
        text = re.sub(rf"(?ms)^{key}: \[.*?\]$", f"{key}: [{names}]", text)
    (smoke / "params.yaml").write_text(text)
    run(*REPRODUCE, "--scheduler", "local", cwd=smoke)
    assert stale(run, smoke) == set()
    begun = time.monotonic()
    assert "up to date" in run(*REPRODUCE, cwd=smoke).stdout and time.monotonic() - begun < 15
    changed = {line[3:].split("/")[0] for line in run("git", "status", "--porcelain", cwd=smoke).stdout.splitlines()}
    assert changed == {"params.yaml", "dvc.lock", "results"}

    wanted = yaml.safe_load((smoke / "dvc.lock").read_text())["stages"]
    made = [smoke / out["path"] for name, stage in wanted.items() if "smoke" in name for out in stage["outs"]]
    assert len(made) > 50 and all(path.exists() for path in made)
    executed = (smoke / "results" / "smoke" / "notebooks" / "fig1_temperature.ipynb").read_bytes()
    assert not re.search(rb"papermill|execution_count\": [0-9]", executed)
    again = ("fig1", "fig3", "table1")
    files = {p: p.read_bytes() for s in again for p in (smoke / out["path"] for out in wanted[f"{s}@smoke"]["outs"])}
    for name in again: run("dvc", "repro", "--force", "--single-item", name, cwd=smoke)
    assert [p.name for p, content in files.items() if p.read_bytes() != content] == []
    name, folder = "vae-categorical-gumbel-softmax.json", smoke / "results" / "smoke"
    (folder / "extended" / "published").mkdir()
    cell = (folder / "cells" / name).read_text()
    (folder / "extended" / "published" / name).write_text(re.sub(r'"data": "', '"data": "another ', cell))
    run("dvc", "repro", "--force", "--single-item", "table1", cwd=smoke)
    assert "published less drawn here |" in (folder / "notebooks" / "table1.ipynb").read_text()
    plots = run("dvc", "plots", "show", cwd=smoke).stdout + (smoke / "runs" / "plots" / "index.html").read_text()
    assert "fig3_sbn" in plots and "http" not in plots
    shown = run("dvc", "metrics", "show", cwd=smoke).stdout
    assert "nats" in shown and "vae-categorical-gumbel-softmax" in shown


def test_the_estimate_counts_what_is_missing(smoke, run):
    said = run(*ESTIMATE, cwd=smoke).stdout
    assert "train@smoke-vae-bernoulli-darn" in said and re.search(r"h +\d+ stages", said)


def test_the_estimate_in_a_clone_is_of_what_will_be_run(trained, run):
    "The digits are made again; cells that are as dvc.lock says are trained again only if the digits will be others"
    def estimated(): return re.findall(r"min +(\S+)", run(*ESTIMATE, *CELLS, cwd=trained).stdout)
    assert estimated() == []
    for made in ("data/raw", "data/binarised", ".dvc/cache"): shutil.rmtree(trained / made)
    assert estimated() == ["fetch", "binarise"]
    params = trained / "params.yaml"
    params.write_text(params.read_text().replace("  seed: 0", "  seed: 1"))
    assert set(estimated()) == {"fetch", "binarise", *CELLS}


def test_the_estimate_while_a_stage_is_run(smoke, run):
    held = {str(smoke / "data" / "raw"): {"pid": os.getpid(), "cmd": "dvc repro fetch"}}
    (smoke / ".dvc" / "tmp").mkdir(exist_ok=True)
    (smoke / ".dvc" / "tmp" / "rwlock").write_text(json.dumps({"write": held}))
    said = run(*ESTIMATE, cwd=smoke, ok=False)
    assert said.returncode and "a stage is being run" in said.stderr and "dvc repro fetch" in said.stderr
    assert "Traceback" not in said.stderr


def test_a_failing_notebook_says_where_it_is(smoke, run):
    notebook = smoke / "nbs" / "experiments" / "fetch.ipynb"
    notebook.write_text(notebook.read_text().replace("data.fetch(", "data.fetsch("))
    said = run("python", "-m", "gumbel_softmax.pipeline", "run", "fetch", cwd=smoke, ok=False)
    assert said.returncode and "fetsch" in said.stderr and "runs/fetch.ipynb" in said.stderr
    assert "fetsch" in (smoke / "runs" / "fetch.ipynb").read_text()


def test_an_unknown_notebook_or_profile(smoke, run):
    said = run("python", "-m", "gumbel_softmax.pipeline", "run", "fig99", cwd=smoke, ok=False).stderr
    assert "fig99" in said and "fig1_temperature" in said
    (smoke / "params.yaml").write_text((smoke / "params.yaml").read_text().replace("profile: smoke", "profile: huge"))
    said = run("python", "-m", "gumbel_softmax.pipeline", "run", "fetch", cwd=smoke, ok=False).stderr
    assert "'huge'" in said and "cpu, paper, smoke" in said


def test_the_published_binarisation_that_is_not_there(smoke, run, tmp_path):
    "It is looked for in the folder that was named, in a copy; what is here stays as it was"
    text = (smoke / "params.yaml").read_text()
    (smoke / "params.yaml").write_text(re.sub(r"    - https: .*larocheh.*\n", "", text))
    before = run("git", "status", "--porcelain", cwd=smoke).stdout
    said = run("python", "-m", "gumbel_softmax.pipeline", "published", "--folder", str(tmp_path), cwd=smoke, ok=False)
    assert said.returncode and "binarized_mnist_train.amat" in said.stderr and str(tmp_path) in said.stderr
    assert run("git", "status", "--porcelain", cwd=smoke).stdout == before


def stale(run, folder): return {s for s in json.loads(run("dvc", "status", "--json", cwd=folder).stdout)}


def test_an_edit_makes_its_own_cells_stale_and_no_others(trained, run):
    assert not stale(run, trained) & set(CELLS)
    file = trained / "gumbel_softmax" / "estimators.py"
    whole = file.read_text()
    def after(old, new):
        assert old in whole
        file.write_text(whole.replace(old, new))
        run("python", "-m", "gumbel_softmax.pipeline", "code", cwd=trained)
        return stale(run, trained) & set(CELLS)
    assert after("def st(cost", "# prose\ndef st(cost") == set()
    assert after("2 * first - logits.softmax(-1) / 2", "2 * first - logits.softmax(-1) / 3") == set()  # of ReinMax
    assert after("through(node.hard(n[0]), node.mean))", "through(node.hard(n[0]), 2 * node.mean))") == {CELLS[0]}
    assert after("return cost(params, x, draw), draw", "return 2 * cost(params, x, draw), draw") == set(CELLS)
    made = json.loads((trained / "results" / "smoke" / "cells" / "vae-categorical-st.json").read_text())
    assert made["m"] == 10 and made["interval"] > 0 and len(made["tried"]) == 6 and made["chosen"] in [
        {"lr": t["lr"]} for t in made["tried"]]


def test_killed_and_started_again_it_ends_the_same(smoke, undisturbed, run):
    "SIGKILL to everything that a repro started, three times, then to the end; against an undisturbed run"
    wait = random.Random(0)
    for _ in range(3):
        process = subprocess.Popen([*REPRODUCE, *CELLS], cwd=smoke, start_new_session=True,
                                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        time.sleep(wait.uniform(2, 14))
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
    (smoke / ".dvc" / "tmp" / "rwlock").write_text("")  # as a kill in the middle of its writing leaves it
    run(*REPRODUCE, *CELLS, cwd=smoke)
    cells = [p.name for p in (undisturbed / "results" / "smoke" / "cells").iterdir() if "environment" not in p.name]
    assert len(cells) == 6
    for name in cells:
        here, there = (folder / "results" / "smoke" / "cells" / name for folder in (smoke, undisturbed))
        assert here.read_bytes() == there.read_bytes(), name
    assert not stale(run, smoke) & set(CELLS)


def test_code_yaml_is_current(root):
    from gumbel_softmax.fingerprints import fingerprints
    assert yaml.safe_load((root / "code.yaml").read_text()) == fingerprints(root)


WRONG = {
    "an unknown key": ("params.yaml", "device: auto", "device: auto\ndevise: cpu", "params.yaml: there is no devise"),
    "an unknown estimator": ("params.yaml", "[sf, ", "[sv, ", "params.yaml: estimators must be a list, each one of .*'sv'"),
    "an unknown task": ("params.yaml", "tasks: [sbn", "tasks: [sbm", "params.yaml: tasks must be a list, each one of"),
    "a wrong type": ("params.yaml", "seed: 0", "seed: zero", "data.seed must be a whole number from 0; got 'zero'"),
    "not YAML": ("params.yaml", "profile: smoke", "profile: [smoke", "params.yaml is not YAML"),
    "a missing key": ("profiles/smoke.yaml", "  repeats: 3\n", "", "profiles/smoke.yaml: benchmarks.repeats is missing"),
    "negative steps": ("profiles/smoke.yaml", "steps: 20", "steps: -20", "must be a whole number from 1; got -20"),
    "a race of three": ("profiles/smoke.yaml", "[10, 2]", "[10, 2, 1]", r"race must be \[pilot steps"),
}


@pytest.mark.parametrize("case", WRONG)
def test_wrong_parameters_are_named_before_anything_runs(case, smoke, monkeypatch):
    file, old, new, words = WRONG[case]
    text = (smoke / file).read_text()
    assert old in text
    (smoke / file).write_text(text.replace(old, new))
    monkeypatch.chdir(smoke)
    with pytest.raises(ValueError, match=words): pipeline.params()
    with pytest.raises(SystemExit, match=words): pipeline.run("fetch")


def test_a_lock_of_a_dead_process_is_waited_for(smoke):
    "Killed by a signal a process is a zombie until its parent asks for it, and DVC takes that for alive"
    process = subprocess.Popen(["true"])
    while psutil.Process(process.pid).status() != psutil.STATUS_ZOMBIE: time.sleep(0.01)
    (smoke / ".dvc" / "tmp").mkdir(exist_ok=True)
    (smoke / ".dvc" / "tmp" / "rwlock").write_text(json.dumps({"write": {"data/raw": {"pid": process.pid, "cmd": "dvc"}}}))
    begun = time.monotonic()
    pipeline.unlock(smoke, patience=0.3)
    assert time.monotonic() - begun > 0.3
    process.wait()
    begun = time.monotonic()
    pipeline.unlock(smoke)
    assert time.monotonic() - begun < 0.1


@pytest.mark.parametrize("during", ["a cell", pytest.param("fetch", marks=pytest.mark.drill)])
def test_on_a_cluster_of_two_with_one_worker_killed(during, smoke, trained, undisturbed):
    "The same metrics as without a cluster; a worker dies in the middle of a stage, which another takes over"
    pytest.importorskip("dask.distributed")
    if during == "a cell":
        smoke = trained
        shutil.rmtree(smoke / "results" / "smoke"), shutil.rmtree(smoke / "runs")
    process = subprocess.Popen([*REPRODUCE, "--scheduler", "local", *CELLS], cwd=smoke,
                               stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    killed, deadline = None, time.monotonic() + 120
    while killed is None and time.monotonic() < deadline:
        for child in psutil.Process(process.pid).children(recursive=True):
            try:
                if "dvc" in " ".join(child.cmdline()) and "repro" in child.cmdline(): killed = child.parent()
            except psutil.NoSuchProcess: continue
        time.sleep(0.2)
    time.sleep(3 if during == "a cell" else 1)  # in mid-stage
    killed.kill()
    tally(f"killed: a worker during {during}")
    said, _ = process.communicate(timeout=400)
    assert process.returncode == 0, said
    for cell in CELLS:
        here, there = (folder / "results" / "smoke" / "cells" / f"{cell[12:]}.json" for folder in (smoke, undisturbed))
        assert here.read_bytes() == there.read_bytes(), cell
