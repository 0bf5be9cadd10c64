"What a notebook cannot test about itself: compiled estimators, the code of others, and what is refused."
import importlib.util
import math
import sys

import pytest
import torch
from torch.utils._pytree import tree_map

from gumbel_softmax import Bernoulli, Categorical, Loss, estimators, prepare
from gumbel_softmax.estimators import conditional_logistic, copies, gradient, toy

NAMES = ["exact", "gumbel-softmax", "st-gumbel-softmax", "decoupled-st-gumbel-softmax", "st", "annealed-st", "reinmax", "gst",
         "gumbel-rao", "sf", "nvil", "muprop", "darn", "rloo", "vimco", "arm", "disarm", "arsm", "rebar", "relax"]
KINDS = {"arm": [Bernoulli], "arsm": [Categorical]}  # of the others: both
CASES = [(name, kind) for name in NAMES if name != "exact" for kind in KINDS.get(name, [Bernoulli, Categorical])]


def seeded(seed): return torch.Generator().manual_seed(seed)


def test_the_registry_has_these_names_and_says_where_they_come_from():
    assert sorted(estimators) == sorted(NAMES) and len(NAMES) >= 19
    for name, e in estimators.items():
        assert e.name == name and e.reference.strip() and e.evaluations.strip()
        assert isinstance(e.unbiased, bool) and isinstance(e.differentiable, bool)
        assert " at 0x" not in str(e.options)  # a checkpoint is known by what they print, in every process


@pytest.mark.parametrize("name, kind", [("exact", Bernoulli), ("exact", Categorical), *CASES])
def test_the_cost_is_evaluated_as_often_as_the_registry_says(name, kind):
    cost, params, x = toy(kind)
    said = {"1": 1, "2": 2, "m": 4, "1 + layers": 1 + 2, "1 + layers · k(k-1)/2": 1 + 2 * 3, "1 + 6 · layers": 1 + 6 * 2,
            "all states": 1 + (8 if kind is Bernoulli else 9)**2}  # and once to see the nodes
    plan = prepare(estimators[name], cost, params, x)
    seen = []
    def counted(params, x, draw):
        seen.append(len(x))
        return cost(params, x, draw)
    estimators[name](counted, params, x, plan.noise(seeded(0)), plan.own, plan.state)
    assert sum(seen) == said[estimators[name].evaluations]


@pytest.mark.parametrize("name, kind, backend", [(*case, "aot_eager") for case in CASES]
                         + [(name, Bernoulli, "inductor") for name in ("gumbel-softmax", "muprop", "rebar")])
def test_compiled_over_runs_as_eager_run_by_run(name, kind, backend):
    "Gradients of the model's parameters and of the estimator's own, for three runs that share nothing but the input"
    torch._dynamo.reset()
    cost, params, x = toy(kind, dtype=torch.float32)
    e, xs = estimators[name], copies(x, 5)
    plan = prepare(e, cost, params, xs)
    runs = (tree_map(lambda v: torch.stack([v, 0.5 * v, -v]), params),
            tree_map(lambda v: torch.stack([v, v + 0.1, v - 0.1]), plan.own),
            tree_map(lambda v: torch.tensor([0.0, 0.7, 5.0]), plan.state),
            [torch.stack(n) for n in zip(*(plan.noise(seeded(i)) for i in range(3)))])
    surrogate = lambda params, own, state, noise: e(cost, params, xs, noise, own, state)[0].mean()
    step = torch.func.grad(surrogate, argnums=(0, 1) if backend == "aot_eager" else (0,))
    got = torch.compile(torch.func.vmap(step), backend=backend, fullgraph=True)(*runs)
    for i in range(3):
        one = tree_map(lambda v, i=i: v[i], runs)
        expected = step(*one)
        torch.testing.assert_close(tree_map(lambda v, i=i: v[i], got), expected, atol=1e-4, rtol=1e-4)
        torch.testing.assert_close(expected[0], gradient(e, cost, one[0], xs, one[3], *one[1:3]), atol=1e-6, rtol=1e-6)
        assert all(g.abs().max() > 0 for g in expected[0].values())


@pytest.mark.parametrize("tau", [1.0, 1.5])
def test_reinmax_as_its_authors_wrote_it(tau):
    reinmax = pytest.importorskip("reinmax", reason="the authors' package is not installed: pip install gumbel_softmax[peers]")
    torch.manual_seed(0)
    logits, weight = (2 * torch.randn(50, 4, 5)).requires_grad_(), torch.randn(4, 5)
    cost = lambda z: (z * weight).sum((-2, -1)).sin() + (z * weight).sum((-2, -1)).pow(3)
    D, _ = reinmax.reinmax(logits, tau)
    theirs, = torch.autograd.grad(cost(D).mean(), logits)
    e, noise = estimators["reinmax"].configured(tau=tau), [D.detach()[None] * 1e6]  # which draws D
    ours = gradient(e, lambda logits, x, draw: cost(draw(Categorical(logits))), logits.detach(), torch.zeros(50, 1), noise)
    assert theirs.abs().max() > 1e-2
    torch.testing.assert_close(ours, theirs, atol=1e-5, rtol=0)


STORCH = """
import sys, warnings
warnings.simplefilter("ignore")
import torch, storch
from storch.method import ARM, REBAR, RELAX, Expect, ScoreFunction
from torch.distributions import Bernoulli, OneHotCategorical
logits, weight, own = torch.load(sys.argv[1])
def control(y): return torch.tanh(y.reshape(y.shape[:-2] + (6,)) @ own["w0"] + own["b0"]) @ own["v0"]
def estimates(method, kind):
    x = logits.clone().requires_grad_()
    z = method(kind(logits=storch.denote_independent(x, 0, "runs")))
    s = (z * weight).sum(-1).sum(-1)
    storch.add_cost((s - 0.3)**2 + s**3, "cost")
    storch.backward(update_estimator_params=False)
    return x.grad.detach() * len(x)
torch.manual_seed(1)
found = {"arm": estimates(ARM("z"), Bernoulli), "rebar": estimates(REBAR("z"), OneHotCategorical),
         "rloo": estimates(ScoreFunction("z", n_samples=4, baseline_factory="batch_average"), OneHotCategorical),
         "relax": estimates(RELAX("z", c_phi=control), OneHotCategorical),
         "exact": estimates(Expect("z"), OneHotCategorical)}
torch.save(found, sys.argv[2])
"""


@pytest.mark.skipif(not all(map(importlib.util.find_spec, ("storch", "pyro", "entmax"))),
                    reason="storchastic is not installed: pip install gumbel_softmax[peers]")
def test_means_and_variances_as_in_storchastic(run, tmp_path):
    "It patches torch when it is imported, so it runs elsewhere; its REBAR and RELAX of Bernoulli variables are biased"
    n, f64 = 20_000, torch.float64
    logits = torch.tensor([[0.4, -0.8, 0.1], [0.2, 0.9, -0.5]], dtype=f64).repeat(n, 1, 1)
    weight = torch.tensor([[1.0, -0.5, 0.7], [0.3, -1.1, 0.2]], dtype=f64)
    ours, own = {}, {}
    def cost(kind):
        def cost(logits, x, draw):
            s = (draw(kind(logits.repeat(len(x) // len(logits), 1, 1))) * weight).sum((-2, -1))
            return (s - 0.3)**2 + s**3
        return cost
    for name, kind, options in (("arm", Bernoulli, {}), ("rebar", Categorical, {"tau": 1.0}), ("rloo", Categorical, {"m": 4}),
                                ("relax", Categorical, {})):
        e, x = estimators[name].configured(**options), torch.zeros(n, 1)
        plan = prepare(e, cost(kind), logits, x)
        own = plan.own
        ours[name] = n * gradient(e, cost(kind), logits, x, plan.noise(seeded(0)), plan.own, plan.state)
    torch.save((logits, weight, own), tmp_path / "in.pt")
    run(sys.executable, "-c", STORCH, tmp_path / "in.pt", tmp_path / "out.pt")
    theirs = torch.load(tmp_path / "out.pt")
    exact = gradient(estimators["exact"], cost(Categorical), logits[:1], torch.zeros(1, 1), None)
    torch.testing.assert_close(theirs.pop("exact")[:1], exact)
    for name in theirs:
        a, b = ours[name], theirs[name]
        for u, v in ((a, b), ((a - a.mean(0))**2, (b - b.mean(0))**2)):
            z = (u.mean(0) - v.mean(0)) / ((u.var(0) + v.var(0)) / n).sqrt()
            assert z.abs().max() < 4.5, name


def bits(x, draw): return draw(Bernoulli(draw(Bernoulli(x)) - 0.5)).sum(-1)

def classes(x, draw): return draw(Categorical(x)).pow(2)[..., 0]

def analytic(x, draw): return draw(Bernoulli(x)).sum(-1)
analytic.analytic_kl = True

def growing(loss):
    "A model that draws one node when it is prepared, and one more each time after that"
    runs = []
    def model(x, draw):
        runs.append(x)
        return sum(draw(Bernoulli(x)).sum(-1) for _ in runs)
    return loss(model, X)

X = torch.zeros(2, 3)
BAD = {
    "unknown estimator": (lambda: estimators["reinforce"], KeyError, "'reinforce'.*" + ", ".join(NAMES[:9])),
    "unknown estimator of a loss": (lambda: Loss("reinforce"), KeyError, ".*".join(NAMES)),
    "unknown option": (lambda: Loss("gst", temperature=1.0), ValueError, "gst has the options tau, gap; got temperature"),
    "option of one without": (lambda: estimators["arm"].configured(tau=1.0), ValueError, "arm has no options; got tau"),
    "τ = 0": (lambda: Loss("gumbel-softmax", tau=0.0), ValueError, "tau of gumbel-softmax takes a number above 0.*got 0.0"),
    "τ is not a number": (lambda: Loss("st-gumbel-softmax", tau=math.nan), ValueError, "tau .*got nan"),
    "a learned τ where there is none": (lambda: Loss("gst", tau="learned"), ValueError, "tau of gst takes.*got 'learned'"),
    "a schedule where τ is tuned": (lambda: Loss("rebar", tau=lambda t: 1.0), ValueError, "tau of rebar.*from which"),
    "K = 0": (lambda: Loss("gumbel-rao", K=0), ValueError, "K of gumbel-rao takes a whole number from 1; got 0"),
    "a gap that is no number": (lambda: Loss("gst", gap="x"), ValueError, "gap of gst takes a number from 0; got 'x'"),
    "decay of 1": (lambda: Loss("sf", decay=1.0), ValueError, "decay of sf takes"),
    "a tensor as node": (lambda: Loss("st")(lambda x, draw: draw(x).sum(-1), X), TypeError, "Bernoulli or a Categ.*Tensor"),
    "a distribution as node": (lambda: Loss("sf")(lambda x, draw: draw(torch.distributions.Normal(x, 1.0)).sum(-1), X),
                               TypeError, "Bernoulli or a Categ.*Normal"),
    "no node": (lambda: Loss("sf")(lambda x, draw: x.sum(-1), X), ValueError, "draws no node"),
    "one cost for all": (lambda: Loss("st")(lambda x, draw: draw(Bernoulli(x)).sum(), X), ValueError, r"2 examples.*\(\)"),
    "a cost a variable": (lambda: Loss("sf")(lambda x, draw: draw(Bernoulli(x)), X), ValueError, r"2 examples.*\(2, 3\)"),
    "a cost a column": (lambda: Loss("st")(lambda x, draw: draw(Bernoulli(x)).sum(0), X), ValueError, r"2 examples.*\(3,\)"),
    "rloo of one sample": (lambda: Loss("rloo", m=1)(analytic, X), ValueError, "m of .* takes a whole number from 2.*got 1"),
    "vimco of one sample": (lambda: Loss("vimco", m=1)(bits, X), ValueError, "m of .* takes a whole number from 2.*got 1"),
    "vimco with an analytic KL": (lambda: Loss("vimco")(analytic, X), ValueError, "vimco.*KL"),
    "arm of classes": (lambda: Loss("arm")(classes, X), ValueError, "arm is for Bernoulli nodes.*arsm and disarm"),
    "arsm of bits": (lambda: Loss("arsm")(bits, X), ValueError, "arsm is for categorical nodes.*arm and disarm"),
    "more nodes than prepared, relaxed": (lambda: growing(Loss("gumbel-softmax")), ValueError, "more nodes than the 1 "),
    "more nodes than prepared, hard": (lambda: growing(Loss("sf")), ValueError, "more nodes than the 1 "),
    "too many states": (lambda: estimators["exact"](lambda p, x, draw: analytic(x, draw), {}, torch.zeros(1, 30), None),
                        ValueError, r"2\^20"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_input_is_named(case):
    call, error, words = BAD[case]
    with pytest.raises(error, match=words): call()


COSTS = {"compared": lambda z: (z > 0.5).float(), "detached": lambda z: z.detach(),
         "looked up": lambda z: torch.arange(3.0)[z.long()]}


@pytest.mark.parametrize("how", COSTS)
@pytest.mark.parametrize("name", [n for n, e in estimators.items() if e.differentiable])
def test_a_cost_that_is_not_differentiable_is_refused_with_names_that_accept_it(name, how):
    weight = torch.ones(3, requires_grad=True)  # a gradient to something else does not help
    with pytest.raises(ValueError, match=f"^{name} differentiates.*no gradient reaches sample 0.*: exact, sf, nvil, rloo"):
        Loss(name)(lambda x, draw: COSTS[how](draw(Bernoulli(x))) @ weight, X)
    with pytest.raises(ValueError, match=f"^{name} differentiates.*no gradient reaches sample 1"):
        Loss(name)(lambda x, draw: draw(Bernoulli(x)).sum(-1) + COSTS[how](draw(Bernoulli(x))) @ weight, X)


@pytest.mark.parametrize("name", [n for n, e in estimators.items() if not e.differentiable])
def test_a_cost_that_is_not_differentiable_is_accepted_where_no_derivative_is_needed(name):
    kind = KINDS.get(name, [Bernoulli])[0]
    logits = torch.zeros(200, 3, requires_grad=True)
    Loss(name, generator=seeded(0))(lambda x, draw: (draw(kind(logits.repeat(len(x) // 200, 1))) > 0.5).float()[..., 0],
                                    torch.zeros(200, 1)).backward()
    assert logits.grad.isfinite().all() and logits.grad[:, 0].sum() > 0


@pytest.mark.parametrize("kind", [Bernoulli, Categorical])
@pytest.mark.parametrize("name", ["gumbel-softmax", "st-gumbel-softmax"])
def test_a_temperature_is_learned(name, kind):
    cost, params, x = toy(kind, dtype=torch.float32)
    model = lambda x, draw: cost(params, x, draw)
    loss, xs = Loss(name, generator=seeded(0), tau="learned").prepare(model, copies(x, 100)), copies(x, 100)
    tau, = loss.parameters()
    optimiser = torch.optim.SGD([tau], lr=1.0)
    loss(model, xs).backward()
    assert tau.grad.isfinite() and tau.grad != 0 and abs(loss.logs["tau"].item() - 1) < 1e-6
    optimiser.step()
    loss(model, xs)
    assert tau.grad * (loss.logs["tau"] - 1) < 0 and loss.logs["tau"] > 0.1
    assert not list(Loss(name).prepare(model, xs).parameters())


SCHEDULED = [(n, o) for n, e in estimators.items() for o in e.options if o in ("tau", "tau_backward", "slope") and n != "rebar"]


@pytest.mark.parametrize("name, option", SCHEDULED)
def test_a_schedule_is_called_with_the_step(name, option):
    cost, params, x = toy(Categorical)
    leaves = [v.requires_grad_() for v in params.values()]
    model = lambda x, draw: cost(params, x, draw)
    seen = []
    def schedule(step):
        seen.append(step)
        return math.exp(-0.1 * step)
    scheduled, constant = Loss(name, generator=seeded(0), **{option: schedule}), Loss(name, generator=seeded(0))
    for step in range(3):
        constant.estimator = estimators[name].configured(**{option: math.exp(-0.1 * step)})
        a, b = (torch.autograd.grad(loss(model, copies(x, 4)), leaves) for loss in (scheduled, constant))
        assert seen == [*range(step + 1)] and all(map(torch.equal, a, b))


@pytest.mark.parametrize("name, kind", CASES)
def test_one_variable_an_example_needs_no_dimension_of_its_own(name, kind):
    shape = () if kind is Bernoulli else (3,)
    logits = torch.randn(8, *shape, generator=seeded(0))
    def estimate(axis):
        def cost(logits, x, draw):
            l = logits.repeat(len(x) // 8, *[1] * len(shape))
            z = draw(kind(l.unsqueeze(1) if axis else l))
            return ((z.squeeze(1) if axis else z) - 0.3).pow(3).view(len(x), -1)[:, 0]
        plan = prepare(estimators[name], cost, logits, torch.zeros(8, 1))
        return gradient(estimators[name], cost, logits, torch.zeros(8, 1), plan.noise(seeded(0)), plan.own, plan.state)
    torch.testing.assert_close(estimate(True), estimate(False))


@pytest.mark.parametrize("name", [n for n, e in estimators.items() if e.differentiable])
def test_a_first_call_without_gradients(name):
    with torch.no_grad(): assert Loss(name)(analytic, X).isfinite()


@pytest.mark.parametrize("name", [n for n, e in estimators.items() if e.differentiable])
def test_a_layer_may_reach_the_cost_through_the_next_one_alone(name):
    logits = torch.zeros(2, 3, requires_grad=True)
    Loss(name, generator=seeded(0))(lambda x, draw: bits(logits, draw), X).backward()
    assert logits.grad.isfinite().all() and logits.grad.abs().sum() > 0


@pytest.mark.parametrize("z", [0.0, 1.0])
def test_conditional_logistic_has_the_sign_of_its_sample_however_sure_it_is(z):
    logits, noise = torch.meshgrid(torch.linspace(-40, 40, 81), torch.linspace(-30, 30, 61), indexing="ij")
    given = conditional_logistic(logits.clone().requires_grad_(), torch.tensor(z), noise)
    fine = conditional_logistic(logits.double(), torch.tensor(z).double(), noise.double())
    safe = (logits.abs() < 12) & (noise.abs() < 12)
    assert given.isfinite().all() and ((given > 0) == (z == 1)).all()
    torch.testing.assert_close(given[safe].double(), fine[safe], atol=1e-5, rtol=1e-3)


@pytest.mark.parametrize("name", [n for n, e in estimators.items() if e.differentiable])
def test_a_cost_that_is_flat_in_its_samples_is_warned_of(name):
    with pytest.warns(UserWarning, match=f"^{name} differentiates.*sample 0 is zero for the whole batch: is something rounded"):
        Loss(name)(lambda x, draw: draw(Bernoulli(x)).round().sum(-1), X)


@pytest.mark.parametrize("name, kind", [("exact", Bernoulli), ("exact", Categorical), *CASES])
def test_forbidden_classes_are_never_drawn_and_leave_the_other_gradients_as_they_are(name, kind):
    "An infinite logit is a sure variable or a forbidden class; the gradient is that of a large finite one, and never NaN"
    free = torch.randn(40, 2, 3, generator=seeded(0))
    def estimate(logits):
        def cost(logits, x, draw):
            z = draw(kind(logits.repeat(len(x) // 40, 1, 1)))
            if name != "exact" and not z.requires_grad: assert z[:, 1, 1].max() < 1e-6
            return (z * torch.arange(6.0).view(2, 3)).sum((-2, -1)).pow(2) / 10
        plan = prepare(estimators[name], cost, logits, torch.zeros(40, 1))
        return gradient(estimators[name], cost, logits, torch.zeros(40, 1), plan.noise(seeded(1)), plan.own, plan.state)
    logits = [free.clone() for _ in range(2)]
    for l, value in zip(logits, (-math.inf, -60.0)): l[:, 1, 1] = value
    a, b = map(estimate, logits)
    assert a.isfinite().all() and (a[:, 1, 1] == 0).all()
    b[:, 1, 1] = 0  # ARM and its kin have noise here, with mean zero
    torch.testing.assert_close(a, b, atol=1e-5, rtol=1e-4)


@pytest.mark.parametrize("name, kind", CASES)
def test_sixteen_patterns_are_learned(name, kind):
    "A linear autoencoder with eight bits, or four variables of two classes, by an ordinary loop with Loss"
    patterns = (torch.rand(16, 12, generator=seeded(0)) < 0.5).float()
    torch.manual_seed(0)
    encoder, decoder = torch.nn.Linear(12, 8), torch.nn.Linear(8, 12)
    def model(x, draw):
        z = draw(kind(encoder(x).view(-1, 4, 2) if kind is Categorical else encoder(x)))
        return torch.nn.functional.binary_cross_entropy_with_logits(decoder(z.flatten(1)), x, reduction="none").sum(-1)
    loss = Loss(name, generator=seeded(1)).prepare(model, patterns)
    optimiser = torch.optim.Adam([*encoder.parameters(), *decoder.parameters(), *loss.parameters()], lr=0.03)
    for _ in range(500):
        optimiser.zero_grad(); loss(model, patterns).backward(); optimiser.step()
    assert loss.logs["cost"].mean() < 0.8 * 12 * math.log(2)
