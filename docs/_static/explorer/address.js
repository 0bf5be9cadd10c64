// The state as text for the address, and back. An address may hold anything: what does not fit is clamped or ignored.
(() => {
  "use strict";
  const { GS } = globalThis;

  const RANGES = {
    p: [0.001, 1], tau: [0.05, 20], n: [0, 2000], seed: [0, 2 ** 31],
    c: [0, 1], a: [-1, 2], pow: [1, 4], start: [0.001, 1], rate: [0.02, 10], steps: [10, 1000], at: [0, 1000], run: [0, 2 ** 31],
  };

  const normalised = (p) => p.map((v) => v / GS.sum(p));

  // Each of these makes a function from text to a value, or to undefined where the text does not fit.
  const number = ([low, high]) => (text) => {
    const v = text.trim() === "" ? NaN : Number(text);
    return Number.isFinite(v) ? Math.min(high, Math.max(low, v)) : undefined;
  };
  const whole = (range) => (text) => {
    const v = number(range)(text);
    return v === undefined ? v : Math.round(v);
  };
  const list = (range, least, most) => (text) => {
    const v = text.split(",", most + 1).map(number(range));
    return v.length >= least && v.length <= most && !v.includes(undefined) ? v : undefined;
  };
  const simplex = (range, least, most) => (text) => {
    const v = list(range, least, most)(text);
    return v && normalised(v);
  };
  const nameIn = (names) => (text) => (Object.hasOwn(names, text) ? text : undefined);

  const FIELDS = { // the default of each, and how to read it
    p: [[0.5, 0.3, 0.2], simplex(RANGES.p, 2, 8)],
    tau: [0.5, number(RANGES.tau)],
    hard: [0, whole([0, 1])],
    n: [60, whole(RANGES.n)],
    seed: [1, whole(RANGES.seed)],
    est: ["gumbel-softmax", nameIn(GS.estimators)],
    c: [[0.9, 0.6, 0.3], list(RANGES.c, 3, 3)],
    a: [0.75, number(RANGES.a)],
    pow: [2, number(RANGES.pow)],
    start: [[0.6, 0.3, 0.1], simplex(RANGES.start, 3, 3)],
    rate: [1, number(RANGES.rate)],
    steps: [200, whole(RANGES.steps)],
    at: [20, whole(RANGES.at)],
    run: [1, whole(RANGES.run)],
  };

  const defaults = () => Object.fromEntries(Object.entries(FIELDS).map(([key, [value]]) => [key, value]));
  const rounded = (v) => (typeof v === "string" || Number.isInteger(v) ? v : +v.toPrecision(4));
  const text = (value) => [value].flat().map(rounded).join(",");

  /** What differs from the defaults, as `p=0.2,0.8&tau=1`. */
  function encode(state) {
    const changed = Object.entries(FIELDS).filter(([key, [value]]) => text(state[key]) !== text(value));
    return changed.map(([key]) => `${key}=${text(state[key])}`).join("&");
  }

  function decode(hash) {
    const given = new URLSearchParams(hash.slice(0, 2000)), state = defaults();
    for (const [key, [, read]] of Object.entries(FIELDS)) if (given.has(key)) state[key] = read(given.get(key)) ?? state[key];
    state.at = Math.min(state.at, state.steps);
    return state;
  }

  GS.address = { RANGES, normalised, defaults, encode, decode };
})();
