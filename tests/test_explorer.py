"The explorer's mathematics, run by node, against the library's"
import json
import math
import shutil
import subprocess
from pathlib import Path

import pytest
import torch

from gumbel_softmax import Categorical, GumbelSoftmax, estimators
from gumbel_softmax.estimators import expectation, gradient

HERE = Path(__file__).resolve().parent
FOLDER = next((f for f in (HERE, HERE.parent / "docs" / "_static" / "explorer") if (f / "math.js").exists()), HERE)

pytestmark = pytest.mark.skipif(shutil.which("node") is None, reason="node is not installed")


def node(function, *data):
    "What a JavaScript function returns for `data`, with the page's mathematics as GS"
    files = "".join(f"require({json.dumps(str(FOLDER / name))});" for name in ("math.js", "address.js"))
    data_in, out = "JSON.parse(require('fs').readFileSync(0))", "console.log(JSON.stringify(result))"
    program = f"{files} const result = ({function})(...{data_in}); {out}"
    run = subprocess.run(["node", "-e", program], input=json.dumps(data), capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    return json.loads(run.stdout)


def tensor(numbers): return torch.tensor(numbers, dtype=torch.float64)


def dirichlet(k, n, alpha, seed):
    torch.manual_seed(seed)
    return torch.distributions.Dirichlet(torch.full((k,), alpha, dtype=torch.float64)).sample((n,))


TAUS = [0.05, 0.1, 0.3, 0.99, 1.0, 1.01, 3.0, 10.0, 20.0]


def cases(k, each=3):
    "Distributions of k classes, in a batch: `each` class probabilities at every temperature"
    pi = dirichlet(k, each * len(TAUS), 0.7, seed=k).clamp(min=1e-3)
    return GumbelSoftmax(tensor(TAUS * each), probs=pi)


@pytest.mark.parametrize("k", range(2, 9))
def test_log_density(k):
    "At points drawn from the distribution and at points drawn evenly, to 1e-11 of its size"
    d = cases(k)
    y = torch.stack([d.sample(), dirichlet(k, len(d.logits), 1.0, seed=0)]).clamp(min=1e-300)
    y = y / y.sum(-1, keepdim=True)
    found = node("(l, tau, ys) => ys.map((y) => y.map((point, i) => GS.logDensity(l[i], tau[i])(point)))",
                 d.logits.tolist(), d.temperature.tolist(), y.log().tolist())
    torch.testing.assert_close(tensor(found), d.log_prob(y), rtol=1e-11, atol=1e-11)


@pytest.mark.parametrize("k", range(2, 9))
def test_mean(k):
    "For temperatures from 0.05 to 20, to 1e-11"
    d = cases(k)
    found = node("(l, tau) => l.map((_, i) => GS.mean(l[i], tau[i]))", d.logits.tolist(), d.temperature.tolist())
    torch.testing.assert_close(tensor(found), d.mean, rtol=0, atol=1e-11)


def test_entropy():
    pi = dirichlet(5, 1, 1.0, seed=0)[0]
    expected = torch.distributions.Categorical(probs=pi).entropy().item()
    assert node("GS.entropy", pi.tolist()) == pytest.approx(expected, abs=1e-12)


# Estimators

LIBRARY = {  # name in the page: estimator of the library
    "exact": estimators["exact"], "sf-plain": estimators["sf"].configured(normalise=False),
    "sf": estimators["sf"].configured(normalise=False), "st": estimators["st"], "reinmax": estimators["reinmax"],
    "gumbel-softmax": estimators["gumbel-softmax"], "st-gumbel-softmax": estimators["st-gumbel-softmax"],
}
ENUMERABLE = ["exact", "sf-plain", "sf", "st", "reinmax"]
POINT = "({ theta, tau, c, a, p, baseline }) => ({ theta, tau, baseline, cost: GS.bentCost(c, a, p) })"


def problem(seed, p):
    "A point of the page's second panel, at random, with the same for the library: cost, parameters and state"
    g = torch.Generator().manual_seed(seed)
    theta, c = torch.randn(3, generator=g, dtype=torch.float64), torch.rand(3, generator=g, dtype=torch.float64)
    a, tau = 2 * torch.rand((), generator=g).item() - 0.5, 0.2 + torch.rand((), generator=g).item()

    def cost(params, x, draw):
        z = draw(Categorical(params["theta"].expand(len(x), 3)))
        return (c * ((1 - a) * z + a * z.pow(p))).sum(-1)

    baseline = (theta.softmax(-1) @ c).item()  # the mean cost, where a moving average settles
    given = dict(theta=theta.tolist(), c=c.tolist(), a=a, p=p, tau=tau, baseline=baseline)
    return given, cost, {"theta": theta}


def library(name, tau):
    return LIBRARY[name].configured(tau=tau) if name.endswith("gumbel-softmax") else LIBRARY[name]


def state(name, given):
    return {"mean": tensor(given["baseline"] if name == "sf" else 0.0), "var": torch.zeros(())}


X = torch.zeros(1, 1, dtype=torch.float64)


@pytest.mark.parametrize("p", [1, 1.7, 2, 3, 4])
@pytest.mark.parametrize("name", LIBRARY)
def test_gradient_for_given_noise(name, p):
    "What the page computes by hand is what torch differentiates, to 1e-10"
    given, cost, params = problem(seed=int(10 * p), p=p)
    noise = -torch.empty(20, 3, dtype=torch.float64).exponential_(generator=torch.Generator().manual_seed(1)).log()
    given_state, estimator = state(name, given), library(name, given["tau"])
    expected = torch.stack([gradient(estimator, cost, params, X, [g.view(1, 1, 3)], state=given_state)["theta"] for g in noise])
    one = f"(name, given, noise) => noise.map((g) => GS.estimators[name](({POINT})(given), g))"
    found = node(one, name, given, noise.tolist())
    torch.testing.assert_close(tensor(found), expected, rtol=0, atol=1e-10)


@pytest.mark.parametrize("p", [1, 1.7, 2, 3, 4])
@pytest.mark.parametrize("name", ENUMERABLE)
def test_expectation(name, p):
    "The mean over all z, and its distance from the exact gradient, to 1e-12"
    given, cost, params = problem(seed=int(10 * p), p=p)
    expected = expectation(LIBRARY[name], cost, params, X, state=state(name, given))["theta"]
    exact = expectation(LIBRARY["exact"], cost, params, X)["theta"]
    found = node(f"(name, given) => GS.enumerate(name, ({POINT})(given))", name, given)
    torch.testing.assert_close(tensor(found["mean"]), expected, rtol=0, atol=1e-12)
    assert found["bias"] == pytest.approx((expected - exact).norm().item(), abs=1e-12)


@pytest.mark.parametrize("name, unbiased_for", [("sf-plain", {1, 2, 3}), ("sf", {1, 2, 3}), ("st", {1}), ("reinmax", {1, 2})])
def test_promises(name, unbiased_for):
    "The page's promises: there is no bias where it says so, and some where it does not"
    for p in (1, 2, 3):
        given, *_ = problem(seed=3, p=p)
        bias = node(f"(name, given) => GS.enumerate(name, ({POINT})(given)).bias", name, given)
        assert (bias < 1e-12) == (p in unbiased_for), (p, bias)


@pytest.mark.parametrize("name", LIBRARY)
def test_measured_bias_is_the_enumerated_one(name):
    "The mean of 20,000 estimates is within 4.5 standard errors of the enumerated one, or of torch's where there is none"
    given, cost, params = problem(seed=5, p=2)
    options = "{ n: 20000, seed: 1 }"
    found = node(f"(name, given) => ({{ ...GS.measure(name, ({POINT})(given), {options}), estimates: 0 }})", name, given)
    error = max(found["error"], 1e-12)
    if name in ENUMERABLE:
        expected = expectation(LIBRARY[name], cost, params, X, state=state(name, given))["theta"]
    else:
        g = -torch.empty(200_000, 1, 1, 3, dtype=torch.float64).exponential_(generator=torch.Generator().manual_seed(1)).log()
        each = torch.func.vmap(lambda n: gradient(library(name, given["tau"]), cost, params, X, [n])["theta"])(g)
        expected, error = each.mean(0), math.hypot(error, each.var(0).sum().div(len(each)).sqrt().item())
    assert (tensor(found["mean"]) - expected).norm() < 4.5 * error


@pytest.mark.parametrize("p, factor", [(2, 1.0), (3, 1.375)])
def test_cold_st_gumbel_softmax(p, factor):
    "As τ → 0 it follows the trapezoidal rule between corners: exact for quadratic f, off by 1 - a + a p/2 for f of power p"
    given = dict(theta=[math.log(v) for v in (0.5, 0.3, 0.2)], c=[0.9, 0.6, 0.3], a=0.75, p=p, tau=0.03)
    mean, exact, error = node(f"""(given) => {{
        const at = ({POINT})(given), found = GS.measure("st-gumbel-softmax", at, {{ n: 200000, seed: 1 }});
        return [found.mean, GS.estimators.exact(at), found.error]; }}""", given)
    assert math.dist(mean, [factor * v for v in exact]) < 4.5 * error


def test_descent():
    "Descent by the exact gradient is that of torch"
    given, *_ = problem(seed=7, p=2)
    path = node(f"(given) => GS.descend('exact', ({POINT})(given), {{ rate: 0.7, steps: 50, seed: 1 }})", given)
    theta, c = tensor(given["theta"]), tensor(given["c"])
    for _ in range(50):
        theta = theta - 0.7 * torch.func.grad(lambda t: t.softmax(-1) @ c)(theta)
    assert len(path) == 51
    torch.testing.assert_close(tensor(path[-1]), theta, rtol=0, atol=1e-10)


# Noise

N = 200_000


def test_noise_is_gumbel():
    "Mean, variance and five quantiles of the noise, each within 4.5 standard errors"
    g = tensor(node(f"(seed) => GS.gumbelNoise(GS.generator(seed), {N})", 1))
    variance, kurtosis = math.pi**2 / 6, 5.4
    assert abs(g.mean() - 0.5772156649015329) < 4.5 * math.sqrt(variance / N)
    assert abs(g.var() - variance) < 4.5 * variance * math.sqrt(kurtosis / N)
    for q in (0.01, 0.25, 0.5, 0.75, 0.99):
        below = (g < -math.log(-math.log(q))).double().mean()
        assert abs(below - q) < 4.5 * math.sqrt(q * (1 - q) / N), q


def test_noise_of_seeds():
    "A seed repeats its noise, and neighbouring seeds and successive draws do not correlate"
    a, b, again = (torch.tensor(v) for v in node(f"() => [1, 2, 1].map((seed) => GS.gumbelNoise(GS.generator(seed), {N}))"))
    assert torch.equal(a, again)
    for u, v in ((a, b), (a[1:], a[:-1])):
        assert abs(torch.corrcoef(torch.stack([u, v]))[0, 1]) < 4.5 / math.sqrt(N)


def test_hard_samples():
    "The class of z is distributed as π (the Gumbel-max trick)"
    pi = [0.6, 0.3, 0.1]
    counts = node(f"""(pi) => {{
        const random = GS.generator(3), logits = pi.map(Math.log);
        let counts = [0, 0, 0];
        for (let i = 0; i < {N}; i++) counts = GS.add(counts, GS.hard(logits, GS.gumbelNoise(random, 3)));
        return counts; }}""", pi)
    for p, count in zip(pi, counts):
        assert abs(count / N - p) < 4.5 * math.sqrt(p * (1 - p) / N)


# Address

def test_address_round_trip():
    text = "p=0.1,0.2,0.3,0.4&tau=2.5&hard=1&n=7&seed=5&est=reinmax&c=0.1,0.5,0.2&a=-0.5&pow=3&rate=0.1&steps=50&at=30&run=9"
    assert node("(text) => GS.address.encode(GS.address.decode(text))", text) == text
    assert node("() => GS.address.encode(GS.address.defaults())") == ""


@pytest.mark.parametrize("text", [
    "tau=NaN&p=,,,&n=-5&seed=1e99", "p=0.5&est=constructor", "p=1,2,3,4,5,6,7,8,9", "est=__proto__&c=1,2", "tau=Infinity&a=x",
    "p=0,0,0", "tau=-1&steps=1e9&at=1e9", "%E0%A4%A&tau=%", "__proto__[tau]=3&toString=1", "p=<img src=x onerror=alert(1)>,1",
    "tau=" + "9" * 5000, "n=0.5&hard=7&pow=0&rate=0",
])
def test_address_cannot_harm(text):
    "Whatever the address holds, the state is one that the page can draw"
    state = node("GS.address.decode", text)
    ranges = node("() => GS.address.RANGES")
    assert state.keys() == node("GS.address.defaults").keys()
    for key, (low, high) in ranges.items():
        for v in state[key] if isinstance(state[key], list) else [state[key]]:
            assert low / 8 <= v <= high if low > 0 else low <= v <= high, key
    assert 2 <= len(state["p"]) <= 8 and sum(state["p"]) == pytest.approx(1) and sum(state["start"]) == pytest.approx(1)
    assert state["est"] in LIBRARY and state["hard"] in (0, 1) and state["at"] <= state["steps"]
