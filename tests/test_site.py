"The site in a real browser, from its files and without a network; screenshots go to runs/screenshots."
import shutil
import subprocess
import sys

import pytest


@pytest.fixture(scope="module")
def site(root):
    done = subprocess.run([sys.executable, "docs/build.py"], cwd=root, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return root / "docs" / "_build" / "html"


@pytest.fixture
def visit(browser, site):
    "Open a page; at the end nothing may have left the site and nothing may have gone wrong"
    contexts, troubles = [], []
    def opened(page, width=1400, scheme="light", query=""):
        inside = ("file:", "data:", "blob:")
        context = browser.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme, reduced_motion="reduce",
                                      offline=True)
        contexts.append(context)
        tab = context.new_page()
        tab.on("pageerror", lambda error: troubles.append(f"{page}: {error}"))
        tab.on("console", lambda m: troubles.append(f"{page}: {m.text}") if m.type in ("error", "warning") else None)
        tab.on("request", lambda r: None if r.url.startswith(inside) else troubles.append(f"{page}: {r.url}"))
        tab.goto((site / page).as_uri() + query)
        tab.wait_for_load_state("load")
        return tab
    yield opened
    for context in contexts: context.close()
    assert troubles == []


def pages(site): return sorted(p.relative_to(site).as_posix() for p in site.rglob("*.html") if "_static" not in p.parts)


def test_every_page_loads_fits_and_has_its_math(visit, site, root):
    folder = root / "runs" / "screenshots"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    assert len(pages(site)) > 25
    too_wide = []
    for page in pages(site):
        for width, scheme in ((1400, "light"), (400, "dark")):
            tab = visit(page, width, scheme)
            if tab.locator(".math").count():
                tab.wait_for_selector(".math mjx-container", timeout=20_000, state="attached")
                assert tab.locator("mjx-merror, .MathJax_Error").count() == 0, page
                red = "[...document.querySelectorAll('mjx-mtext')].filter(e => getComputedStyle(e).color == 'rgb(255, 0, 0)')"
                assert tab.evaluate(red + ".length") == 0, f"{page} has a macro that MathJax does not know"
            broken = tab.evaluate("[...document.images].filter(i => i.complete && !i.naturalWidth).map(i => i.src)")
            assert broken == [], page
            wide = tab.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
            if wide > 1: too_wide.append((page, width, wide))
            if width == 1400 or page in ("index.html", "explorer.html"):
                tab.screenshot(path=folder / f"{page.replace('/', '_')}-{width}-{scheme}.png")
            tab.context.close()
    assert too_wide == []  # (page, width of the screen, pixels beyond it)


def test_search_finds_the_distribution(visit):
    tab = visit("search.html", query="?q=GumbelSoftmax")
    hits = tab.locator("#search-results li a")  # they come one by one
    hits.filter(has_text="The Gumbel-Softmax distribution").first.wait_for(timeout=20_000)


def test_the_explorers_temperature_does_what_the_mathematics_says(visit):
    import torch

    from gumbel_softmax import GumbelSoftmax
    tab = visit("explorer.html")
    for tau in (0.1, 10):
        tab.evaluate(f"location.hash = 'p=0.5,0.3,0.2&tau={tau}'")
        tab.wait_for_timeout(700)
        mean = GumbelSoftmax(tau, probs=torch.tensor([0.5, 0.3, 0.2], dtype=torch.float64)).mean
        said = ", ".join(f"{m:.4f}" for m in mean.tolist())
        assert said in tab.locator("#gs-explorer").inner_text()
