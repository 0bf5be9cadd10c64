// What the explorer's page says. A slot is filled by explorer.js.
(() => {
  "use strict";

  const ESTIMATORS = { // the colours are those of the project's figures
    exact: { title: "exact", colour: "text", promise: "No bias and no variance: it enumerates the classes." },
    "sf-plain": { title: "score function", colour: "sf", promise: "No bias for any f." },
    sf: {
      title: "score function with baseline", colour: "sf",
      promise: "No bias for any f, and less variance: it subtracts a moving average of f.",
    },
    st: { title: "straight-through (ST)", colour: "st", promise: "No bias if f is linear: a = 0 or p = 1." },
    reinmax: { title: "ReinMax", colour: "reinmax", promise: "No bias if f is at most quadratic: a = 0, p = 1 or p = 2." },
    "gumbel-softmax": {
      title: "Gumbel-Softmax", colour: "gumbel-softmax", promise: "Its bias vanishes as τ → 0, while its variance grows.",
    },
    "st-gumbel-softmax": {
      title: "ST Gumbel-Softmax", colour: "st-gumbel-softmax", promise: "The same, if f is at most quadratic.",
    },
  };

  const KINDS = [
    "soft: y goes forward and backward",
    "straight-through: the one-hot z = argmax(log π + g) goes forward, the gradient of y backward",
  ];

  const DISTRIBUTION = `
    <section aria-labelledby="gs-distribution">
      <h2 id="gs-distribution">The distribution</h2>
      <p>
        A sample is <var>y</var> = softmax((log <var>π</var> + <var>g</var>)/<var>τ</var>), where <var>g</var> is Gumbel noise.
        Each sample keeps its <var>g</var> while you move <var>π</var> and <var>τ</var>, so you see it travel: that is the
        reparameterisation.
      </p>
      <div class="gs-two">
        <div>
          <div class="gs-label">
            <span><var>π</var> class probabilities, and <span class="gs-second">E[<var>y</var>]</span></span>
            <span data-slot="classes" class="gs-buttons"></span>
          </div>
          <div data-slot="p" class="gs-bars" role="group" aria-label="Class probabilities π"></div>
          <p class="gs-hint">
            Drag a blue bar, or focus it and use the arrow keys; the other classes keep their proportions.
            Orange is the exact mean of <var>y</var>, by quadrature.
          </p>
          <div data-slot="tau" class="gs-control"></div>
          <fieldset data-slot="hard" class="gs-control"><legend>Sample</legend></fieldset>
        </div>
        <div>
          <p data-slot="cannot" class="gs-note"></p>
          <div data-slot="simplex" class="gs-figure"></div>
          <div data-slot="scale" class="gs-scale">
            <div></div><span>0.001</span><span>0.03</span><span>1</span><span>30</span><span>1000</span>
          </div>
          <p data-slot="legend" class="gs-hint"></p>
          <div data-slot="draw" class="gs-buttons"></div>
        </div>
      </div>
      <p class="gs-label">The latest samples</p>
      <div data-slot="samples"></div>
      <p data-slot="summary" class="gs-note" role="status" aria-live="polite"></p>
    </section>`;

  const DESCENT = `
    <section aria-labelledby="gs-descent">
      <h2 id="gs-descent">Descent with an estimator</h2>
      <p>
        Now <var>π</var> = softmax(<var>θ</var>) is learned, by gradient descent on <var>L</var>(<var>θ</var>) =
        E[<var>f</var>(<var>z</var>)], where <var>z</var> is a one-hot sample of three classes and
        <span class="gs-formula"><var>f</var>(<var>z</var>) = Σ <var>c</var><sub>i</sub> ((1 − <var>a</var>)
        <var>z</var><sub>i</sub> + <var>a</var> <var>z</var><sub>i</sub><sup><var>p</var></sup>)</span>.
        At the corners <var>f</var> is <var>c</var><sub>i</sub> whatever <var>a</var> and <var>p</var> are, so these change nothing
        in <var>L</var>: they mislead only an estimator that looks between the corners or differentiates <var>f</var>.
      </p>
      <div class="gs-two">
        <div>
          <div class="gs-pair">
            <div>
              <div class="gs-label"><span><var>c</var> costs</span></div>
              <div data-slot="c" class="gs-bars gs-low" role="group" aria-label="Costs c"></div>
              <p class="gs-hint">What each class costs; the cheapest should win.</p>
            </div>
            <div>
              <div class="gs-label"><span><var>π</var> at the start</span></div>
              <div data-slot="start" class="gs-bars gs-low" role="group" aria-label="Probabilities π at the start"></div>
              <p class="gs-hint">Where descent begins; or click in the triangle.</p>
            </div>
          </div>
          <div class="gs-pair">
            <div data-slot="a" class="gs-control"></div>
            <div data-slot="pow" class="gs-control"></div>
          </div>
          <div data-slot="tau2" class="gs-control"></div>
          <div class="gs-pair">
            <div data-slot="rate" class="gs-control"></div>
            <div data-slot="steps" class="gs-control"></div>
          </div>
        </div>
        <div>
          <div data-slot="path" class="gs-figure"></div>
          <p class="gs-hint">
            From the square to the disc: <var>π</var> under the chosen estimator. Dashed: under the exact gradient.
            The diamond is the cheapest class.
          </p>
          <div data-slot="at" class="gs-control"></div>
          <div class="gs-buttons"><span data-slot="play"></span><span data-slot="again"></span></div>
        </div>
      </div>
      <div class="gs-two">
        <div data-slot="loss"></div>
        <div>
          <div data-slot="cloud"></div>
          <p class="gs-hint">
            Each dot is one estimate, the diamond their mean, the arrow the exact gradient. Each sums to zero over the classes,
            so a plane holds them all; class 1 is up.
          </p>
        </div>
      </div>
      <p data-slot="found" class="gs-note" role="status" aria-live="polite"></p>
      <div data-slot="table" role="radiogroup" aria-label="Estimator"></div>
      <p class="gs-hint">
        At the disc, for estimates from one sample each. Bias is the distance of their mean from the exact gradient; variance is
        summed over the classes. The two Gumbel-Softmax estimators are measured, ± a standard error; the others are enumerated.
      </p>
    </section>`;

  const FOOT = `
    <div class="gs-buttons">
      <span data-slot="link"></span><span data-slot="reset"></span><span data-slot="copied" class="gs-hint" role="status"></span>
    </div>`;

  globalThis.GS.page = { ESTIMATORS, KINDS, html: DISTRIBUTION + DESCENT + FOOT };
})();
