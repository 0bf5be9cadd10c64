"What a notebook cannot test about itself: a sweep that is killed, a step on no device at all, a machine without a compiler."
import os
import signal
import subprocess
import sys
import time

import pytest
import torch
from torch.utils._pytree import tree_map

from gumbel_softmax import estimators, prepare, training
from gumbel_softmax.models import tasks
from gumbel_softmax.training import keyed, restore, save, start, stepper, sweep

TASK = ("vae-categorical", "gumbel-softmax")
SMALL = dict(variables=6, classes=4, batch=20, progress=False, every=20, device="cpu", steps=100, seeds=(0, 1),
             lrs=(1e-4, 3e-4), schedules=[(10, 1e-2)])


def digits():
    g = torch.Generator().manual_seed(0)
    return {k: (torch.rand(n, 784, generator=g) < torch.rand(784, generator=g) ** 2).byte()
            for k, n in (("train", 300), ("valid", 100), ("test", 100))}


SCRIPT = """
import sys, torch
sys.path.insert(0, "tests")
from test_training import SMALL, TASK, digits
from gumbel_softmax.training import sweep
result = sweep(*TASK, digits=digits(), folder=sys.argv[1], save_every=0.0, **SMALL)
torch.save((result.params, result.curves), sys.argv[2])
"""


def result_of(folder, out, root, kill_after=None):
    "Run the sweep in a process of its own; kill it once its checkpoint has been written so many times"
    process = subprocess.Popen([sys.executable, "-c", SCRIPT, str(folder), str(out)], cwd=root)
    seen, last = 0, None
    while kill_after is not None and process.poll() is None and seen < kill_after:
        for file in folder.glob("*.checkpoint"):
            try: now = file.stat().st_mtime_ns
            except FileNotFoundError: continue
            seen, last = seen + (now != last), now
        time.sleep(0.001)
    if kill_after is not None:
        process.send_signal(signal.SIGKILL)
        process.wait()
        assert not out.exists()
    else: assert process.wait() == 0
    return torch.load(out) if out.exists() else None


def test_a_killed_sweep_goes_on_bit_for_bit(tmp_path, root):
    whole = result_of(tmp_path / "whole", tmp_path / "whole.pt", root)
    for count in (1, 7, 3):
        assert result_of(tmp_path / "killed", tmp_path / "killed.pt", root, kill_after=count) is None
    again = result_of(tmp_path / "killed", tmp_path / "killed.pt", root)
    assert whole[1] == again[1]
    assert all(torch.equal(v, again[0][k]) for k, v in whole[0].items())


@pytest.mark.parametrize("estimator", [n for n in estimators if n not in ("exact", "arsm")])
def test_a_step_runs_whole_on_the_meta_device(estimator):
    "So nothing in it moves data between devices, or waits for one"
    model = tasks["sbn-bernoulli"] if estimator == "vimco" else tasks["vae-bernoulli"]
    e = estimators[estimator]
    plan = prepare(e, model, model.parameters(keyed(0, 0)), torch.zeros(4, 784))
    meta = lambda tree: tree_map(lambda v: v.to("meta"), tree)
    state, noise = meta(start(model, plan, (0, 1), 3, "cpu")), meta(plan.noise([keyed(0, 0), keyed(1, 0)]))
    settings = {"lr": torch.empty(3, device="meta")}
    if estimator == "gumbel-softmax": settings |= {"N": torch.empty(3, device="meta"), "r": torch.empty(3, device="meta")}
    digits, index = torch.empty(10, 784, dtype=torch.uint8, device="meta"), torch.empty(2, 4, dtype=torch.int64, device="meta")
    stepper(model, e)(state, settings, digits, index, noise)
    assert all(v.device.type == "meta" for v in state["params"].values())


NO_COMPILER = """
import sys, warnings
sys.path.insert(0, "tests")
warnings.simplefilter("always")
from test_training import SMALL, TASK, digits
from gumbel_softmax.training import sweep
given = {**SMALL, "steps": 5, "digits": digits()}
slow, plain = sweep(*TASK, **given), sweep(*TASK, compile=False, **given)
assert all((v == plain.params[k]).all() for k, v in slow.params.items())
"""


def test_without_a_compiler_it_says_so_in_one_line_and_runs(run, tmp_path):
    done = run(sys.executable, "-c", NO_COMPILER, CXX="no-such-compiler", TORCHINDUCTOR_CACHE_DIR=str(tmp_path))
    told = [line for line in done.stderr.splitlines() if "not compiled" in line]
    assert len(told) == 1 and "slower" in told[0]


def test_a_checkpoint_of_another_run_is_refused_and_a_damaged_one_passed_over(tmp_path):
    path, mine = tmp_path / "a.checkpoint", {"lr": 0.1, "code": "x"}
    assert restore(path, mine) is None
    save(path, {"made_by": mine, "t": 1})
    save(path, {"made_by": mine, "t": 2})
    assert restore(path, mine)["t"] == 2
    with pytest.raises(ValueError, match=r"a.checkpoint is of another run \(code 'x' instead of 'y', lr 0.1 instead of 0.2\)"):
        restore(path, {"lr": 0.2, "code": "y"})
    whole = path.read_bytes()
    for damaged in (b"", whole[:-1], whole[:100] + bytes([whole[100] ^ 1]) + whole[101:]):
        path.write_bytes(damaged)
        with pytest.warns(UserWarning, match="a.checkpoint is damaged and not used"): assert restore(path, mine)["t"] == 1
    path.unlink()
    assert restore(path, mine)["t"] == 1  # killed between the two renames
    assert os.listdir(tmp_path) == ["a.before"]


def test_a_finished_sweep_trains_nothing(tmp_path, monkeypatch):
    first = sweep(*TASK, digits=digits(), folder=tmp_path, compile=False, **SMALL)
    monkeypatch.setattr(training._Sweep, "advance", lambda self: pytest.fail("it trains"))
    second = sweep(*TASK, digits=digits(), folder=tmp_path, compile=False, **SMALL)
    assert first.curves == second.curves and all(torch.equal(v, second.params[k]) for k, v in first.params.items())


@pytest.mark.parametrize("name", [n for n in estimators if n not in ("exact", "arm", "arsm")])
def test_a_run_does_not_depend_on_its_company(name):
    "Uncompiled, for every estimator; the notebook does it compiled"
    task = "sbn-categorical" if name == "vimco" else "vae-categorical"
    given = {**SMALL, "schedules": None, "every": 10, "steps": 10, "compile": False}
    many = sweep(task, name, digits=digits(), **given)
    one = sweep(task, name, digits=digits(), **{**given, "seeds": (1,), "lrs": (3e-4,)})
    for k, v in one.params.items(): torch.testing.assert_close(v[0, 0], many.params[k][1, 1], atol=1e-5, rtol=1e-4)
