// chart.js - elements, numbers as text, and charts drawn as SVG: curves with a cursor, zoom and a
// logarithmic axis, and pictures of matrices. Texts of the run only become text nodes, never markup.

const SVG = document.querySelector('svg').namespaceURI;
const COLOURS = 8;

// ---- Elements -------------------------------------------------------------------------------

function build(node, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith('on')) node.addEventListener(name.slice(2), value);
    else if (value !== null && value !== undefined && value !== false) node.setAttribute(name, value === true ? '' : value);
  }
  for (const child of children.flat(3)) if (child !== null && child !== undefined && child !== false) node.append(child);
  return node;
}
const el = (name, attributes = {}, ...children) => build(document.createElement(name), attributes, children);
const svg = (name, attributes = {}, ...children) => build(document.createElementNS(SVG, name), attributes, children);

// Control characters, which are not seen, and those that change the writing direction are written out.
function visible(text) {
  return String(text).replace(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u200e\u200f\u202a-\u202e\u2066-\u2069]/g, c => {
    const code = c.charCodeAt(0).toString(16);
    return code.length > 2 ? '\\u' + code.padStart(4, '0') : '\\x' + code.padStart(2, '0');
  });
}

// ---- Numbers --------------------------------------------------------------------------------

// Numbers that are not finite are texts in JSON.
function number(value) {
  if (typeof value === 'number') return value;
  return value === 'Infinity' ? Infinity : value === '-Infinity' ? -Infinity : NaN;
}

const count = n => Number.isFinite(n) ? Math.round(n).toString().replace(/\B(?=(\d{3})+$)/g, ',').replace('-', '−') : '–';

function decimal(value, digits = 4) {
  if (Number.isNaN(value)) return '–';
  if (!Number.isFinite(value)) return value > 0 ? '∞' : '−∞';
  const size = Math.abs(value);
  const text = !size || (size >= 1e-3 && size < 1e5) ? value.toFixed(digits) : value.toPrecision(3).replace(/\.?0+(e|$)/, '$1').replace('e+', 'e');
  return text.replace(/^-/, '−');
}

function si(value, unit) {
  let power = 0;
  if (!Number.isFinite(value)) return '–';
  for (; Math.abs(value) >= 1000 && power < 6; power++) value /= 1000;
  return value.toFixed(power && value < 100 ? 1 : 0) + ' ' + ' kMGTPE'[power].trim() + unit;
}

function seconds(value) {
  const whole = Math.round(value);
  if (!Number.isFinite(value)) return '–';
  if (value < 0.1) return (1000 * value).toFixed(1) + ' ms';
  if (value < 60) return value.toFixed(1) + ' s';
  if (whole < 3600) return Math.floor(whole / 60) + ' min ' + whole % 60 + ' s';
  return Math.floor(whole / 3600) + ' h ' + Math.floor(whole / 60) % 60 + ' min';
}

const percent = part => Number.isFinite(part) ? (100 * part).toFixed(1) + ' %' : '–';

// ---- Axes -----------------------------------------------------------------------------------

// Ticks at round numbers, with labels of as many decimals as their distance needs. whole: at whole
// numbers alone.
function linearTicks(low, high, wanted, whole) {
  const raw = (high - low) / wanted, power = 10 ** Math.floor(Math.log10(raw)), part = raw / power;
  let step = power * (part <= 1 ? 1 : part <= 2 ? 2 : part <= 5 ? 5 : 10);
  if (whole) step = Math.max(1, step);
  const decimals = Math.max(0, Math.ceil(-Math.log10(step) - 1e-9)), ticks = [];
  for (let i = Math.ceil(low / step - 1e-9); i * step <= high + 1e-9 * step; i++) {
    const at = i * step, large = Math.abs(high) >= 1e5 || decimals > 4;
    ticks.push([at, i === 0 ? '0' : step >= 1 && Math.abs(high) < 1e7 ? count(at) : !large ? at.toFixed(decimals) : at.toPrecision(3).replace(/\.?0+(e|$)/, '$1').replace('e+', 'e')]);
  }
  return ticks;
}

// Powers of ten, and multiples of them where powers alone are few.
function logTicks(low, high, wanted) {
  const first = Math.floor(Math.log10(low)), last = Math.ceil(Math.log10(high));
  const every = Math.max(1, Math.ceil((last - first) / wanted));
  for (const multiples of [[1], [1, 2, 5], [1, 2, 3, 4, 5, 6, 7, 8, 9]]) {
    const ticks = [];
    for (let e = first; e <= last; e += every)
      for (const k of multiples) {
        const at = k * 10 ** e;
        if (at >= low * (1 - 1e-9) && at <= high * (1 + 1e-9)) ticks.push([at, String(Number(at.toPrecision(3)))]);
      }
    if (ticks.length > 2 || (ticks.length > 1 && multiples.length > 1)) return ticks;
  }
  return linearTicks(low, high, wanted, false);
}

// An axis: place(value) is 0 at its low end and 1 at its high end.
function axis(low, high, log, wanted, whole) {
  if (log && !(high > low * 1.001)) low /= 2, high *= 2;
  if (!log && !(high - low > 1e-9 * Math.abs(high))) {
    const room = Math.abs(low) * 0.1;
    if (whole || !low) low = Math.min(0, 1.25 * low), high = Math.max(0, 1.25 * high) || (low ? 0 : 1);
    else low -= room, high += room;
  }
  const place = log ? v => Math.log(v / low) / Math.log(high / low) : v => (v - low) / (high - low);
  return {low, high, place, ticks: log ? logTicks(low, high, wanted) : linearTicks(low, high, wanted, whole)};
}

// ---- Curves ---------------------------------------------------------------------------------

// The mean of the finite values around each point: a fortieth of the curve.
function smoothed(y) {
  const half = Math.floor(y.length / 80), out = [];
  let sum = 0, n = 0, first = 0, end = 0;
  const finite = i => Number.isFinite(y[i]);
  for (let i = 0; i < y.length; i++) {
    for (; end < y.length && end <= i + half; end++) if (finite(end)) sum += y[end], n++;
    for (; first < i - half; first++) if (finite(first)) sum -= y[first], n--;
    out.push(n ? sum / n : NaN);
  }
  return out;
}

// The points of a path, interrupted where a value is not drawn.
function path(points) {
  let text = '', down = false;
  for (const [x, y] of points) {
    if (Number.isFinite(y)) text += (down ? 'L' : 'M') + x.toFixed(1) + ' ' + y.toFixed(1);
    down = Number.isFinite(y);
  }
  return text;
}

// The index of the point whose x is nearest; xs ascend.
function nearest(xs, x) {
  let low = 0, high = xs.length - 1;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (xs[middle] < x) low = middle + 1;
    else high = middle;
  }
  return low && x - xs[low - 1] <= xs[low] - x ? low - 1 : low;
}

const PAD = {right: 14, top: 10, bottom: 24};

// A chart of curves over x. spec: title; xLabel ("step"); curves, each with name, colour (0 to 7), x,
// y, and if points are means of several low and high; rough: curves whose mean is drawn over them;
// log: it begins with a logarithmic axis; fromZero: the axis of y begins there; marked: an x with a
// line; wide; noLegend: another chart has it.
class Chart {
  constructor(spec) {
    this.spec = spec;
    this.log = Boolean(spec.log);
    this.range = null;
    const values = spec.curves.flatMap(c => c.y).filter(Number.isFinite);
    this.whole = values.length > 0 && values.every(Number.isInteger);
    this.logButton = values.length && values.every(v => v > 0) && el('button', {type: 'button', 'aria-pressed': String(this.log), onclick: () => this.setLog(!this.log)}, 'log');
    this.resetButton = el('button', {type: 'button', hidden: true, onclick: () => this.zoom(null)}, 'reset zoom');
    this.picture = svg('svg', {role: 'img', tabindex: 0, 'aria-label': this.summary()});
    this.readout = el('div', {class: 'readout', hidden: true, 'aria-live': 'polite'});
    this.plot = el('div', {class: 'plot'}, this.picture, this.readout);
    this.node = el('figure', {class: spec.wide ? 'wide' : null},
      el('figcaption', {}, el('b', {}, visible(spec.title)), this.legend(), this.resetButton, this.logButton), this.plot);
    this.listen();
  }

  legend() {
    const named = this.spec.noLegend ? [] : this.spec.curves.filter(c => c.name && c.name !== this.spec.title);
    return named.map(c => el('span', {class: 'k' + c.colour % COLOURS}, visible(c.name)));
  }

  // What the chart shows, for those who do not see it.
  summary() {
    const said = this.spec.curves.map(c => {
      const y = c.y.filter(Number.isFinite);
      if (!y.length) return visible(c.name || '') + ': no finite value';
      const low = y.reduce((a, b) => Math.min(a, b)), high = y.reduce((a, b) => Math.max(a, b));
      return `${visible(c.name || this.spec.title)} from ${decimal(y[0])} to ${decimal(y[y.length - 1])}, lowest ${decimal(low)}, highest ${decimal(high)}`;
    });
    return `${visible(this.spec.title)} over ${this.spec.xLabel}: ${said.join('; ')}`;
  }

  listen() {
    const p = this.picture;
    p.addEventListener('pointermove', e => this.drag ? this.pull(e) : this.point(this.xAt(e)));
    p.addEventListener('pointerleave', () => this.drag || this.leave());
    p.addEventListener('pointerdown', e => { if (e.button === 0) this.drag = {from: this.xAt(e), to: this.xAt(e)}; });
    p.addEventListener('pointerup', () => this.drop());
    p.addEventListener('pointercancel', () => { this.drag = null; this.leave(); });
    p.addEventListener('dblclick', () => this.zoom(null));
    p.addEventListener('blur', () => this.leave());
    p.addEventListener('keydown', e => this.key(e));
    new ResizeObserver(() => this.draw()).observe(this.plot);
  }

  setLog(log) {
    this.log = log;
    this.logButton.setAttribute('aria-pressed', String(log));
    this.draw();
  }

  zoom(range) {
    this.range = range;
    this.resetButton.hidden = !range;
    this.draw();
  }

  xAt(event) {
    const box = this.picture.getBoundingClientRect();
    const part = (event.clientX - box.left - this.left) / this.inner;
    return this.x.low + Math.min(1, Math.max(0, part)) * (this.x.high - this.x.low);
  }

  pull(event) {
    this.drag.to = this.xAt(event);
    if (!this.picture.hasPointerCapture(event.pointerId)) this.picture.setPointerCapture(event.pointerId);
    const [a, b] = [this.drag.from, this.drag.to].map(x => this.left + this.inner * this.x.place(x)).sort((p, q) => p - q);
    this.leave();
    this.band.setAttribute('x', a), this.band.setAttribute('width', b - a);
  }

  drop() {
    const d = this.drag;
    this.drag = null;
    if (!d) return;
    const [low, high] = [Math.min(d.from, d.to), Math.max(d.from, d.to)];
    const inside = this.spec.curves.reduce((n, c) => Math.max(n, c.x.filter(x => x >= low && x <= high).length), 0);
    if (high - low > 0.01 * (this.x.high - this.x.low) && inside > 1) this.zoom([low, high]);
    else this.band.setAttribute('width', 0);
  }

  key(event) {
    const xs = this.steps(), step = {ArrowLeft: -1, ArrowRight: 1, Home: -xs.length, End: xs.length}[event.key];
    if (event.key === 'Escape') this.zoom(null);
    if (!step || !xs.length) return;
    const now = this.cursor === undefined ? (step > 0 ? -1 : xs.length) : nearest(xs, this.cursor);
    this.point(xs[Math.min(xs.length - 1, Math.max(0, now + step))]);
    event.preventDefault();
  }

  // All x that have a point, ascending.
  steps() {
    const shown = x => x >= this.x.low && x <= this.x.high;
    return [...new Set(this.spec.curves.flatMap(c => c.x.filter(shown)))].sort((a, b) => a - b);
  }

  leave() {
    this.cursor = undefined;
    this.readout.hidden = true;
    if (this.line) this.line.setAttribute('visibility', 'hidden');
    this.marks && this.marks.replaceChildren();
  }

  // Shows the values of all curves at the point that is nearest to x.
  point(x) {
    const xs = this.steps();
    if (!xs.length) return;
    this.cursor = xs[nearest(xs, x)];
    const across = this.left + this.inner * this.x.place(this.cursor);
    const rows = [], marks = [];
    for (const c of this.spec.curves) {
      if (!c.x.length) continue;
      const i = nearest(c.x, this.cursor), y = c.y[i];
      const span = c.low && c.low[i] < c.high[i] ? ` (${this.value(c.low[i])} to ${this.value(c.high[i])})` : '';
      const far = c.x[i] === this.cursor ? '' : ` at ${count(c.x[i])}`;
      rows.push(el('div', {}, el('span', {class: 'k' + c.colour % COLOURS}, visible(c.name || this.spec.title)), el('b', {}, this.value(y)), el('small', {}, span + far)));
      if (this.shows(y) && !far) marks.push(svg('circle', {class: 'k' + c.colour % COLOURS, cx: across, cy: this.down(y), r: 4, fill: 'currentColor'}));
    }
    this.line.setAttribute('visibility', 'visible');
    this.line.setAttribute('x1', across), this.line.setAttribute('x2', across);
    this.marks.replaceChildren(...marks);
    this.readout.replaceChildren(el('div', {class: 'at'}, `${this.spec.xLabel} ${Number.isInteger(this.cursor) ? count(this.cursor) : decimal(this.cursor)}`), ...rows);
    this.readout.hidden = false;
    const right = across + 14 + this.readout.offsetWidth > this.plot.offsetWidth;
    this.readout.style.left = Math.max(0, right ? across - 14 - this.readout.offsetWidth : across + 14) + 'px';
  }

  value(y) { return this.whole ? count(y) : decimal(y); }
  shows(y) { return Number.isFinite(y) && (!this.log || y > 0); }
  down(y) { return PAD.top + this.high * (1 - this.y.place(y)); }

  // The axes of what is shown; false: there is no point to draw.
  fit() {
    let xs = [Infinity, -Infinity], ys = [Infinity, -Infinity];
    for (const c of this.spec.curves)
      for (let i = 0; i < c.x.length; i++) {
        if (this.range && (c.x[i] < this.range[0] || c.x[i] > this.range[1])) continue;
        for (const y of [c.y[i], c.low ? c.low[i] : NaN, c.high ? c.high[i] : NaN])
          if (this.shows(y)) ys = [Math.min(ys[0], y), Math.max(ys[1], y)], xs = [Math.min(xs[0], c.x[i]), Math.max(xs[1], c.x[i])];
      }
    if (!(ys[0] <= ys[1])) return false;
    const margin = this.log ? (ys[1] / ys[0]) ** 0.04 : 0.04 * (ys[1] - ys[0]);
    const zero = !this.log && this.spec.fromZero ? Math.min(0, ys[0]) : ys[0] - margin;
    this.y = this.log ? axis(ys[0] / margin, ys[1] * margin, true, 6) : axis(zero, ys[1] + margin, false, this.spec.wide ? 6 : 5, this.whole);
    this.left = 16 + 6.6 * Math.max(3, ...this.y.ticks.map(t => t[1].length));
    this.inner = this.width - this.left - PAD.right;
    const low = this.range ? this.range[0] : Math.min(0, xs[0]), high = this.range ? this.range[1] : xs[1];
    this.x = axis(low, high, false, Math.max(2, Math.min(10, this.inner / 85)), true);
    return true;
  }

  drawAxes() {
    const out = [], bottom = PAD.top + this.high;
    for (const [value, label] of this.y.ticks) {
      const y = this.down(value);
      out.push(svg('line', {class: 'grid', x1: this.left, x2: this.left + this.inner, y1: y, y2: y}),
        svg('text', {x: this.left - 8, y: y + 4, 'text-anchor': 'end'}, label));
    }
    let free = -Infinity;
    for (const [value, label] of this.x.ticks) {
      const x = this.left + this.inner * this.x.place(value), half = 3.3 * label.length;
      out.push(svg('line', {class: 'axis', x1: x, x2: x, y1: bottom, y2: bottom + 5}));
      if (x - half < free || x + half > this.width) continue;
      out.push(svg('text', {x, y: bottom + 19, 'text-anchor': 'middle'}, label));
      free = x + half + 8;
    }
    out.push(svg('line', {class: 'axis', x1: this.left, x2: this.left + this.inner, y1: bottom, y2: bottom}));
    const marked = this.spec.marked;
    if (marked > this.x.low && marked <= this.x.high) {
      const x = this.left + this.inner * this.x.place(marked);
      out.push(svg('line', {class: 'mark', x1: x, x2: x, y1: PAD.top, y2: bottom}, svg('title', {}, `best checkpoint: ${this.spec.xLabel} ${count(marked)}`)));
    }
    return out;
  }

  drawCurve(c) {
    const colour = 'k' + c.colour % COLOURS, place = (x, y) => [this.left + this.inner * this.x.place(x), this.shows(y) ? this.down(y) : NaN];
    const rough = c.rough && c.y.length >= 120, out = [];
    const all = ys => path(c.x.map((x, i) => place(x, ys[i])));
    if (rough && c.low) {
      const there = c.x.map((x, i) => i).filter(i => this.shows(c.low[i]) && this.shows(c.high[i]));
      const edge = [...there.map(i => place(c.x[i], c.high[i])), ...there.reverse().map(i => place(c.x[i], c.low[i]))];
      out.push(svg('path', {class: colour + ' span', d: path(edge) + 'Z'}));
    } else if (rough) {
      out.push(svg('path', {class: colour + ' faint', d: all(c.y)}));
    }
    out.push(svg('path', {class: colour + ' curve' + (c.colour >= COLOURS ? ' dashed' : ''), d: all(rough ? smoothed(c.y) : c.y)}));
    if (c.x.length <= 40)
      out.push(...c.x.map((x, i) => this.shows(c.y[i]) && svg('circle', {class: colour, cx: place(x, 0)[0], cy: this.down(c.y[i]), r: 2.4, fill: 'currentColor'})));
    return out;
  }

  draw() {
    this.width = Math.max(240, this.plot.clientWidth || 530);
    const height = this.spec.wide ? (this.width < 600 ? 230 : 300) : 210;
    this.high = height - PAD.top - PAD.bottom;
    this.picture.setAttribute('viewBox', `0 0 ${this.width} ${height}`);
    if (!this.fit()) {
      this.picture.replaceChildren(svg('text', {x: 0, y: 24}, 'no finite value'));
      this.x = axis(0, 1, false, 2), this.left = 0, this.inner = this.width;
      this.line = null;
      return;
    }
    const [x, y, width, clipped] = [this.left - 3, PAD.top - 3, this.inner + 6, this.high + 6];
    const area = svg('svg', {x, y, width, height: clipped, viewBox: `${x} ${y} ${width} ${clipped}`}, this.spec.curves.map(c => this.drawCurve(c)));
    this.band = svg('rect', {class: 'band', y: PAD.top, height: this.high, x: 0, width: 0});
    this.line = svg('line', {class: 'axis', y1: PAD.top, y2: PAD.top + this.high, visibility: 'hidden'});
    this.marks = svg('g');
    this.picture.replaceChildren(...this.drawAxes(), area, this.band, this.line, this.marks);
    this.leave();
  }
}

// ---- Pictures -------------------------------------------------------------------------------

// A canvas of width x height whose pixels colour(x, y) gives as [red, green, blue].
function pixels(width, height, colour, label) {
  const canvas = el('canvas', {width, height, role: 'img', 'aria-label': label});
  const context = canvas.getContext('2d'), image = context.createImageData(width, height);
  for (let y = 0; y < height; y++)
    for (let x = 0; x < width; x++) image.data.set([...colour(x, y), 255], 4 * (y * width + x));
  context.putImageData(image, 0, 0);
  return canvas;
}

// A colour of a scale that rises evenly in lightness (an approximation of viridis), part from 0 to 1.
function shade(part) {
  const stops = [[68, 1, 84], [59, 82, 139], [33, 145, 140], [94, 201, 98], [253, 231, 37]];
  const at = 4 * Math.min(1, Math.max(0, part || 0)), i = Math.min(3, Math.floor(at));
  return stops[i].map((c, k) => Math.round(c + (at - i) * (stops[i + 1][k] - c)));
}
