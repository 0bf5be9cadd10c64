"""The drill: faults, bad input and repeatability. The quick part runs with the other tests; `make drill` runs the long part
too, and ends with a table of what was tried, how often, and what was lost."""
import contextlib
import itertools
import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import time
import warnings

import pytest
import torch
import yaml
from conftest import CELLS, REPRODUCE, fuzz, tally
from hypothesis import given
from hypothesis import strategies as st

from gumbel_softmax import (
    Bernoulli,
    Categorical,
    GumbelSoftmax,
    LogGumbelSoftmax,
    Loss,
    annealed_temperature,
    data,
    estimators,
    gumbel_noise,
    gumbel_softmax,
    pipeline,
    training,
)
from gumbel_softmax.distribution import relax

seeds = st.integers(0, 2**31)
def seeded(seed): return torch.Generator().manual_seed(seed)


# Numbers

TAUS, SCALES = (1e-8, 1e-4, 1.0, 1e4, 1e8), (0.0, 1.0, 1e4, 1e30)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32, torch.float64])
def test_samples_at_extreme_temperatures_and_logits(dtype):
    "No NaN in a sample or its gradient; and the float64 reference where the numbers fit"
    for tau, scale, hard in itertools.product(TAUS, SCALES, (False, True)):
        logits = (torch.randn(50, 7, generator=seeded(0)) * scale).to(dtype)
        if not logits.isfinite().all(): continue
        x, noise = logits.clone().requires_grad_(), gumbel_noise((50, 7), generator=seeded(1), dtype=torch.float64)
        try: y = gumbel_softmax(x, tau, hard, noise=noise.to(dtype))
        except ValueError as e:
            assert "overflows" in str(e)  # logits/tau beyond the type: said, not silent
            continue
        y.pow(2).sum().backward()
        assert y.isfinite().all() and x.grad.isfinite().all()
        if not hard and scale <= 1 and dtype in (torch.float32, torch.float64):
            exact = relax(logits.double(), noise.to(dtype).double(), tau)
            # an error of one rounding in (logits + g)/tau is multiplied by the softmax's slope
            assert (y - exact).abs().max() < 4 * torch.finfo(dtype).eps * max(1.0, 30 / tau)
        tally("numbers: samples")


@pytest.mark.parametrize("k", [2, 10, 1000, 100_000])
def test_many_classes(k):
    y = gumbel_softmax(torch.zeros(2, k), 0.7, generator=seeded(0))
    assert (y.sum(-1) - 1).abs().max() < 1e-4
    d = GumbelSoftmax(0.5, logits=torch.randn(k, generator=seeded(0)))
    assert d.log_prob(d.rsample()).isfinite().all()
    tally("numbers: classes", 2)


@pytest.mark.parametrize("tau", [1e-8, 1e-3, 1.0, 1e3, 1e8])
@pytest.mark.parametrize("probs", [(0.5, 0.5), (1.0, 0.0), (0.2, 0.3, 0.5), (1e-30, 1.0)])
def test_a_property_is_a_number_or_an_error_that_names_its_argument(tau, probs):
    d = GumbelSoftmax(tau, probs=torch.tensor(probs))
    for what in ("mean", "variance", "entropy"):
        try: v = getattr(d, what)
        except ValueError as e:
            assert re.search("temperature|tau|probs|logits", str(e))
            continue
        try: v = v() if callable(v) else v
        except ValueError as e: assert re.search("temperature|tau|probs|logits", str(e))
        else: assert not v.isnan().any()
    for kind in (GumbelSoftmax, LogGumbelSoftmax):
        e = kind(tau, probs=torch.tensor(probs))
        assert not e.log_prob(e.rsample((100,))).isnan().any()
    tally("numbers: distributions", 5)


@pytest.mark.parametrize("name", [n for n in estimators if n != "exact"])
def test_estimators_at_extreme_logits(name):
    for kind, scale in itertools.product((Bernoulli, Categorical), SCALES):
        if name == ("arm" if kind is Categorical else "arsm"): continue
        p = torch.nn.Parameter(torch.randn(4, 3, generator=seeded(0)) * scale)
        cost = lambda x, draw: (draw(kind(p.expand(len(x), 4, 3))).flatten(1) - 0.3).pow(2).sum(-1)  # noqa: B023
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of a cost that is flat where a softmax is saturated
            Loss(name)(cost, torch.zeros(5, 1)).backward()
        assert p.grad.isfinite().all()
        tally("numbers: estimators")


def test_an_empty_batch():
    "Samples and their moments are empty too; a loss, which would be the mean of nothing, is refused"
    none = torch.zeros(0, 3)
    d = GumbelSoftmax(0.5, logits=none)
    for made in (gumbel_softmax(none), gumbel_softmax(none, hard=True), d.rsample(), d.mean, d.variance):
        assert made.shape == (0, 3)
    assert d.entropy().shape == d.log_prob(d.rsample()).shape == torch.distributions.kl_divergence(d, d).shape == (0,)
    for name in estimators:
        with pytest.raises(ValueError, match="x must have at least one example"):
            Loss(name)(lambda x, draw: draw(Bernoulli(x)).sum(-1), torch.zeros(0, 4))
        tally("numbers: empty batches")


# Fuzz

@fuzz
@given(st.integers(1, 20), st.integers(2, 30), seeds, st.floats(1e-2, 1e2), st.floats(0, 30))
def test_fuzz_density(n, k, seed, tau, scale):
    "Samples have a finite density, equal to the density of their logarithm less the sum of logarithms"
    tally("fuzz: density")
    logits = torch.randn(n, k, generator=seeded(seed), dtype=torch.float64) * scale
    log_d = LogGumbelSoftmax(tau, logits=logits)
    log_y = log_d.rsample()
    there = log_d.log_prob(log_y)
    assert there.isfinite().all()
    inside = (log_y > -600).all(-1)
    y = log_y.exp()[inside]
    if len(y):
        here = GumbelSoftmax(tau, logits=logits[inside], validate_args=False).log_prob(y)
        torch.testing.assert_close(here, there[inside] - log_y[inside].sum(-1), atol=1e-6, rtol=1e-6)


@fuzz
@given(st.floats(allow_nan=True, allow_infinity=True))
def test_fuzz_temperatures(tau):
    "A temperature is above zero (infinity is the uniform limit), or refused by its name"
    tally("fuzz: temperatures")
    if tau > 0:
        try: assert gumbel_softmax(torch.zeros(3), tau).isfinite().all()
        except ValueError as e: assert "overflows" in str(e) or "tau" in str(e)
    else:
        with pytest.raises(ValueError, match="tau"): gumbel_softmax(torch.zeros(3), tau)


@fuzz
@given(st.floats(-1, 2), st.integers(-3, 5000), st.integers(0, 10**7), st.floats(0.01, 1))
def test_fuzz_schedules(r, N, t, low):
    tally("fuzz: schedules")
    try: tau = annealed_temperature(r, N, low)(t)
    except ValueError as e: assert re.search(r"\b[rN] must", str(e)) and (r < 0 or N < 1)
    else: assert low <= tau <= max(low, 1.0)


@fuzz
@given(st.integers(2, 8), seeds, st.floats(1e-3, 1e3), st.floats(1e-3, 1e3), st.floats(0, 20))
def test_fuzz_moments(k, seed, tau, other, scale):
    tally("fuzz: moments")
    logits, others = torch.randn(2, k, generator=seeded(seed), dtype=torch.float64) * scale
    p, q = GumbelSoftmax(tau, logits=logits), GumbelSoftmax(other, logits=others)
    assert (p.mean.sum() - 1).abs() < 1e-9 and (p.mean >= 0).all()
    assert (p.variance >= -1e-12).all() and (p.variance <= p.mean * (1 - p.mean) + 1e-12).all()
    kl = torch.distributions.kl_divergence(p, q)
    assert kl > -1e-9 * max(1.0, abs(kl.item())) and p.entropy().isfinite()


anything = st.recursive(st.none() | st.booleans() | st.integers(-5, 5) | st.floats() | st.text(max_size=5),
                        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3))


@fuzz
@given(anything, st.sampled_from(["profile", "tasks", "estimators", "choices", "longer", "data", "device",
                                  "ways", "extended"]))
def test_fuzz_parameters(value, key):
    "Whatever stands in params.yaml is accepted or refused with the file and the key"
    tally("fuzz: parameters")
    good = yaml.safe_load((data.root() / "params.yaml").read_text())
    try: pipeline.check("params.yaml", {**good, key: value}, pipeline.schema()["params.yaml"])
    except ValueError as e: assert str(e).startswith("params.yaml: ") and key in str(e)


@fuzz
@given(st.sampled_from(sorted(estimators)), anything, st.data())
def test_fuzz_options(name, value, data):
    "An estimator's option is accepted or refused by its name, before anything is computed"
    tally("fuzz: options")
    option = data.draw(st.sampled_from([*estimators[name].options, "another"]))
    try: Loss(name, **{option: value})
    except (ValueError, TypeError) as e: assert option in str(e)


@fuzz
@given(st.lists(st.integers(0, 9), min_size=1, max_size=200), st.integers(1, 20), seeds)
def test_fuzz_labelled(labels, each, seed):
    tally("fuzz: labels")
    labels = torch.tensor(labels)
    try: chosen = data.labelled(labels, each, seed)
    except ValueError as e: assert "smallest class" in str(e)
    else:
        assert chosen.unique().numel() == len(chosen) == each * labels.unique().numel()
        assert (labels[chosen].unique(return_counts=True)[1] == each).all()


# Repeatability

TWICE = """
import hashlib, sys, torch
torch.set_num_threads(int(sys.argv[1]))
sys.path.insert(0, "tests")
from test_training import SMALL, TASK, digits
from gumbel_softmax.training import sweep
result = sweep(*TASK, digits=digits(), compile=False, **SMALL)
flat = torch.cat([v.flatten() for v in result.params.values()])
print(hashlib.sha256(flat.numpy().tobytes()).hexdigest(), flat.double().norm().item())
"""


def test_the_same_twice_and_close_with_another_number_of_threads(run):
    said = [run(sys.executable, "-c", TWICE, str(n)).stdout.split() for n in (1, 1, 2, 2)]
    assert said[0] == said[1] and said[2] == said[3]  # the same bits for the same number of threads
    assert abs(float(said[0][1]) / float(said[2][1]) - 1) < 1e-4  # what is promised for another
    tally("repeatability: runs", 4)


# Trust

def test_nothing_is_unpickled_unpacked_or_built_into_a_shell(root):
    for file in sorted((root / "gumbel_softmax").glob("*.py")):
        text = file.read_text()
        for load in re.findall(r"torch\.load\([^\n]*", text): assert "weights_only=True" in load
        for load in re.findall(r"np\.load\([^\n]*", text): assert "allow_pickle=False" in load
        assert not re.search(r"import pickle|extractall|shell=True|os\.system|http://", text), file.name
        assert not re.search(r"LocalCluster\((?![^\n]*127\.0\.0\.1)", text), file.name
        tally("trust: files read")


# Bytes

def damaged(content):
    "The file with one bit flipped, cut in half, and emptied"
    middle = len(content) // 2
    flipped = content[:middle] + bytes([content[middle] ^ 1]) + content[middle + 1:]
    return {"flipped": flipped, "cut": content[:middle], "empty": b""}


@pytest.mark.drill
def test_every_file_that_is_read(trained, run):
    "Damaged data and results are found, named and made again as they were; damaged parameters are refused by name"
    made = [*sorted((trained / "data" / "raw").iterdir()), *sorted((trained / "data" / "binarised").iterdir()),
            *sorted((trained / "results" / "smoke" / "cells").glob("*-st.*"))]
    for file in made:
        whole = file.read_bytes()
        for how, content in damaged(whole).items():
            file.chmod(0o644)
            file.write_bytes(content)
            run(*REPRODUCE, *CELLS, cwd=trained)
            if "environment" not in file.name: assert file.read_bytes() == whole, (file.name, how)
            tally("bytes: data and results")
    for file in (trained / "params.yaml", trained / "profiles" / "smoke.yaml"):
        whole = file.read_text()
        for content in ("", whole[:len(whole) // 2], re.sub(r"(?m)^(\w+):", r"\1;", whole, count=1), "[" + whole):
            file.write_text(content)
            said = run(*REPRODUCE, *CELLS, cwd=trained, ok=False)
            assert said.returncode and file.name in said.stderr + said.stdout
            tally("bytes: parameters")
        file.write_text(whole)
    checkpoints = sorted((trained / "runs" / "checkpoints").glob("*.checkpoint"))
    kept = {p: p.read_bytes() for p in (trained / "results" / "smoke" / "cells").glob("*") if "environment" not in p.name}
    for file in checkpoints:
        whole = file.read_bytes()
        for content in damaged(whole).values():
            file.write_bytes(content)
            shutil.rmtree(trained / "results" / "smoke" / "cells")
            run(*REPRODUCE, *CELLS, cwd=trained)
            assert all(p.read_bytes() == v for p, v in kept.items())
            file.write_bytes(whole)
            tally("bytes: checkpoints")


# Kill

def moments(folder):
    "Moments in the life of a run, each with how it is recognised"
    lock, results = folder / "dvc.lock", folder / "results" / "smoke" / "cells"
    before = lock.read_bytes() if lock.exists() else b""
    return {
        "during a download": lambda: any((folder / "data" / "raw").glob("*-ubyte*")),
        "while a checkpoint is written": lambda: any((folder / "runs" / "checkpoints").glob("*.tmp")),
        "between a result and dvc.lock":
            lambda: any(results.glob("*.json")) and (lock.read_bytes() if lock.exists() else b"") == before,
    }


@pytest.mark.drill
def test_killed_at_any_moment(smoke, undisturbed, run):
    "SIGKILL, SIGTERM and Ctrl-C, 21 times; each time the next run goes on, and the end is the same bit for bit"
    dice, when = random.Random(0), [*moments(smoke), *["at random"] * 4]
    for i in range(21):
        name, how = when[i % 7], (signal.SIGKILL, signal.SIGTERM, signal.SIGINT)[i % 3]
        while True:
            seen = moments(smoke).get(name)
            until = time.monotonic() + (300 if seen else dice.uniform(1, 15))
            process = subprocess.Popen([*REPRODUCE, *CELLS], cwd=smoke, start_new_session=True,
                                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            while process.poll() is None and not (seen and seen()) and time.monotonic() < until: time.sleep(0.0005)
            if process.poll() is None: break
            assert process.returncode == 0  # it came to its end before: from the beginning again
            for made in ("results/smoke", "runs", "data/raw", "data/binarised"): shutil.rmtree(smoke / made, ignore_errors=True)
        os.killpg(process.pid, how)
        process.wait(timeout=60)
        tally(f"killed by {how.name} {name}")
    run(*REPRODUCE, *CELLS, cwd=smoke)
    for there in (undisturbed / "results" / "smoke" / "cells").iterdir():
        here = smoke / "results" / "smoke" / "cells" / there.name
        if "environment" not in there.name: assert here.read_bytes() == there.read_bytes(), there.name
    assert not set(CELLS) & set(json.loads(run("dvc", "status", "--json", cwd=smoke).stdout))


# A full disk

@contextlib.contextmanager
def small_disk(folder, size):
    "A disk of `size` in the place of a folder; skipped where mounting is not allowed"
    folder.mkdir(parents=True, exist_ok=True)
    if subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size}", "none", folder], capture_output=True).returncode:
        pytest.skip("mounting is not allowed here")
    try: yield folder
    finally: subprocess.run(["umount", "--lazy", folder])


@pytest.mark.drill
def test_a_full_disk_and_one_that_cannot_be_written(tmp_path):
    with small_disk(tmp_path / "disk", "200k") as disk:
        kept = disk / "kept"
        data.write_whole(kept, b"x" * 100_000)
        with pytest.raises(OSError, match="No space.*150000 bytes.*kept"): data.write_whole(kept, b"y" * 150_000)
        assert kept.read_bytes() == b"x" * 100_000 and os.listdir(disk) == ["kept"]
        training.save(disk / "a.checkpoint", {"made_by": {}, "step": 1})
        with pytest.raises(OSError, match="No space.*a.checkpoint"):
            training.save(disk / "a.checkpoint", {"made_by": {}, "step": 2, "weights": torch.zeros(50_000)})
        assert training.restore(disk / "a.checkpoint", {})["step"] == 1
        subprocess.run(["mount", "-o", "remount,ro", disk], check=True)
        with pytest.raises(OSError, match="Read-only.*kept"): data.write_whole(kept, b"z")
        assert kept.read_bytes() == b"x" * 100_000
    tally("disk: full or read-only, a file", 3)


@pytest.mark.drill
@pytest.mark.parametrize("full", ["results/smoke/cells", "runs", "data"])
def test_a_stage_whose_disk_is_full(full, smoke, run):
    "The stage fails and says why; with room again it ends as it would have"
    with small_disk(smoke / full, "12k"):
        said = run(*REPRODUCE, CELLS[0], cwd=smoke, ok=False)
        assert said.returncode and "No space left" in said.stdout + said.stderr
    run(*REPRODUCE, CELLS[0], cwd=smoke)
    assert CELLS[0] not in json.loads(run("dvc", "status", "--json", cwd=smoke).stdout)
    tally("disk: full, a stage")
