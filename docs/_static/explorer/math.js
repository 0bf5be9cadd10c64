// The mathematics of the explorer, in the paper's letters: π, τ, g, y, z. Nothing here touches the page.
(() => {
  "use strict";

  // Vectors

  const sum = (v) => v.reduce((s, x) => s + x, 0);
  const dot = (a, b) => a.reduce((s, x, i) => s + x * b[i], 0);
  const add = (a, b, scale = 1) => a.map((x, i) => x + scale * b[i]);
  const norm = (v) => Math.sqrt(dot(v, v));

  function softmax(s) {
    const high = Math.max(...s);
    const e = s.map((x) => Math.exp(x - high));
    const total = sum(e);
    return e.map((x) => x / total);
  }

  const fill = (k, value) => {
    const out = [];
    for (let i = 0; i < k; i++) out.push(value(i));
    return out;
  };
  const oneHot = (i, k) => fill(k, (j) => (i === j ? 1 : 0));

  const entropy = (pi) => -sum(pi.map((p) => (p > 0 ? p * Math.log(p) : 0)));

  // Noise

  /** Uniform numbers in the open interval (0, 1), the same for the same seed (the generator sfc32). */
  function generator(seed) {
    let a = 0x9e3779b9, b = 0x243f6a88, c = seed | 0, counter = 1;
    const next = () => {
      const t = (a + b + counter++) | 0;
      a = b ^ (b >>> 9);
      b = (c + (c << 3)) | 0;
      c = (((c << 21) | (c >>> 11)) + t) | 0;
      return ((t >>> 0) + 0.5) / 2 ** 32;
    };
    for (let i = 0; i < 15; i++) next(); // so that neighbouring seeds part
    return next;
  }

  /** k independent draws of standard Gumbel noise. */
  const gumbelNoise = (random, k) => fill(k, () => -Math.log(-Math.log(random())));

  // The sample

  /** Equation 1: the corner of the simplex where the logits with their noise are largest. */
  function hard(logits, g) {
    const s = add(logits, g);
    return oneHot(s.indexOf(Math.max(...s)), s.length);
  }

  /** Equation 2: softmax((logits + g)/τ). */
  const relax = (logits, g, tau) => softmax(add(logits, g).map((s) => s / tau));

  // The density

  /** log Γ(k) of a whole number: the log-density of the uniform law on the simplex of k classes. */
  function logGamma(k) {
    let out = 0;
    for (let j = 2; j < k; j++) out += Math.log(j);
    return out;
  }

  /** The log-density as a function of the logarithms of y, which are logY[at], logY[at + 1], ...: pictures ask for it often. */
  function logDensity(logits, tau) {
    const k = logits.length, constant = logGamma(k) + (k - 1) * Math.log(tau);
    return (logY, at = 0) => {
      let high = -Infinity, scores = 0, volume = 0, total = 0;
      for (let i = 0; i < k; i++) {
        const s = logits[i] - tau * logY[at + i];
        if (s > high) high = s;
        scores += s;
        volume -= logY[at + i];
      }
      for (let i = 0; i < k; i++) total += Math.exp(logits[i] - tau * logY[at + i] - high);
      return constant + scores - k * (high + Math.log(total)) + volume;
    };
  }

  // The mean

  const STEP = 0.3; // both integrands are analytic in a strip of half-width π/2, so trapezoidal sums are off by exp(-π²/STEP)

  function grid(low, high) {
    return fill(Math.ceil((high - low) / STEP) + 1, (i) => low + i * STEP);
  }

  /** The distribution function F and the density f of g + σg', for two Gumbel variables and 0 < σ ≤ 1. */
  function lawOfSum(sigma) {
    const w = grid(-4, 36);
    const scale = w.map((v) => Math.exp(sigma * v));
    const weight = w.map((v) => STEP * Math.exp(-v - Math.exp(-v)));
    return (u) => {
      const base = Math.exp(-u);
      let F = 0, f = 0;
      for (let j = 0; j < w.length; j++) {
        const E = base * scale[j];
        const part = weight[j] * Math.exp(-E);
        F += part;
        f += part * E;
      }
      return [F, f];
    };
  }

  /**
   * E[y], to about twelve digits. Since softmax(s)_i is the probability that fresh Gumbel noise g' makes s_i + g'_i the
   * largest, E[y_i] is the probability that class i wins under the noise g/τ + g': a single integral over the winner's score.
   */
  function mean(logits, tau) {
    const unit = Math.max(1, tau);
    const x = logits.map((l) => l / unit);
    const law = lawOfSum(Math.min(tau, 1 / tau));
    const out = x.map(() => 0);
    for (const t of grid(Math.max(...x) - 7, Math.max(...x) + Math.log(x.length) + 34)) {
      const laws = x.map((l) => law(t - l));
      laws.forEach(([, f], i) => {
        let density = STEP * f;
        for (let j = 0; j < laws.length; j++) if (j !== i) density *= laws[j][0];
        out[i] += density;
      });
    }
    return out;
  }

  // Gradients

  /** (diag(y) - y yᵀ) v, the derivative of a softmax with value y, applied to v. */
  function throughSoftmax(y, v) {
    const along = dot(y, v);
    return y.map((p, i) => p * (v[i] - along));
  }

  /** f(z) = Σ c_i ((1 - a) z_i + a z_i^p), which is c_i at corner i: a and p bend only the way between the corners. */
  function bentCost(c, a, p) {
    return {
      corners: c,
      value: (z) => sum(z.map((v, i) => c[i] * ((1 - a) * v + a * v ** p))),
      slope: (z) => z.map((v, i) => c[i] * (1 - a + a * p * v ** (p - 1))),
    };
  }

  const loss = ({ theta, cost }) => dot(softmax(theta), cost.corners);

  const score = ({ theta, cost }, g, baseline) => {
    const z = hard(theta, g);
    return add(z, softmax(theta), -1).map((s) => s * (cost.value(z) - baseline));
  };

  /** Estimates of the gradient of E f(z) in the logits θ, from one draw of noise g; at a point {theta, tau, cost, baseline}. */
  const estimators = {
    exact: ({ theta, cost }) => throughSoftmax(softmax(theta), cost.corners),

    "sf-plain": (at, g) => score(at, g, 0),

    sf: (at, g) => score(at, g, at.baseline),

    st: ({ theta, cost }, g) => throughSoftmax(softmax(theta), cost.slope(hard(theta, g))),

    reinmax({ theta, cost }, g) {
      const z = hard(theta, g), pi = softmax(theta), slope = cost.slope(z);
      const middle = add(z, pi).map((v) => v / 2);
      return add(throughSoftmax(middle, slope).map((v) => 2 * v), throughSoftmax(pi, slope), -1 / 2);
    },

    "gumbel-softmax"({ theta, tau, cost }, g) {
      const y = relax(theta, g, tau);
      return throughSoftmax(y, cost.slope(y)).map((v) => v / tau);
    },

    "st-gumbel-softmax"({ theta, tau, cost }, g) {
      const y = relax(theta, g, tau);
      return throughSoftmax(y, cost.slope(hard(theta, g))).map((v) => v / tau);
    },
  };

  const DECAY = 0.9; // of the moving average that is the score function's baseline

  /** The logits after 0, 1, ..., `steps` steps of gradient descent, one noise vector each. */
  function descend(name, start, { rate, steps, seed }) {
    const random = generator(seed), path = [start.theta];
    let baseline = 0;
    for (let step = 0; step < steps; step++) {
      const theta = path[step], g = gumbelNoise(random, theta.length);
      path.push(add(theta, estimators[name]({ ...start, theta, baseline }, g), -rate));
      baseline = DECAY * baseline + (1 - DECAY) * start.cost.value(hard(theta, g));
    }
    return path;
  }

  /** Mean, variance summed over the classes, and distance of the mean from the exact gradient, of weighted estimates at a point. */
  function describe(estimates, weights, point) {
    const average = (value) => sum(estimates.map((e, j) => weights[j] * value(e)));
    const centre = point.theta.map((_, i) => average((e) => e[i]));
    const variance = average((e) => norm(add(e, centre, -1)) ** 2);
    return { mean: centre, variance, bias: norm(add(centre, estimators.exact(point), -1)) };
  }

  const settled = (point) => ({ ...point, baseline: loss(point) }); // where the moving average comes to rest

  /** n estimates at a point, and what they show; `error` is the standard error of their mean. */
  function measure(name, point, { n, seed }) {
    const random = generator(seed), at = settled(point);
    const estimates = fill(n, () => estimators[name](at, gumbelNoise(random, at.theta.length)));
    const found = describe(estimates, fill(n, () => 1 / n), at);
    return { ...found, estimates, error: Math.sqrt(found.variance / (n - 1)) };
  }

  const SOFT = ["gumbel-softmax", "st-gumbel-softmax"]; // the others see the noise only through z

  /** What infinitely many estimates would show, by enumeration of z; undefined for an estimator that needs the soft sample. */
  function enumerate(name, point) {
    if (SOFT.includes(name)) return undefined;
    const at = settled(point), k = at.theta.length, forced = fill(k, (i) => oneHot(i, k).map((v) => 1e6 * v));
    return describe(forced.map((g) => estimators[name](at, g)), softmax(at.theta), at);
  }

  const GS = {
    sum, dot, add, norm, softmax, oneHot, entropy, generator, gumbelNoise, hard, relax, logGamma, logDensity, mean,
    bentCost, loss, estimators, descend, measure, enumerate,
  };
  globalThis.GS = GS;
  if (typeof module !== "undefined") module.exports = GS;
})();
