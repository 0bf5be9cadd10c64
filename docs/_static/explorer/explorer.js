// The explorer's page. The state is one flat object, which the address keeps; a view redraws when the parts it names change.
(() => {
  "use strict";
  const { GS } = globalThis;
  const { clamp, sub, colours, write, line, mark } = GS.plot;
  const { RANGES, normalised, defaults, encode, decode } = GS.address;
  const { ESTIMATORS, KINDS, html } = GS.page;
  const mount = document.getElementById("gs-explorer");
  if (!mount) return;

  const SHOWN = 200, MEASURED = 2000; // estimates of a gradient: as dots, and for the table

  // The state, and the address that keeps it

  let state = decode(location.hash.slice(1));
  const LEAST = RANGES.p[0];

  function set(change) {
    Object.assign(state, change);
    state.at = Math.min(state.at, state.steps);
    schedule();
    later("address", 350, remember);
  }

  const address = () => "#" + encode(state);
  function remember() {
    if (address() !== (location.hash || "#")) history.pushState(null, "", address());
  }
  function recall() {
    const text = location.hash.slice(1);
    if (text && !text.includes("=")) return; // an anchor of the site, not ours
    stop();
    state = decode(text);
    schedule();
  }

  // Views, and values derived from the state

  const views = [];
  let epoch = 0, scheduled = false;
  const stamp = (keys) => JSON.stringify(keys.map((key) => state[key]));
  const view = (keys, draw) => views.push({ keys, draw, seen: "" });

  function schedule() {
    if (scheduled) return;
    scheduled = true;
    requestAnimationFrame(() => {
      scheduled = false;
      for (const v of views) {
        const now = stamp(v.keys) + epoch;
        if (now === v.seen) continue;
        v.seen = now;
        v.draw();
      }
    });
  }

  function derived(keys, make) {
    let seen, value;
    return () => {
      const now = stamp(keys);
      if (now !== seen) [seen, value] = [now, make()];
      return value;
    };
  }

  const timers = {};
  function later(name, delay, act) {
    clearTimeout(timers[name]);
    timers[name] = setTimeout(act, delay);
  }

  // Small parts of a page

  const slots = {};
  const still = matchMedia("(prefers-reduced-motion: reduce)");
  const short = (v) => v.toFixed(3);
  const brief = (v) => String(+v.toPrecision(3));
  const vector = (v, digits = 2) => `(${v.map((x) => x.toFixed(digits)).join(", ")})`;
  const small = (v) => (v < 5e-5 ? "0" : v >= 100 ? v.toFixed(0) : v.toPrecision(2));

  function el(tag, attributes = {}, ...children) {
    const node = document.createElement(tag);
    for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value);
    node.append(...children);
    return node;
  }

  function button(slot, text, act) {
    const node = el("button", { type: "button" }, text);
    node.addEventListener("click", act);
    slots[slot].append(node);
    return node;
  }

  function slider(slot, { key, symbol, name, step, log = false, format = String, hint }) {
    const [low, high] = RANGES[key];
    const id = `gs-${slot}`, to = log ? Math.log : (v) => v, from = log ? Math.exp : (v) => v;
    const range = { min: to(low), max: to(high), step: log ? (to(high) - to(low)) / 200 : step };
    const input = el("input", { type: "range", id, "aria-describedby": `${id}-hint`, ...range });
    const output = el("output", { for: id });
    const label = el("label", { for: id }, el("var", {}, symbol), ` ${name}`);
    const help = el("p", { class: "gs-hint", id: `${id}-hint` }, hint);
    slots[slot].append(el("div", { class: "gs-label" }, label, output), input, help);
    input.addEventListener("input", () => { stop(); set({ [key]: clamp(+from(+input.value).toPrecision(4), low, high) }); });
    view([key, "steps"], () => {
      if (key === "at") input.max = state.steps;
      input.value = to(state[key]);
      output.textContent = format(state[key]);
      input.setAttribute("aria-valuetext", `${symbol || name} = ${output.textContent}`);
    });
  }

  /** Where a key moves a slider at v, if it does. */
  function keyed(event, v, least) {
    if (event.altKey || event.ctrlKey || event.metaKey) return undefined; // the browser's
    return {
      ArrowUp: v + 0.01, ArrowRight: v + 0.01, ArrowDown: v - 0.01, ArrowLeft: v - 0.01,
      PageUp: v + 0.1, PageDown: v - 0.1, Home: least, End: 1,
    }[event.key];
  }

  /** A vertical slider from `least` to 1, by pointer and by keyboard. */
  function bar(label, least, current, change) {
    const range = { "aria-orientation": "vertical", "aria-valuemin": least, "aria-valuemax": 1 };
    const node = el("div", { class: "gs-bar", role: "slider", tabindex: 0, "aria-label": label, ...range });
    node.append(el("div", { class: "gs-fill" }));
    const move = (v) => { stop(); change(clamp(v, least, 1)); };
    const follow = (event) => {
      const { bottom, height } = node.getBoundingClientRect();
      move((bottom - event.clientY) / height);
    };
    node.addEventListener("pointerdown", (event) => {
      event.preventDefault();
      node.setPointerCapture(event.pointerId);
      node.focus();
      follow(event);
    });
    node.addEventListener("pointermove", (event) => node.hasPointerCapture(event.pointerId) && follow(event));
    node.addEventListener("keydown", (event) => {
      const v = keyed(event, current(), least);
      if (v === undefined) return;
      event.preventDefault();
      move(v);
    });
    return node;
  }

  /** A bar for each number in state[key]. `change(i, v)` sets one; `also` gives second values, drawn beside the first. */
  function bars(slot, { key, symbol, name, least = LEAST, also, keys = [], change }) {
    const columns = slots[slot].children;
    function append(i) {
      const node = bar(`${name} ${i + 1}`, least, () => state[key][i], (v) => change(i, v));
      if (also) node.append(el("div", { class: "gs-also" }));
      slots[slot].append(el("div", { class: "gs-column" }, node, el("div", { class: "gs-numbers", "aria-hidden": "true" })));
    }
    function show(v, i, second) {
      const [node, numbers] = columns[i].children, letter = symbol + sub(i);
      node.setAttribute("aria-valuenow", short(v));
      node.setAttribute("aria-valuetext", `${letter} = ${short(v)}` + (also ? `, E[y${sub(i)}] = ${short(second)}` : ""));
      node.firstChild.style.height = `${100 * v}%`;
      numbers.replaceChildren(el("span", { class: "gs-first" }, el("var", {}, letter), ` ${also ? short(v) : v.toFixed(2)}`));
      if (!also) return;
      node.dataset.mean = second;
      node.lastChild.style.height = `${100 * second}%`;
      numbers.append(el("span", { class: "gs-second" }, short(second)));
    }
    view([key, ...keys], () => {
      while (columns.length > state[key].length) slots[slot].lastChild.remove();
      while (columns.length < state[key].length) append(columns.length);
      state[key].forEach((v, i) => show(v, i, also?.()[i]));
    });
  }

  /** p with p_i = v, and the others in their old proportions. */
  function withProbability(p, i, v) {
    v = clamp(v, LEAST, 1 - LEAST * (p.length - 1));
    const others = p.map((q, j) => (j === i ? 0 : Math.max(q, LEAST)));
    const room = (1 - v) / GS.sum(others);
    return normalised(p.map((_, j) => (j === i ? v : Math.max(LEAST, others[j] * room))));
  }

  // Drawing

  /** A canvas that `paint(pen, width, height)` fills and, by what it returns, describes. */
  function picture(slot, height, keys, paint) {
    const node = el("canvas", { role: "img" });
    slots[slot].append(node);
    let w, measured;
    view(keys, () => {
      if (measured !== epoch) [w, measured] = [Math.floor(slots[slot].clientWidth), epoch]; // to ask costs a layout
      const h = Math.round(height(w)), dense = window.devicePixelRatio || 1;
      if (w <= 0) return;
      node.width = w * dense;
      node.height = h * dense;
      node.style.height = `${h}px`;
      const pen = node.getContext("2d");
      pen.scale(dense, dense);
      node.setAttribute("aria-label", paint(pen, w, h));
    });
    return node;
  }

  // First panel: the distribution

  const logits = derived(["p"], () => state.p.map(Math.log));
  const mean = derived(["p", "tau"], () => GS.mean(logits(), state.tau));

  const noise = { seed: undefined, drawn: [] };
  function noises() { // grows as far as was asked, so that a sample keeps its noise while π and τ move
    if (noise.seed !== state.seed) Object.assign(noise, { seed: state.seed, drawn: [], random: GS.generator(state.seed) });
    while (noise.drawn.length < state.n) noise.drawn.push(GS.gumbelNoise(noise.random, 8));
    return noise.drawn.slice(0, state.n).map((g) => g.slice(0, state.p.length));
  }
  const sample = (g) => ({ y: GS.relax(logits(), g, state.tau), z: GS.hard(logits(), g) });
  const samples = derived(["p", "tau", "n", "seed"], () => noises().map(sample));

  const density = derived(["p", "tau"], () => {
    const log = GS.logDensity(logits(), state.tau), uniform = GS.logGamma(state.p.length);
    return (logY, at) => (log(logY, at) - uniform) / Math.LN2; // doublings of the uniform law's
  });

  const shaded = {};
  function densityPicture(size) {
    const key = stamp(["p", "tau"]) + size + colours.low;
    if (shaded.key !== key) Object.assign(shaded, { key, image: GS.plot.densityImage(size, density()) });
    return shaded.image;
  }

  const jitter = (i) => ((i * 0.618034) % 1) - 0.5;
  const falling = { from: Infinity, start: 0 }, FALL = 500; // the first sample in the air, when it was let go, milliseconds

  /** How far sample i still has to fall, from 1 to 0. */
  function height(i) {
    if (i < falling.from) return 0;
    const delay = (FALL * (i - falling.from)) / (state.n - falling.from);
    const t = clamp((performance.now() - falling.start - delay) / FALL, 0, 1);
    return 1 - t * t;
  }

  /** The samples as dots; `spots` says where a sample is drawn, `home` where its one-hot value is. */
  function drawSamples(pen, spots, home) {
    const drawn = samples(), last = drawn.length - 1, many = drawn.length > 300;
    if (state.hard && home && last >= 0 && !height(last)) {
      line(pen, [spots(drawn[last], last)[0], home(drawn[last], last)], colours.pi, 1.5, [4, 3]);
    }
    drawn.forEach((sample, i) => {
      const up = height(i), latest = { size: 4.5, width: 1.5, rim: colours.text };
      pen.globalAlpha = (1 - up) * (many ? 0.7 : 0.95);
      for (const [x, y] of spots(sample, i)) {
        mark(pen, [x, y - up * (y + 10)], { colour: colours.y, size: many ? 2.2 : 3, width: 0.75, ...(i === last && latest) });
      }
    });
    pen.globalAlpha = 1;
    if (last >= 0 && height(last) > 0) requestAnimationFrame(() => { state.frame = performance.now(); schedule(); });
  }

  function drawMeans(pen, place) {
    mark(pen, place(state.p), { shape: "square", colour: colours.pi, size: 5.5, width: 2 });
    mark(pen, place(mean()), { shape: "diamond", colour: colours.y, size: 6, width: 2 });
  }

  function ternary(pen, w) {
    const frame = GS.plot.triangle(w), { left, top, side, height, corners, place } = frame;
    pen.save();
    pen.beginPath();
    for (const [x, y] of corners) pen.lineTo(x, y);
    pen.clip();
    pen.drawImage(densityPicture(Math.round(Math.min(440, side * (window.devicePixelRatio || 1)))), left, top, side, height);
    pen.restore();
    GS.plot.outline(pen, frame, state.hard ? "z" : "y");
    drawSamples(pen, ({ y }) => [place(y)], ({ z }) => place(z));
    if (state.hard && state.n) corners.forEach(([x, y], i) => {
      const share = samples().filter(({ z }) => z[i]).length / state.n;
      if (share) mark(pen, [x, y], { shape: "square", colour: colours.pi, size: 3 + 7 * Math.sqrt(share), width: 1.5 });
      write(pen, `${Math.round(100 * share)} %`, x + (i ? 0 : 34), y + (i ? 34 : 0), { size: 12, colour: colours.pi });
    });
    drawMeans(pen, place);
    return `Density on the triangle of classes at τ = ${brief(state.tau)}, with ${state.n} samples and E[y] = ${vector(mean())}.`;
  }

  function interval(pen, w, h) {
    const frame = GS.plot.axes(pen, { left: 46, top: 30, width: w - 66, height: h - 130 }, {
      x: [0, 1], y: [-GS.plot.DOUBLINGS, GS.plot.DOUBLINGS], xName: "y₁", yName: "density of y₁",
      xTicks: [0, 0.25, 0.5, 0.75, 1].map((v) => [v, String(v)]),
      yTicks: [1000, 100, 10, 1, 0.1, 0.01, 0.001].map((v) => [Math.log2(v), String(v)]),
    });
    const inner = Array.from({ length: 401 }, (_, i) => clamp(i / 400, 2e-4, 1 - 2e-4));
    line(pen, inner.map((v) => [frame.x(v), frame.y(density()([Math.log(v), Math.log(1 - v)]))]), colours.high, 2.5);
    const strip = (v, i) => [frame.x(v), frame.bottom + 66 + 36 * jitter(i)];
    drawSamples(pen, ({ y }, i) => [strip(y[0], i)], ({ z }, i) => strip(z[0], i));
    if (state.hard) samples().forEach(({ z }, i) => mark(pen, strip(z[0], i), { shape: "square", colour: colours.pi }));
    drawMeans(pen, ([v]) => [frame.x(v), frame.bottom]);
    return `Density of y₁ between 0 and 1 at τ = ${brief(state.tau)}, with ${state.n} samples and E[y] = ${vector(mean())}.`;
  }

  function strips(pen, w, h) {
    const left = 34, width = w - left - 24, row = (h - 40) / state.p.length;
    const x = (v) => left + v * width, y = (i) => 10 + row * (i + 0.5), off = (j) => 0.6 * row * jitter(j);
    for (const v of [0, 0.5, 1]) write(pen, String(v), x(v), h - 14, { size: 11, colour: colours.muted });
    state.p.forEach((_, i) => {
      line(pen, [[left, y(i)], [left + width, y(i)]], colours.line, 1);
      write(pen, `y${sub(i)}`, left - 12, y(i), { align: "right" });
    });
    drawSamples(pen, (sample, j) => sample.y.map((v, i) => [x(v), y(i) + off(j)]));
    if (state.hard) samples().forEach(({ z }, j) => {
      mark(pen, [x(1) + 12, y(z.indexOf(1)) + off(j)], { shape: "square", colour: colours.pi, size: 2.5 });
    });
    state.p.forEach((_, i) => drawMeans(pen, (v) => [x(v[i]), y(i)]));
    return `The components of ${state.n} samples, a row for each of ${state.p.length} classes; E[y] = ${vector(mean())}.`;
  }

  function barsOfSamples(pen, w, h) {
    const count = clamp(Math.floor(w / 84), 4, 10), latest = samples().slice(-count), k = state.p.length;
    const slot = w / count, tall = h - 24;
    latest.forEach(({ y, z }, s) => {
      const left = s * slot + 4, width = (slot - 12) / k;
      y.forEach((v, i) => {
        const x = left + i * width, half = state.hard ? width * 0.42 : 0;
        pen.fillStyle = colours.pi;
        if (state.hard && z[i]) pen.fillRect(x, 2, half, tall);
        pen.fillStyle = colours.y;
        pen.fillRect(x + half, 2 + tall * (1 - v), Math.max(1, width * 0.84 - half), tall * v);
        if (width > 11) write(pen, String(i + 1), x + width * 0.42, h - 10, { size: 11, colour: colours.muted });
      });
      line(pen, [[left - 2, 2 + tall], [left + width * k, 2 + tall]], colours.muted, 1);
    });
    if (!latest.length) write(pen, "No samples: draw one.", w / 2, h / 2, { colour: colours.muted });
    return `The latest ${latest.length} samples as bars: ${latest.map(({ y }) => vector(y)).join(", ")}.`;
  }

  function draw(count) {
    falling.from = still.matches ? Infinity : state.n;
    falling.start = performance.now();
    set({ n: Math.min(RANGES.n[1], state.n + count) });
  }

  function summary() {
    const furthest = Math.max(...mean().map((m, i) => Math.abs(m - state.p[i]))), last = samples().at(-1);
    const corner = state.hard && last ? `, z = class ${last.z.indexOf(1) + 1}` : "";
    return [
      `π = ${vector(state.p)}, with entropy ${GS.entropy(state.p).toFixed(2)} nats.`,
      `At τ = ${brief(state.tau)}, E[y] = ${vector(mean(), 4)}, at most ${furthest.toFixed(4)} from π.`,
      state.hard ? "Forward goes the one-hot z, whose mean is π itself; the gradient is that of y." : "",
      last ? `The latest of ${state.n} samples: y = ${vector(last.y)}${corner}.` : "",
    ].filter(Boolean).join(" ");
  }

  // Second panel: descent

  const problem = ["c", "a", "pow", "start"], walk = ["rate", "steps", "run"];
  const start = derived([...problem, "tau"], () => {
    return { theta: state.start.map(Math.log), tau: state.tau, cost: GS.bentCost(state.c, state.a, state.pow) };
  });
  const descent = (name) => GS.descend(name, start(), { rate: state.rate, steps: state.steps, seed: state.run });
  const path = derived([...problem, ...walk, "tau", "est"], () => descent(state.est));
  const exactPath = derived([...problem, ...walk], () => descent("exact"));
  const current = [...problem, ...walk, "tau", "est", "at"];
  const here = () => ({ ...start(), theta: path()[state.at] });
  const measure = (name, n) => GS.measure(name, here(), { n, seed: state.run + 1 });
  const cloud = derived(current, () => measure(state.est, SHOWN));
  const colourOf = (name) => colours[ESTIMATORS[name].colour];
  const titleOf = (name) => ESTIMATORS[name].title;
  const lossAt = (theta) => GS.loss({ theta, cost: start().cost });

  function twoPaths(pen, place) {
    line(pen, exactPath().map(place), colours.text, 1.25, [5, 4]);
    if (state.est === "exact") return;
    const all = path().map(place), walked = all.slice(0, state.at + 1);
    pen.globalAlpha = 0.35;
    line(pen, all, colourOf(state.est), 1.25);
    pen.globalAlpha = 1;
    line(pen, walked, colours.muted, 3.25); // an edge, for the light colours of the palette
    line(pen, walked, colourOf(state.est), 2);
  }

  function pathPicture(pen, w) {
    const frame = GS.plot.triangle(w), pi = path().map(GS.softmax), best = state.c.indexOf(Math.min(...state.c));
    GS.plot.outline(pen, frame, "π");
    twoPaths(pen, (theta) => frame.place(GS.softmax(theta)));
    mark(pen, frame.corners[best], { shape: "diamond", colour: colours.text, size: 5, width: 2 });
    mark(pen, frame.place(pi[0]), { shape: "square", colour: colours.text, size: 5, width: 2 });
    mark(pen, frame.place(pi[state.at]), { colour: colourOf(state.est), size: 6.5, width: 2, rim: colours.text });
    return `Path of π under ${titleOf(state.est)}: from ${vector(pi[0])} to ${vector(pi[state.at])} after ${state.at} steps, ` +
      `and to ${vector(pi.at(-1))} after ${state.steps}. Class ${best + 1} is the cheapest.`;
  }

  function lossPicture(pen, w, h) {
    const low = Math.min(...state.c), high = Math.max(...state.c, low + 0.01), { steps } = state;
    const frame = GS.plot.axes(pen, { left: 40, top: 30, width: w - 56, height: h - 76 }, {
      x: [0, steps], y: [low, high], xName: "step", yName: "exact loss L(θ) after each step",
      xTicks: [0, steps / 2, steps].map((v) => [v, String(v)]),
      yTicks: [low, (low + high) / 2, high].map((v) => [v, v.toFixed(2)]),
    });
    twoPaths(pen, (theta, s) => [frame.x(s), frame.y(lossAt(theta))]);
    const now = lossAt(path()[state.at]);
    mark(pen, [frame.x(state.at), frame.y(now)], { colour: colourOf(state.est), size: 5.5, width: 2, rim: colours.text });
    const exact = lossAt(exactPath()[state.at]);
    return `Loss at step ${state.at}: ${short(now)}. With the exact gradient: ${short(exact)}. The least: ${short(low)}.`;
  }

  /** The two coordinates of a vector that sums to zero; class 1 is up, 2 left below, 3 right below. */
  const plane = (v) => [(v[2] - v[1]) / Math.SQRT2, (v[1] + v[2] - 2 * v[0]) / Math.sqrt(6)];

  /** Estimates that are the same, as they are when only z is random, with their number. */
  function distinct(estimates) {
    const groups = new Map();
    for (const estimate of estimates) {
      const key = estimate.map((v) => v.toPrecision(9)).join();
      groups.set(key, { estimate, count: (groups.get(key)?.count ?? 0) + 1 });
    }
    return groups.values();
  }

  function cloudPicture(pen, w, h) {
    const found = cloud(), exact = GS.estimators.exact(here());
    const sizes = found.estimates.map(GS.norm).sort((a, b) => a - b);
    const reach = 1.1 * Math.max(sizes[Math.floor(0.97 * SHOWN)], GS.norm(exact), GS.norm(found.mean), 1e-9);
    const radius = Math.min(w, h - 24) / 2 - 8, centre = [w / 2, (h + 24) / 2];
    const descent = (gradient) => GS.add(centre, plane(gradient), -radius / reach);
    const power = 10 ** Math.floor(Math.log10(reach)), ring = [5, 2, 1].map((m) => m * power).find((u) => u <= reach);
    mark(pen, centre, { colour: "transparent", rim: colours.line, size: (radius * ring) / reach });
    for (const corner of [0, 1, 2]) line(pen, [centre, descent(GS.oneHot(corner, 3).map((v) => -v * reach))], colours.line, 0.75);
    write(pen, `ring: length ${+ring.toPrecision(1)}`, w - 2, h - 10, { align: "right", size: 11, colour: colours.muted });
    write(pen, "descent directions −ĝ at the disc", 2, 10, { align: "left", size: 12 });
    pen.globalAlpha = 0.75;
    const within = found.estimates.filter((e) => GS.norm(e) <= reach), beyond = SHOWN - within.length;
    for (const { estimate, count } of distinct(within)) {
      const size = 2.5 + 9 * Math.sqrt((count - 1) / SHOWN);
      mark(pen, descent(estimate), { colour: colourOf(state.est), rim: colours.muted, width: 0.6, size });
    }
    pen.globalAlpha = 1;
    if (beyond) write(pen, `${beyond} of ${SHOWN} lie further out`, 2, h - 10, { align: "left", size: 11, colour: colours.muted });
    GS.plot.arrow(pen, centre, descent(exact), colours.surface, 6);
    GS.plot.arrow(pen, centre, descent(exact), colours.text, 2.5);
    mark(pen, descent(found.mean), { shape: "diamond", colour: colourOf(state.est), size: 5.5, width: 1.5, rim: colours.text });
    return `${SHOWN} estimates of the gradient at step ${state.at}. ${findings()}`;
  }

  function findings() {
    const { bias, error, variance } = cloud(), exactly = GS.enumerate(state.est, here());
    return [
      `The mean of ${SHOWN} estimates by ${titleOf(state.est)} is ${small(bias)} ± ${small(error)} from the exact gradient,`,
      `which has length ${small(GS.norm(GS.estimators.exact(here())))}; their variance is ${small(variance)}.`,
      exactly ? `Of infinitely many, the mean is ${small(exactly.bias)} from it.` : "",
    ].filter(Boolean).join(" ");
  }

  function rowOf(name) {
    const { title, promise, colour } = ESTIMATORS[name], id = `gs-${name}`;
    const radio = el("input", { type: "radio", name: "gs-estimator", value: name, id });
    radio.addEventListener("change", () => { stop(); set({ est: name }); });
    const swatch = el("span", { class: "gs-swatch", style: `background: var(--gs-${colour})` });
    const label = el("label", { for: id }, radio, swatch, title);
    const head = el("th", { scope: "row" }, label, el("p", { class: "gs-hint" }, promise));
    const row = el("tr", { "data-estimator": name }, head, el("td"), el("td"));
    view(["est"], () => { radio.checked = row.classList.toggle("gs-chosen", state.est === name); });
    return row;
  }

  function fillRow({ dataset: { estimator }, cells: [, bias, variance] }) {
    const exactly = GS.enumerate(estimator, here()), found = exactly ?? measure(estimator, MEASURED);
    bias.textContent = exactly ? small(found.bias) : `${small(found.bias)} ± ${small(found.error)}`;
    variance.textContent = small(found.variance);
  }

  function table(slot) {
    const body = el("tbody", {}, ...Object.keys(ESTIMATORS).map(rowOf));
    const heads = ["Estimator, and what it promises", "Bias", "Variance"].map((text) => el("th", { scope: "col" }, text));
    slots[slot].append(el("table", {}, el("thead", {}, el("tr", {}, ...heads)), body));
    view(current, () => later("table", 120, () => [...body.rows].forEach(fillRow)));
  }

  let playing = 0;
  function stop() {
    cancelAnimationFrame(playing);
    if (playing) slots.play.firstChild.textContent = "Play";
    playing = 0;
  }
  function play() {
    if (playing) return stop();
    if (still.matches) return set({ at: state.steps });
    const first = state.at >= state.steps ? 0 : state.at, began = performance.now(), speed = state.steps / 5000;
    slots.play.firstChild.textContent = "Pause";
    const tick = () => {
      const at = Math.min(state.steps, Math.round(first + (performance.now() - began) * speed));
      set({ at });
      if (at >= state.steps) return stop();
      playing = requestAnimationFrame(tick);
    };
    playing = requestAnimationFrame(tick);
  }

  // The page

  mount.classList.add("gs");
  mount.innerHTML = html;
  for (const node of mount.querySelectorAll("[data-slot]")) slots[node.dataset.slot] = node;

  const NAMES = ["text", "muted", "line", "surface", "pi", "y", "low", "middle", "high"];
  view([], () => GS.plot.readColours(mount, [...NAMES, ...Object.values(ESTIMATORS).map(({ colour }) => colour)]));
  const setProbability = (key) => (i, v) => set({ [key]: withProbability(state[key], i, v) });
  bars("p", { key: "p", symbol: "π", name: "Probability of class", also: mean, keys: ["tau"], change: setProbability("p") });
  const fewer = button("classes", "−", () => state.p.length > 2 && set({ p: normalised(state.p.slice(0, -1)) }));
  const more = button("classes", "+", () => state.p.length < 8 && set({ p: normalised([...state.p, 1 / state.p.length]) }));
  fewer.setAttribute("aria-label", "Remove a class");
  more.setAttribute("aria-label", "Add a class");
  const tau = { key: "tau", symbol: "τ", name: "temperature", log: true, format: brief };
  slider("tau", { ...tau, hint: "As τ → 0 a sample y becomes one-hot and E[y] becomes π; as τ grows both become uniform." });
  KINDS.forEach((text, value) => {
    const radio = el("input", { type: "radio", name: "gs-hard", value });
    radio.addEventListener("change", () => set({ hard: value }));
    slots.hard.append(el("label", {}, radio, ` ${text}`));
    view(["hard"], () => { radio.checked = state.hard === value; });
  });
  const drawn = ["p", "tau", "hard", "n", "seed"];
  const pictureOf = (k) => (k === 2 ? interval : k === 3 ? ternary : strips);
  picture("simplex", GS.plot.triangleHeight, [...drawn, "frame"], (pen, w, h) => pictureOf(state.p.length)(pen, w, h));
  view(["p", "hard"], () => {
    const k = state.p.length;
    slots.scale.hidden = k !== 3;
    const cannot = `With ${k} classes the density is on a simplex of ${k - 1} dimensions and cannot be drawn.`;
    slots.cannot.textContent = k > 3 ? `${cannot} Here are the components of the samples.` : "";
    slots.legend.textContent = [
      k === 3 ? "Shading: density as a multiple of the uniform law's; a line for every doubling, heavy where they are equal." : "",
      "Orange dots: samples y, the latest outlined. Orange diamond: E[y].",
      state.hard ? "Blue squares: π, and the one-hot z of the samples." : "Blue square: π.",
    ].join(" ");
  });
  button("draw", "Draw one", () => draw(1));
  button("draw", "Draw 100", () => draw(100));
  button("draw", "Clear", () => set({ n: 0, seed: state.seed + 1 }));
  picture("samples", () => 92, drawn, barsOfSamples);
  view(drawn, () => later("summary", 250, () => { slots.summary.textContent = summary(); }));

  bars("c", { key: "c", symbol: "c", name: "Cost of class", least: 0, change: (i, v) => set({ c: state.c.with(i, v) }) });
  bars("start", { key: "start", symbol: "π", name: "Start of class", change: setProbability("start") });
  slider("a", { key: "a", symbol: "a", name: "bend", step: 0.05, format: (v) => v.toFixed(2),
    hint: "How much f bends between the corners." });
  slider("pow", { key: "pow", symbol: "p", name: "power", step: 0.1, format: (v) => v.toFixed(1),
    hint: "With which power it bends." });
  slider("tau2", { ...tau, hint: "The same τ as above; only the two Gumbel-Softmax estimators use it." });
  slider("rate", { key: "rate", symbol: "η", name: "step size", log: true, format: brief,
    hint: "θ moves by −η times the estimate." });
  slider("steps", { key: "steps", symbol: "N", name: "steps", step: 10, hint: "How many steps are taken." });
  const triangleNode = picture("path", GS.plot.triangleHeight, current, pathPicture);
  const setStart = (event) => {
    const { left, top, width } = triangleNode.getBoundingClientRect();
    const there = GS.plot.triangle(width).locate(event.clientX - left, event.clientY - top);
    stop();
    set({ start: normalised(there.map((v) => Math.max(v, LEAST))) });
  };
  triangleNode.addEventListener("click", setStart);
  triangleNode.addEventListener("pointermove", (event) => { // a finger scrolls
    if (event.pointerType === "mouse" && event.buttons === 1) setStart(event);
  });
  slider("at", { key: "at", symbol: "", name: "step on the path", step: 1, hint: "Where the gradients below are measured." });
  button("play", "Play", play);
  button("again", "Other noise", () => { stop(); set({ run: state.run + 2 }); });
  picture("loss", () => 260, current, lossPicture);
  picture("cloud", () => 260, current, cloudPicture);
  view(current, () => later("found", 250, () => {
    const now = path()[state.at];
    const reached = `π = ${vector(GS.softmax(now))}, L = ${short(lossAt(now))}`;
    slots.found.textContent = `Step ${state.at} of ${state.steps}: ${reached}. ${findings()}`;
  }));
  table("table");

  button("link", "Copy link", async () => {
    remember();
    try {
      await navigator.clipboard.writeText(location.href);
      slots.copied.textContent = "Copied: the address holds all you have set.";
    } catch {
      slots.copied.textContent = "Copy the address of this page: it holds all you have set.";
    }
    later("copied", 4000, () => { slots.copied.textContent = ""; });
  });
  button("reset", "Reset", () => { stop(); set(defaults()); });

  const redraw = () => { epoch++; schedule(); };
  let width = 0;
  new ResizeObserver(() => { if (mount.clientWidth !== width) { width = mount.clientWidth; redraw(); } }).observe(mount);
  new MutationObserver(redraw).observe(document.documentElement, { attributes: true, attributeFilter: ["data-theme"] });
  addEventListener("popstate", recall);
  addEventListener("hashchange", recall);
  schedule();
})();
