// Pictures from numbers, on a canvas: marks, lines, axes, the triangle of three classes and a density on it.
(() => {
  "use strict";
  const { GS } = globalThis;
  const clamp = (v, low, high) => Math.min(high, Math.max(low, v));
  const sub = (i) => "₁₂₃₄₅₆₇₈"[i];

  const colours = {}; // by name; `readColours` takes them from the style sheet

  function readColours(node, names) {
    const style = getComputedStyle(node);
    for (const name of names) colours[name] = style.getPropertyValue(`--gs-${name}`).trim();
    colours.font = style.fontFamily;
  }

  function write(pen, text, x, y, { align = "center", colour = colours.text, size = 13 } = {}) {
    Object.assign(pen, { font: `${size}px ${colours.font}`, textAlign: align, textBaseline: "middle", fillStyle: colour });
    pen.fillText(text, x, y);
  }

  function line(pen, points, colour, width = 1.5, dash = []) {
    Object.assign(pen, { strokeStyle: colour, lineWidth: width, lineJoin: "round", lineCap: "round" });
    pen.setLineDash(dash);
    pen.beginPath();
    for (const [x, y] of points) pen.lineTo(x, y);
    pen.stroke();
    pen.setLineDash([]);
  }

  function arrow(pen, from, to, colour, width) {
    const [dx, dy] = GS.add(to, from, -1), long = Math.hypot(dx, dy), head = Math.min(9, long);
    if (long < 1) return;
    const barb = (side) => [to[0] - (head * (dx + side * dy / 2)) / long, to[1] - (head * (dy - side * dx / 2)) / long];
    line(pen, [from, to], colour, width);
    line(pen, [barb(1), to, barb(-1)], colour, width);
  }

  const SHAPES = {
    dot: (pen, x, y, r) => pen.arc(x, y, r, 0, 2 * Math.PI),
    square: (pen, x, y, r) => pen.rect(x - r, y - r, 2 * r, 2 * r),
    diamond: (pen, x, y, r) => [[0, -r], [r, 0], [0, r], [-r, 0]].forEach(([u, v]) => pen.lineTo(x + 1.25 * u, y + 1.25 * v)),
  };

  function mark(pen, [x, y], { shape = "dot", colour, size = 3, rim = colours.surface, width = 1 }) {
    pen.beginPath();
    SHAPES[shape](pen, x, y, size);
    pen.closePath();
    Object.assign(pen, { fillStyle: colour, strokeStyle: rim, lineWidth: width });
    pen.fill();
    pen.stroke();
  }

  /** A frame with axes through x and y limits [low, high]; ticks are [value, text]. Returns it with its scales x and y. */
  function axes(pen, box, { x, y, xTicks, yTicks, xName, yName }) {
    const { left, top, width, height } = box, bottom = top + height;
    const frame = {
      ...box, bottom,
      x: (v) => left + (width * (clamp(v, ...x) - x[0])) / (x[1] - x[0]),
      y: (v) => bottom - (height * (clamp(v, ...y) - y[0])) / (y[1] - y[0]),
    };
    for (const [v, text] of xTicks) write(pen, text, frame.x(v), bottom + 12, { size: 11, colour: colours.muted });
    for (const [v, text] of yTicks) {
      line(pen, [[left, frame.y(v)], [left + width, frame.y(v)]], colours.line, 0.75);
      write(pen, text, left - 6, frame.y(v), { align: "right", size: 11, colour: colours.muted });
    }
    line(pen, [[left, top], [left, bottom], [left + width, bottom]], colours.muted, 1);
    write(pen, xName, left + width, bottom + 28, { align: "right", size: 12 });
    write(pen, yName, 2, top - 14, { align: "left", size: 12 });
    return frame;
  }

  const MARGIN = { side: 28, top: 34, bottom: 40 };
  const TALL = Math.sqrt(3) / 2;
  const triangleHeight = (width) => TALL * (width - 2 * MARGIN.side) + MARGIN.top + MARGIN.bottom;

  /** The triangle in a picture of this width: its corners, the way from the simplex to the picture, and the way back. */
  function triangle(width) {
    const side = width - 2 * MARGIN.side, height = TALL * side, left = MARGIN.side, top = MARGIN.top;
    const place = (y) => [left + side * (y[0] / 2 + y[2]), top + height * (1 - y[0])];
    const locate = (px, py) => {
      const y0 = 1 - (py - top) / height, y2 = (px - left) / side - y0 / 2;
      return [y0, 1 - y0 - y2, y2].map((v) => clamp(v, 0, 1));
    };
    return { side, height, left, top, place, locate, corners: [0, 1, 2].map((i) => place(GS.oneHot(i, 3))) };
  }

  function outline(pen, { corners }, letter) {
    line(pen, [...corners, corners[0]], colours.muted, 1.25);
    const beside = [[0, -22], [0, 20], [0, 20]];
    corners.forEach((corner, i) => write(pen, `${letter}${sub(i)} = 1`, ...GS.add(corner, beside[i]), { colour: colours.muted }));
  }

  // A density is shown as a multiple of the uniform law's, on a scale of DOUBLINGS either way that is the same for every picture.
  const DOUBLINGS = 10;

  const rgb = (hex) => [1, 3, 5].map((i) => parseInt(hex.slice(i, i + 2), 16));

  function ramp() {
    const stops = [colours.low, colours.middle, colours.high].map(rgb);
    return Array.from({ length: 256 }, (_, i) => {
      const t = i / 127.5, from = Math.min(1, Math.floor(t));
      return stops[from].map((v, channel) => v + (t - from) * (stops[from + 1][channel] - v));
    });
  }

  const lattice = { size: 0 };
  /** The pixels in a triangle of this size, and the logarithms of y at each: they stay while π and τ change. */
  function latticeOf(size) {
    if (lattice.size === size) return lattice;
    const rows = Math.ceil(TALL * size), logs = new Float64Array(3 * size * rows), inside = [];
    for (let row = 0, i = 0; row < rows; row++) for (let column = 0; column < size; column++, i++) {
      const y0 = 1 - (row + 0.5) / rows, y2 = (column + 0.5) / size - y0 / 2, y = [y0, 1 - y0 - y2, y2];
      if (Math.min(...y) < -3 / size) continue; // a little beyond the edge is drawn, and cut
      inside.push(i);
      for (let j = 0; j < 3; j++) logs[3 * i + j] = Math.log(Math.max(y[j], 0.25 / size));
    }
    const values = new Float64Array(size * (rows + 1) + 1).fill(NaN); // NaN beyond the edge: no contour there
    return Object.assign(lattice, { size, rows, logs, inside: Uint32Array.from(inside), values });
  }

  /** How much of a contour's ink pixel i gets: contours are where the value is whole, and fade where they crowd. */
  function contour(values, i, below) {
    const v = values[i], level = Math.round(v), across = values[i + 1] - v, down = values[i + below] - v;
    const slope = Math.sqrt(across * across + down * down) + 1e-9, pixels = Math.abs(v - level) / slope;
    if (!(pixels < 1.35 && slope < 0.375 && Math.abs(v) < DOUBLINGS)) return 0; // as when a slope is NaN
    return Math.min(1, 1.35 - pixels) * Math.min(1, 1.5 - 4 * slope) * (level ? 0.35 : 0.9);
  }

  /** The triangle of this size as an image, of `value(logY, at)` in doublings. */
  function densityImage(size, value) {
    const { rows, logs, inside, values } = latticeOf(size), image = new ImageData(size, rows), { data } = image;
    const shades = ramp(), ink = rgb(colours.high), paper = rgb(colours.low);
    for (const i of inside) values[i] = value(logs, 3 * i);
    for (const i of inside) {
      const v = values[i], shade = shades[Math.round(clamp((v / DOUBLINGS + 1) * 127.5, 0, 255))];
      const alpha = contour(values, i, size), over = v > 3.5 ? paper : ink;
      for (let c = 0; c < 3; c++) data[4 * i + c] = shade[c] + alpha * (over[c] - shade[c]);
      data[4 * i + 3] = 255;
    }
    const out = document.createElement("canvas");
    Object.assign(out, { width: size, height: rows });
    out.getContext("2d").putImageData(image, 0, 0);
    return out;
  }

  GS.plot = {
    clamp, sub, colours, readColours, write, line, arrow, mark, axes, triangleHeight, triangle, outline, DOUBLINGS, densityImage,
  };
})();
