"What a notebook cannot test about itself: many shapes, compiled code, and large counts."
import math

import pytest
import torch
import torch.nn.functional as F
from conftest import fuzz, tally
from hypothesis import given
from hypothesis import strategies as st
from torch.distributions import kl_divergence

from gumbel_softmax import (
    GumbelSigmoid,
    GumbelSoftmax,
    LogGumbelSoftmax,
    LogitGumbelSigmoid,
    STGumbelSigmoid,
    STGumbelSoftmax,
    gumbel_noise,
    gumbel_softmax,
    logistic_noise,
)

DTYPES = [torch.float64, torch.float32, torch.bfloat16, torch.float16]
shapes = st.lists(st.integers(1, 7), min_size=1, max_size=4)
seeds = st.integers(0, 2**31)


@fuzz
@given(shapes, st.data(), seeds, st.sampled_from(DTYPES), st.floats(0.05, 20), st.booleans(), st.integers(1, 400))
def test_samples_lie_on_the_simplex(shape, data, seed, dtype, tau, hard, batch):
    tally("fuzz: samples")
    shape = [batch, *shape]
    dim = data.draw(st.integers(-len(shape), len(shape) - 1))
    logits = (torch.randn(shape, generator=torch.Generator().manual_seed(seed)) * 3).to(dtype)
    y = gumbel_softmax(logits, tau, hard, dim=dim, generator=torch.Generator().manual_seed(seed))
    assert y.shape == logits.shape and y.dtype == dtype and y.isfinite().all() and (y >= 0).all()
    tolerance = 0 if hard else 4 * torch.finfo(dtype).eps * math.sqrt(shape[dim])
    assert ((y.double().sum(dim) - 1).abs() <= tolerance).all()
    if hard: assert set(y.unique().tolist()) <= {0.0, 1.0}


@fuzz
@given(st.integers(1, 300), st.integers(2, 12), seeds, st.floats(-50, 50), st.floats(0.1, 10))
def test_invariance_to_a_shift_of_the_logits(n, k, seed, shift, tau):
    tally("fuzz: shifts")
    g = torch.Generator().manual_seed(seed)
    logits, noise = torch.randn(n, k, dtype=torch.float64, generator=g), gumbel_noise((n, k), dtype=torch.float64, generator=g)
    soft, hard = (lambda l, h=h: gumbel_softmax(l, tau, h, noise=noise) for h in (False, True))
    torch.testing.assert_close(soft(logits), soft(logits + shift), atol=1e-9, rtol=0)
    assert torch.equal(hard(logits), hard(logits + shift))


@fuzz
@given(st.integers(1, 5), st.integers(1, 5), st.integers(1, 4), seeds)
def test_a_tensor_of_temperatures_broadcasts(a, b, k, seed):
    tally("fuzz: broadcasting")
    g = torch.Generator().manual_seed(seed)
    logits, tau = torch.randn(b, k, generator=g), torch.rand(a, 1, 1, generator=g) + 0.1
    noise = gumbel_noise((a, b, k), generator=g)
    y = gumbel_softmax(logits, tau, noise=noise)
    for i in range(a):
        torch.testing.assert_close(y[i], gumbel_softmax(logits, tau[i].item(), noise=noise[i]), atol=1e-5, rtol=1e-4)
    assert gumbel_softmax(logits, tau).shape == (a, b, k)


@fuzz
@given(st.sampled_from([GumbelSoftmax, LogGumbelSoftmax, STGumbelSoftmax]), st.lists(st.integers(1, 3), max_size=2),
       st.lists(st.integers(1, 3), max_size=2), st.integers(2, 5), seeds)
def test_a_distribution_in_every_respect(kind, batch, sample, k, seed):
    tally("fuzz: distributions")
    torch.manual_seed(seed)
    logits = torch.randn(*batch, k, dtype=torch.float64)
    d = kind(0.7, logits=logits)
    same = kind(torch.tensor(0.7, dtype=torch.float64), probs=logits.softmax(-1) * 3)
    assert d.batch_shape == tuple(batch) and d.event_shape == (k,) and d.has_rsample
    y = d.rsample(sample)
    assert y.shape == (*sample, *batch, k) and d.sample(sample).shape == y.shape and d.support.check(y).all()
    assert d.log_prob(y).shape == (*sample, *batch)
    torch.testing.assert_close(d.log_prob(y), same.log_prob(y))
    torch.testing.assert_close(d.entropy(), same.entropy())
    e = d.expand((2, *batch))
    assert e.batch_shape == (2, *batch) and e.rsample(sample).shape == (*sample, 2, *batch, k)


@pytest.mark.parametrize("kind", [GumbelSigmoid, LogitGumbelSigmoid, STGumbelSigmoid])
def test_binary_distributions(kind):
    torch.manual_seed(0)
    d = kind(0.7, logits=torch.tensor([-1.0, 2.0], dtype=torch.float64))
    y = d.rsample((100_000,))
    assert y.shape == (100_000, 2) and d.support.check(y).all() and d.expand((3, 2)).rsample().shape == (3, 2)
    for value, exact in ((y, d.mean), (-d.log_prob(y), d.entropy())):
        z = (value.mean(0) - exact) / (value.std(0) / 100_000**0.5)
        assert z.abs().max() < 4.5


@pytest.mark.parametrize("hard", [False, True])
@pytest.mark.parametrize("shape", [(3, 5), (200, 10), (8, 100)])
def test_eager_and_compiled_agree(shape, hard):
    torch.manual_seed(0)
    logits, noise, weight = torch.randn(shape), gumbel_noise(shape), torch.randn(shape)
    def step(logits, noise):
        y = gumbel_softmax(logits, 0.7, hard, noise=noise)
        return (y * weight).sum(), y
    out = []
    for f in (step, torch.compile(step, fullgraph=True)):
        x = logits.clone().requires_grad_()
        loss, y = f(x, noise)
        loss.backward()
        out.append((y.detach(), x.grad))
    assert torch.equal(out[0][0], out[1][0]) if hard else torch.allclose(out[0][0], out[1][0], atol=1e-6)
    torch.testing.assert_close(out[0][1], out[1][1], atol=1e-6, rtol=1e-5)


def test_compiled_code_draws_its_own_noise():
    torch.manual_seed(0)
    z = torch.compile(lambda l: gumbel_softmax(l, 0.5, hard=True), fullgraph=True)(torch.zeros(20_000, 4))
    deviation = (z.mean(0) - 0.25) / math.sqrt(0.25 * 0.75 / 20_000)
    assert (z.sum(-1) == 1).all() and deviation.abs().max() < 4.5


@pytest.mark.parametrize("compiled", [False, True])
def test_vmap_over_gradients(compiled):
    torch.manual_seed(0)
    logits, noise = torch.randn(3, 40, 30), gumbel_noise((3, 40, 30))
    f = torch.func.vmap(torch.func.grad(lambda l, n: gumbel_softmax(l, 0.5, hard=True, noise=n).pow(2)[..., 0].sum()))
    rows = [torch.func.grad(lambda l, n=n: gumbel_softmax(l, 0.5, noise=n)[..., 0].sum())(l) for l, n in zip(logits, noise)]
    got = (torch.compile(f) if compiled else f)(logits, noise)
    z = gumbel_softmax(logits, 0.5, hard=True, noise=noise)[..., :1]
    torch.testing.assert_close(got, 2 * z * torch.stack(rows), atol=1e-6, rtol=1e-4)


@pytest.mark.parametrize("dtype, n", [(torch.float32, 4_000_000), (torch.float64, 1_000_000),
                                      (torch.float16, 1_000_000), (torch.bfloat16, 1_000_000),
                                      pytest.param(torch.float32, 100_000_000, marks=pytest.mark.slow),
                                      pytest.param(torch.float16, 10_000_000, marks=pytest.mark.slow)])
@pytest.mark.parametrize("noise", [gumbel_noise, logistic_noise])
def test_no_draw_is_infinite(noise, dtype, n):
    generator = torch.Generator().manual_seed(0)
    tail = done = 0
    while done < n:
        g = noise((min(n - done, 10_000_000),), dtype=dtype, generator=generator)
        assert g.isfinite().all()
        tail, done = tail + (g > 12).sum().item(), done + len(g)
    p = -math.expm1(-math.exp(-12)) if noise is gumbel_noise else 1 / (1 + math.exp(12))
    if dtype in (torch.float32, torch.float64): assert abs(tail - n * p) / math.sqrt(n * p) < 4.5


def test_the_tail_of_small_draws():
    "The road for a few numbers has the same tail as that for many"
    generator = torch.Generator().manual_seed(0)
    g = torch.cat([gumbel_noise((900,), generator=generator) for _ in range(5000)])
    p = -math.expm1(-math.exp(-10))
    assert abs((g > 10).sum().item() - len(g) * p) / math.sqrt(len(g) * p) < 4.5
    assert len(g[g > 10].unique()) == (g > 10).sum()


@pytest.mark.parametrize("tau", [1e-8, 1e-3, 1.0, 1e3, 1e8])
@pytest.mark.parametrize("n", [2, 2000])
def test_extreme_logits_and_temperatures(tau, n):
    for logits in (torch.full((n, 3), 1e30), torch.full((n, 3), -1e30), torch.tensor([[1e30, 0.0, -1e30]]).expand(n, 3),
                   torch.tensor([[0.0, -math.inf, 1.0]]).expand(n, 3)):
        for hard in (False, True):
            x = logits.clone().requires_grad_()
            y = gumbel_softmax(x, tau, hard)
            (y * torch.arange(3)).sum().backward()
            assert y.isfinite().all() and not x.grad.isnan().any()


BAD = {
    "tau zero": (lambda: gumbel_softmax(torch.zeros(3), 0), "tau"),
    "tau nan": (lambda: gumbel_softmax(torch.zeros(3), math.nan), "tau"),
    "tau negative in a tensor": (lambda: gumbel_softmax(torch.zeros(3), torch.tensor([1.0, -1.0, 1.0])), "tau"),
    "integer logits": (lambda: gumbel_softmax(torch.zeros(3, dtype=torch.long)), "logits"),
    "no classes": (lambda: gumbel_softmax(torch.tensor(1.0)), "logits"),
    "nan": (lambda: gumbel_softmax(torch.tensor([1.0, math.nan]).expand(2000, 2), hard=True), "logits"),
    "inf": (lambda: gumbel_softmax(torch.tensor([1.0, math.inf]), hard=True), "logits"),
    "all masked": (lambda: gumbel_softmax(torch.full((2000, 3), -math.inf), hard=True), "logits"),
    "noise of another shape": (lambda: gumbel_softmax(torch.zeros(3), noise=torch.zeros(2)), "noise"),
    "noise not finite": (lambda: gumbel_softmax(torch.zeros(2), noise=torch.tensor([math.inf, 0])), "noise"),
    "probs negative": (lambda: GumbelSoftmax(1.0, probs=torch.tensor([1.5, -0.5])), "probs"),
    "probs zero": (lambda: GumbelSoftmax(1.0, probs=torch.zeros(2, 3)), "probs"),
    "probs nan": (lambda: GumbelSoftmax(1.0, probs=torch.tensor([math.nan, 1.0])), "probs"),
    "probs and logits": (lambda: GumbelSoftmax(1.0, torch.ones(3), torch.ones(3)), "probs or logits"),
    "temperature zero": (lambda: LogGumbelSoftmax(0.0, logits=torch.zeros(3)), "temperature"),
    "temperature nan": (lambda: STGumbelSoftmax(math.nan, logits=torch.zeros(3)), "temperature"),
    "binary probs above one": (lambda: GumbelSigmoid(1.0, probs=torch.tensor([1.5])), "probs"),
    "off the simplex": (lambda: GumbelSoftmax(1.0, logits=torch.zeros(3)).log_prob(torch.tensor([0.5, 0.5, 0.1])), "support"),
    "off the log-simplex": (lambda: LogGumbelSoftmax(1.0, logits=torch.zeros(2)).log_prob(torch.zeros(2)), "support"),
    "classes that differ": (lambda: kl_divergence(*(GumbelSoftmax(1.0, logits=torch.zeros(k)) for k in (2, 3))), "classes"),
    "temperature out of the quadrature's range": (lambda: GumbelSoftmax(1e-5, logits=torch.zeros(2)).mean, "1e-05"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_input_is_named(case):
    call, word = BAD[case]
    with pytest.raises(ValueError, match=word): call()


def test_validation_is_switched_off_as_in_torch():
    GumbelSoftmax(-1.0, logits=torch.zeros(3), validate_args=False)
    torch.distributions.Distribution.set_default_validate_args(False)
    try: assert gumbel_softmax(torch.tensor([1.0, math.nan])).isnan().any()
    finally: torch.distributions.Distribution.set_default_validate_args(True)


def test_same_law_as_torch():
    "Two-sample test of first and second moments against F.gumbel_softmax"
    torch.manual_seed(0)
    logits = torch.tensor([1.0, 0.0, -2.0]).expand(200_000, 3)
    a, b = gumbel_softmax(logits, 0.6), F.gumbel_softmax(logits, 0.6)
    for u, v in ((a, b), (a**2, b**2)):
        z = (u.mean(0) - v.mean(0)) / ((u.var(0) + v.var(0)) / 200_000).sqrt()
        assert z.abs().max() < 4.5
