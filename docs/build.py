"Build the site from the notebooks with their outputs: python docs/build.py"
import shutil
import subprocess
import sys
from pathlib import Path

import nbformat

root = Path(__file__).resolve().parent.parent
pages = root / "docs" / "_build" / "pages"
shutil.rmtree(pages, ignore_errors=True)
chapters = sorted((root / "nbs").glob("[0-9]*.ipynb"))
executed = sorted((root / "results" / "cpu" / "notebooks").glob("*.ipynb"))
for source in (root / "nbs" / "index.ipynb", *chapters, *executed):
    folder = pages / "results" if source in executed else pages
    folder.mkdir(parents=True, exist_ok=True)
    shutil.copy(source, folder)
toc = "\n".join(["", "```{toctree}", ":caption: The book", ":hidden:", *(c.stem for c in chapters), "```",
                 "```{toctree}", ":caption: Results", ":hidden:", *(f"results/{e.stem}" for e in executed), "```"])
shutil.copytree(root / "results" / "cpu" / "figures", pages / "figures")
index = nbformat.read(pages / "index.ipynb", 4)
for cell in index.cells: cell.source = cell.source.replace("../results/cpu/figures/", "figures/")
index.cells.append(nbformat.v4.new_markdown_cell(toc))
nbformat.write(index, pages / "index.ipynb")
command = [sys.executable, "-m", "sphinx", "-q", "-b", "html", "-c", root / "docs", pages, root / "docs" / "_build" / "html"]
sys.exit(subprocess.run(command).returncode)
