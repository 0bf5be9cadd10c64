"The road from the digits to an executed figure, in a checkout of its own."
import re

import pytest


@pytest.fixture
def smoke(checkout, root):
    "A checkout with the smoke profile, no results, and the digits at hand"
    text = (checkout / "params.yaml").read_text().replace("profile: cpu", "profile: smoke")
    (checkout / "params.yaml").write_text(text.replace("- folder: null", f"- folder: {root / 'data' / 'raw'}", 1))
    return checkout


def test_dvc_repro(smoke, run):
    run("dvc", "repro", "fig1", "binarise", cwd=smoke)
    results = smoke / "results" / "smoke"
    made = {p.relative_to(results).as_posix() for p in results.rglob("*") if p.is_file()}
    figures = {f"figures/fig1_{name}.{suffix}" for name in ("temperature", "density") for suffix in ("svg", "png")}
    assert made == {"notebooks/fig1_temperature.ipynb", *figures}
    assert "didn't change" in run("dvc", "repro", "fig1", "binarise", cwd=smoke).stdout
    first = {name: (results / name).read_bytes() for name in made}
    run("dvc", "repro", "--force", "--single-item", "fig1", cwd=smoke)
    again = {name: (results / name).read_bytes() for name in made}
    assert [name for name in made if first[name] != again[name]] == []
    assert not re.search(rb"papermill|execution_count\": [0-9]", first["notebooks/fig1_temperature.ipynb"])


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
