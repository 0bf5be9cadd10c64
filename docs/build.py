"""Build the site from the notebooks with their outputs: python docs/build.py

Nothing is executed: chapters are nbs/*.ipynb, results the executed notebooks of the profile in README.md. Pages are gathered in
docs/_build/pages, Sphinx makes docs/_build/html of them, and a link that goes nowhere fails the build."""
import importlib
import inspect
import json
import os
import re
import shutil
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import nbformat
import yaml

ROOT = Path(__file__).resolve().parent.parent
PAGES, SITE = ROOT / "docs" / "_build" / "pages", ROOT / "docs" / "_build" / "html"
RESULTS = ROOT / "results" / "cpu"
GUIDES = ("00b_coming_from_torch", "02c_your_own")  # to be read by users; the others are the book


def cell(text): return nbformat.v4.new_markdown_cell(text)


def title(nb): return re.match(r"# (.+)", nb.cells[0].source)[1]


def rewrite(text, here):
    "Links of the repository as links of the site: executed notebooks for experiments, the repository's files as text"
    def link(match):
        target = match[2]
        if re.match(r"\w+:|#", target): return match[0]
        path, _, anchor = target.partition("#")
        found = (here / path).resolve()
        executed = RESULTS / "notebooks" / found.name
        if found.parent.name == "experiments" and executed.exists(): new = f"results/{found.name}"
        elif found.parent == ROOT / "nbs" and found.suffix == ".ipynb": new = found.name
        elif found.is_relative_to(RESULTS / "figures"): new = f"figures/{found.name}"
        elif found.is_dir() or found == ROOT / "nbs": new = "gallery.md"
        else: return match[1].lstrip("![")  # no page of the site: its words stay
        up = "../" if here != ROOT / "nbs" else ""
        return f"{match[1]}]({up}{new}{'#' + anchor if anchor else ''})"
    return re.sub(r"(!?\[[^\]]*)\]\(([^)\s]+)\)", link, text)


def clean(nb, here):
    "A notebook without its hidden cells and directives, with links of the site"
    kept = []
    for c in nb.cells:
        if re.match(r"#\|\s*(hide|default_exp)\b", c.source): continue
        if c.source.startswith("#| echo: false"): c.metadata["tags"] = ["remove-input"]
        c.source = re.sub(r"(?m)^#\|\s*\w+.*\n?", "", c.source) if c.cell_type == "code" else rewrite(c.source, here)
        kept.append(c)
    nb.cells = kept
    return nb


def interface(source):
    "The public names of a chapter's module with their signatures and first lines"
    name = re.search(r"#\|\s*default_exp\s+(\w+)", source)
    if not name: return []
    module = importlib.import_module(f"gumbel_softmax.{name[1]}")
    lines = []
    for public in module.__all__:
        thing = getattr(module, public)
        if not callable(thing) or getattr(thing, "__module__", "") != module.__name__: continue
        unreadable = r"<(?:class|(?:built-in )?function) (?:<lambda>|[^>])*>|\{[^}]{40,}\}"
        try: signature = re.sub(unreadable, "...", str(inspect.signature(thing)))
        except ValueError: signature = "(...)"
        told = (inspect.getdoc(thing) or "").split("\n")[0]
        lines.append(f"`{public}{signature}`\n: {told or '…'}\n")
    return [cell("\n".join([f"## The interface of `gumbel_softmax.{name[1]}`\n", *lines]))] if lines else []


def chapters():
    for source in sorted((ROOT / "nbs").glob("[0-9]*.ipynb")):
        nb = nbformat.read(source, 4)
        extra = interface("\n".join(c.source for c in nb.cells))
        nb = clean(nb, source.parent)
        nb.cells += extra
        nbformat.write(nb, PAGES / source.name)
        yield source.stem


def results():
    "Figures and tables of the paper first"
    (PAGES / "results").mkdir()
    for source in sorted((RESULTS / "notebooks").glob("*.ipynb"), key=lambda p: (not re.match("fig|table", p.stem), p.stem)):
        nbformat.write(clean(nbformat.read(source, 4), ROOT / "nbs" / "experiments"), PAGES / "results" / source.name)
        yield f"results/{source.stem}"


def gallery():
    "All figures, each linked to the notebook that made it, as dvc.yaml has it"
    parts = ["# Gallery\n\nEvery figure of the pipeline; each leads to the notebook that made it.\n"]
    for stage in yaml.safe_load((ROOT / "dvc.yaml").read_text())["stages"].values():
        outs = [next(iter(o)) if isinstance(o, dict) else o for o in stage.get("outs", [])]
        figures = [Path(o).name for o in outs if o.endswith(".png") and (RESULTS / "figures" / Path(o).name).exists()]
        made_by = next((Path(o).stem for o in outs if o.endswith(".ipynb")), None)
        if not figures or not (PAGES / "results" / f"{made_by}.ipynb").exists(): continue
        nb = nbformat.read(PAGES / "results" / f"{made_by}.ipynb", 4)
        parts.append(f"## {title(nb)}\n\n{stage['desc']}.\n")
        parts += [f"[![{stage['desc']}](figures/{name})](results/{made_by}.ipynb)\n" for name in figures]
    (PAGES / "gallery.md").write_text("\n".join(parts))


PROBLEMS = ("two layers, Bernoulli", "two layers, categorical")


def reference():
    "The estimators, from the registry, and what the laboratory measured of each"
    from gumbel_softmax import estimators
    measured = {}
    for problem, rows in json.loads((RESULTS / "lab.json").read_text())["problems"].items():
        for r in rows: measured[r["estimator"], problem] = f"{r['relative bias']:.3f}, {r['variance'] / r['norm2']:.2g}"
    table = [f"| estimator | bias | evaluations | cost | {' | '.join(PROBLEMS)} |", "|---" * 6 + "|"]
    parts = []
    for name, e in estimators.items():
        use, _, formula = inspect.getdoc(e.function).partition("\n\n")
        options = ", ".join(f"`{k}={getattr(v, '__name__', repr(v))}`" for k, v in e.options.items()) or "none"
        facts = ["none" if e.unbiased else "biased", e.evaluations, "differentiable in z" if e.differentiable else "any"]
        facts += [measured.get((name, problem), "") for problem in PROBLEMS]
        table.append(f"| [{name}](#{name}) | {' | '.join(facts)} |")
        parts.append(f"## `{name}`\n\n{use}\n\n$$\n{formula}\n$$\n\n:reference: {e.reference}\n:options: {options}\n")
    head = ("# Estimators\n\nEvery name in the registry: `Loss(name, **options)` trains with it. The last two columns are bias "
            "and variance over the norm and the squared norm of the gradient, measured on small networks "
            "([](results/lab.ipynb)).\n")
    (PAGES / "estimators.md").write_text("\n".join([head, *table, "", *parts]))


def contents(book, made):
    "The front page: index.ipynb with the table of contents"
    nb = clean(nbformat.read(ROOT / "nbs" / "index.ipynb", 4), ROOT / "nbs")
    trees = {"Use it": ["explorer", *(g for g in GUIDES if g in book), "estimators", "gallery"],
             "The book": [c for c in book if c not in GUIDES], "The paper, executed": made}
    for caption, pages in trees.items():
        nb.cells.append(cell("\n".join(["```{toctree}", f":caption: {caption}", ":hidden:", *pages, "```"])))
    nbformat.write(nb, PAGES / "index.ipynb")


class Links(HTMLParser):
    "Targets and anchors of a page"
    def __init__(self, text):
        super().__init__()
        self.targets, self.anchors = [], set()
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        found = dict(attributes)
        self.anchors |= {found[k] for k in ("id", "name") if k in found}
        self.targets += [found[k] for k in ("href", "src") if found.get(k)]


def dead_links():
    "Links inside the site to files or anchors that are not there, and what would be fetched from elsewhere"
    pages = {f.resolve(): Links(f.read_text()) for f in SITE.rglob("*.html") if f.parent.name != "_static"}
    for file, page in pages.items():
        for target in page.targets:
            parts = urlsplit(target)
            if parts.scheme or parts.netloc or target.startswith("data:"): continue
            goal = (file.parent / unquote(parts.path)).resolve() if parts.path else file
            if goal.is_dir(): goal = goal / "index.html"
            lost = not goal.exists() or (parts.fragment and goal in pages and unquote(parts.fragment) not in pages[goal].anchors)
            if lost and not (goal in pages and parts.fragment.startswith(("p=", "tau="))): yield f"{file.relative_to(SITE)}: {target}"


def main():
    shutil.rmtree(ROOT / "docs" / "_build", ignore_errors=True)
    PAGES.mkdir(parents=True)
    shutil.copytree(RESULTS / "figures", PAGES / "figures", ignore=shutil.ignore_patterns("*.svg"))
    shutil.copy(ROOT / "docs" / "explorer.md", PAGES)
    book, made = list(chapters()), list(results())
    gallery(), reference(), contents(book, made)
    strict = ["-W", "--keep-going", "-q", "-b", "html", "-c", ROOT / "docs", PAGES, SITE]
    status = subprocess.run([sys.executable, "-m", "sphinx", *strict], env={**os.environ, "PYTHONWARNINGS": "ignore"}).returncode
    dead = sorted(set(dead_links())) if status == 0 else []
    if dead: print("links that go nowhere:", *dead, sep="\n  ")
    sys.exit(status or bool(dead))


if __name__ == "__main__": main()
