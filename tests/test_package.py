"The wheel, in an environment that has torch and nothing else."
import re
import sys

import pytest

CODE = """
import sys, warnings
warnings.simplefilter("ignore")  # torch says that there is no NumPy
import torch
before = set(sys.modules)
import gumbel_softmax as gs
loaded = {m.split(".")[0] for m in sys.modules}
assert not loaded & {"numpy", "scipy", "matplotlib", "seaborn", "pandas", "dvc", "yaml", "fastcore", "nbdev"}, loaded
d = gs.GumbelSoftmax(0.5, logits=torch.tensor([0.1, 0.2, 0.7], requires_grad=True))
kl = torch.distributions.kl_divergence(d, gs.GumbelSoftmax(1.0, probs=torch.ones(3)))
(d.mean.sum() + d.variance.sum() + d.entropy() + kl).backward()
assert gs.gumbel_softmax(torch.zeros(2000, 5), hard=True).sum() == 2000
print(gs.__version__, gs.__file__)
"""


@pytest.fixture(scope="module")
def wheel(root, tmp_path_factory):
    import subprocess
    out = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", out, root]
    subprocess.run(command, check=True, capture_output=True)
    return next(out.glob("*.whl"))


def test_readme_shows_the_results_as_they_are(root, monkeypatch):
    "What index.ipynb displays is made from results; README.md is made from index.ipynb"
    import nbformat

    from gumbel_softmax.pipeline import markdown
    monkeypatch.chdir(root)
    index = nbformat.read(root / "nbs" / "index.ipynb", 4)
    assert markdown(index) == (root / "README.md").read_text()
    names, shown = {}, 0
    for cell in index.cells:
        if not cell.source.startswith("#| echo: false"): continue
        body, _, last = cell.source.rpartition("\nMarkdown(")
        exec(body, names)
        said = eval("Markdown(" + last, names).data
        assert said == cell.outputs[0].data["text/markdown"], "run `make outputs`"
        shown += 1
    assert shown == 4


def test_the_wheel_needs_torch_alone(wheel, root, run, tmp_path):
    run(sys.executable, "-m", "venv", tmp_path / "venv")
    python = tmp_path / "venv" / "bin" / "python"
    run(python, "-m", "pip", "install", "-q", "-c", root / "constraints.txt", wheel)
    said = run(python, "-c", CODE, cwd=tmp_path).stdout
    assert str(tmp_path) in said
    installed = run(python, "-m", "pip", "list", "--format", "freeze").stdout
    assert not re.search(r"(?im)^(numpy|scipy|matplotlib|pandas|dvc)==", installed)


def test_the_wheel_has_what_it_should(wheel):
    import zipfile
    names = zipfile.ZipFile(wheel).namelist()
    assert {n for n in names if "dist-info" not in n} == {f"gumbel_softmax/{n}.py" for n in (
        "__init__", "_modidx", "cells", "cluster", "coupled", "data", "density", "distribution", "estimators", "evaluation",
        "figures", "fingerprints", "graphs", "lab", "models", "moments", "pipeline", "score_function", "semi_supervised",
        "training")}
