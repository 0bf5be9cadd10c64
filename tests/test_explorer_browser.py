"The explorer's page in a browser, from its file and without a network; screenshots go to the folder named by SCREENSHOTS"
import math
import os
import random
import re
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent
FOLDER = next((f for f in (HERE, HERE.parent / "docs" / "_static" / "explorer") if (f / "standalone.html").exists()), HERE)
PAGE = (FOLDER / "standalone.html").as_uri()


@pytest.fixture
def visit(browser):
    "Open the page at a hash; at the end, nothing may have been asked of a network and nothing may have gone wrong"
    contexts, troubles, requests = [], [], []

    def opened(hash="", width=1100, scheme="light", motion="reduce"):
        look = {"viewport": {"width": width, "height": 900}, "color_scheme": scheme, "reduced_motion": motion}
        context = browser.new_context(**look, offline=True)
        contexts.append(context)
        page = context.new_page()
        page.on("pageerror", lambda error: troubles.append(str(error)))
        page.on("console", lambda message: troubles.append(message.text) if message.type in ("error", "warning") else None)
        page.on("request", lambda request: requests.append(request.url))
        page.goto(PAGE + hash)
        settle(page)
        return page

    yield opened
    for context in contexts: context.close()
    assert troubles == []
    assert [url for url in requests if not url.startswith(("file:", "data:"))] == []


def settle(page, milliseconds=600):
    "Let frames be drawn, and what waits for a pause (address, summary, table) happen"
    page.wait_for_timeout(milliseconds)
    page.evaluate("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")


def bar(page, i, slot="p"): return page.locator(f"[data-slot={slot}] [role=slider]").nth(i)
def bars(page, attribute): return [float(b.get_attribute(attribute)) for b in page.locator("[data-slot=p] [role=slider]").all()]
def probabilities(page): return bars(page, "aria-valuenow")
def means(page): return bars(page, "data-mean")
def hash_of(page): return page.evaluate("location.hash")
def label(page, slot): return page.locator(f"[data-slot={slot}] canvas").get_attribute("aria-label")
def text(page, slot): return page.locator(f"[data-slot={slot}]").inner_text()
def pixels(page, slot): return page.locator(f"[data-slot={slot}] canvas").evaluate("c => c.toDataURL()")


def simulated(pi, tau, n=40_000):
    "Mean of y and its standard error, by this language's own random numbers"
    numbers, rows = random.Random(0), []
    for _ in range(n):
        s = [(math.log(p) - math.log(numbers.expovariate(1))) / tau for p in pi]
        e = [math.exp(v - max(s)) for v in s]
        rows.append([v / sum(e) for v in e])
    mean = [sum(c) / n for c in zip(*rows)]
    return mean, [math.sqrt(sum((v - m)**2 for v in c) / n / n) for c, m in zip(zip(*rows), mean)]


@pytest.mark.parametrize("tau", [0.1, 1, 10])
def test_mean_is_that_of_simulation(visit, tau):
    page, pi = visit(f"#p=0.7,0.2,0.1&tau={tau}"), [0.7, 0.2, 0.1]
    for shown, mean, error in zip(means(page), *simulated(pi, tau)): assert abs(shown - mean) < 4.5 * error


def test_temperature(visit):
    "Cold, the mean is π; hot, it is uniform; what is drawn follows"
    page, pi = visit("#p=0.7,0.2,0.1&tau=0.1"), [0.7, 0.2, 0.1]
    assert max(abs(m - p) for m, p in zip(means(page), pi)) < 2e-3
    cold = bar(page, 0).locator(".gs-also").bounding_box()["height"]
    slider = page.get_by_role("slider", name="temperature").first
    slider.focus()
    page.keyboard.press("End")
    settle(page)
    assert "tau=20" in hash_of(page) and max(abs(m - 1 / 3) for m in means(page)) < 0.03
    hot = bar(page, 0).locator(".gs-also").bounding_box()["height"]
    assert hot / cold == pytest.approx(means(page)[0] / 0.7, rel=0.02)
    assert slider.get_attribute("aria-valuetext") == "τ = 20"


def test_keyboard_on_bars(visit):
    page = visit()
    bar(page, 0).focus()
    presses = {"ArrowUp": 0.51, "ArrowDown": 0.5, "PageUp": 0.6, "PageDown": 0.5, "End": 0.998, "Home": 0.001}
    for key, expected in presses.items():
        page.keyboard.press(key)
        settle(page, 60)
        assert probabilities(page)[0] == pytest.approx(expected, abs=6e-4), key
        assert sum(probabilities(page)) == pytest.approx(1, abs=2e-3)
    assert page.evaluate("getComputedStyle(document.activeElement).outlineStyle") == "solid"


def test_drag(visit):
    page = visit()
    box = bar(page, 1).bounding_box()
    page.mouse.move(box["x"] + 10, box["y"] + box["height"] - 20)
    page.mouse.down()
    page.mouse.move(box["x"] + 10, box["y"] + 0.4 * box["height"], steps=5)
    page.mouse.up()
    settle(page)
    after = probabilities(page)
    assert after[1] == pytest.approx(0.6, abs=0.02) and after[0] / after[2] == pytest.approx(2.5, rel=0.03)


@pytest.mark.parametrize("k, says", [(2, "between 0 and 1"), (3, "triangle"), (5, "of 5 classes"), (8, "of 8 classes")])
def test_number_of_classes(visit, k, says):
    page = visit()
    while len(probabilities(page)) != k:
        page.get_by_role("button", name="Add a class" if len(probabilities(page)) < k else "Remove a class").click()
        settle(page, 80)
    settle(page)
    assert says in label(page, "simplex") and sum(means(page)) == pytest.approx(1, abs=1e-9)
    assert ("cannot be drawn" in text(page, "cannot")) == (k > 3)


def test_samples(visit):
    page = visit("#n=0")
    assert "with 0 samples" in label(page, "simplex")
    page.get_by_role("button", name="Draw one").click()
    page.get_by_role("button", name="Draw 100").click()
    settle(page)
    assert "with 101 samples" in label(page, "simplex") and "The latest of 101 samples" in text(page, "summary")
    soft = pixels(page, "simplex")
    page.get_by_label("straight-through").first.check()
    settle(page)
    assert "hard=1" in hash_of(page) and "z = class" in text(page, "summary") and pixels(page, "simplex") != soft
    page.get_by_role("button", name="Clear").click()
    settle(page)
    assert "with 0 samples" in label(page, "simplex")


def test_falling_sample_lands(visit):
    "With motion, a sample is on its way at first, and at the end where it would be without"
    page, calm = visit("#n=3", motion="no-preference"), visit("#n=4")
    page.get_by_role("button", name="Draw one").click()
    settle(page, 150)
    assert pixels(page, "simplex") != pixels(calm, "simplex")
    settle(page, 1500)
    assert pixels(page, "simplex") == pixels(calm, "simplex")


def test_address(visit):
    "A view comes back from its address; back and forward work; an anchor of the site is left alone"
    page = visit()
    bar(page, 0).focus()
    page.keyboard.press("PageUp")
    settle(page)
    page.get_by_label("ReinMax").check()
    settle(page)
    shared = hash_of(page)
    assert shared == "#p=0.6,0.24,0.16&est=reinmax"
    assert pixels(visit(shared), "simplex") == pixels(page, "simplex") and label(visit(shared), "path") == label(page, "path")
    page.go_back()
    settle(page)
    assert hash_of(page) == "#p=0.6,0.24,0.16" and page.get_by_label("Gumbel-Softmax", exact=True).is_checked()
    page.go_back()
    settle(page)
    assert probabilities(page) == [0.5, 0.3, 0.2]
    page.go_forward()
    settle(page)
    assert probabilities(page) == [0.6, 0.24, 0.16]
    page.evaluate("location.hash = 'gs-descent'")
    settle(page)
    assert probabilities(page) == [0.6, 0.24, 0.16]


def test_copy_link(visit):
    page = visit("#tau=3")
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.get_by_role("button", name="Copy link").click()
    settle(page)
    assert "address" in text(page, "copied")


@pytest.mark.parametrize("hash", ["#p=<img src=x onerror=alert(1)>&tau=zzz", "#tau=1e999&p=0,0,0&n=1e12&steps=-4",
                                  "#est=__proto__&c=9,9,9&a=NaN", "#%"])
def test_bad_address(visit, hash):
    page = visit(hash)
    assert sum(probabilities(page)) == pytest.approx(1, abs=2e-3) and page.locator("#gs-explorer img").count() == 0
    assert "NaN" not in page.locator("#gs-explorer").inner_text()


def numbers(page, estimator):
    "Bias and variance in the table"
    cells = page.locator(f"tr[data-estimator={estimator}] td").all_inner_texts()
    return [float(re.match(r"[\d.e-]+", cell)[0]) for cell in cells]


def test_estimators(visit):
    "The table keeps the promises that it lists"
    page = visit("#a=0.75&pow=2")
    assert all(numbers(page, name)[0] == 0 for name in ("exact", "sf-plain", "sf", "reinmax"))
    assert numbers(page, "st")[0] > 0.01 and numbers(page, "gumbel-softmax")[0] > 0.01
    assert numbers(page, "sf")[1] < numbers(page, "sf-plain")[1]
    linear = visit("#a=0")
    assert numbers(linear, "st") == [0, 0]
    cubic = visit("#pow=3")
    assert numbers(cubic, "reinmax")[0] > 0.01 and numbers(cubic, "sf")[0] == 0


def test_descent(visit):
    "The straight-through path ends away from the cheapest class, the exact one at it"
    ends = {}
    for name in ("exact", "st"):
        page = visit(f"#est={name}")
        page.get_by_role("button", name="Play").click()
        settle(page)
        ends[name] = float(re.search(r"L = (\d\.\d+)", text(page, "found"))[1])
        assert "at=200" in hash_of(page)
    assert ends["exact"] < 0.32 and ends["st"] > 0.38


def test_start_by_pointer(visit):
    page = visit()
    picture = page.locator("[data-slot=path] canvas")
    box = picture.bounding_box()
    picture.click(position={"x": box["width"] / 2, "y": 0.6 * box["height"]})
    settle(page)
    assert "start=" in hash_of(page)
    values = [float(bar(page, i, "start").get_attribute("aria-valuenow")) for i in range(3)]
    assert values[1] == pytest.approx(values[2], abs=0.02)


def test_everything_has_a_name(visit):
    "Sliders, buttons and pictures can be told apart by ear, and every control is described"
    page = visit()
    controls = page.locator("#gs-explorer :is(button, input, canvas, [role=slider])")
    named = "all => all.filter((c) => c.getAttribute('aria-label') || c.textContent.trim() || c.labels?.length).length"
    assert controls.evaluate_all(named) == controls.count() > 30
    assert page.locator("input[type=range]:not([aria-describedby])").count() == 0
    assert page.locator("[role=status][aria-live=polite]:visible").count() == 2
    for part in ("π = (0.50, 0.30, 0.20)", "entropy 1.03", "E[y] = (0.4792, 0.3069, 0.2139)"):
        assert part in text(page, "summary")


def test_theme_changes_under_way(visit):
    page = visit()
    light = pixels(page, "simplex")
    page.evaluate("document.documentElement.dataset.theme = 'dark'")
    settle(page)
    assert pixels(page, "simplex") != light


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [400, 1400])
def test_screenshots(visit, tmp_path, width, scheme):
    "Nothing is wider than the window"
    folder = Path(os.environ.get("SCREENSHOTS", tmp_path))
    folder.mkdir(parents=True, exist_ok=True)
    page = visit("#hard=1&est=st-gumbel-softmax", width=width, scheme=scheme)
    page.screenshot(path=str(folder / f"explorer-{width}-{scheme}.png"), full_page=True)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
