// folder.js - the page of a folder of runs, and the choice of the page.

const SHOWN = 16;  // runs with curves

// ---- Parallel coordinates ---------------------------------------------------------------------

const isNumber = text => text.trim() !== '' && Number.isFinite(Number(text));

// An axis of the values of all runs: of numbers, on a logarithmic scale where they span much, or of
// words in the order of their first use. place: 0 at its low end, 1 at its high end.
function coordinate(name, texts) {
  const numbers = texts.map(Number), numeric = texts.every(isNumber), different = [...new Set(texts)];
  if (!numeric) {
    const of = text => different.length > 1 ? different.indexOf(text) / (different.length - 1) : 0.5;
    return {name, place: i => of(texts[i]), labels: different.slice(0, 12).map(t => [of(t), t]), text: i => texts[i]};
  }
  const low = Math.min(...numbers), high = Math.max(...numbers), log = low > 0 && high > 30 * low;
  const scale = v => high === low ? 0.5 : log ? Math.log(v / low) / Math.log(high / low) : (v - low) / (high - low);
  const round = v => String(Number(v.toPrecision(3)));
  const few = [...new Set(numbers)].sort((a, b) => a - b);
  const ends = log ? [low, Math.sqrt(low * high), high] : [low, (low + high) / 2, high];
  return {name, place: i => scale(numbers[i]), labels: (few.length <= 6 ? few : ends).map(v => [scale(v), round(v)]), text: i => texts[i]};
}

function coordinates(d) {
  const there = d.runs.filter(r => typeof r.best === 'number'), keys = Object.keys((d.runs[0] || {}).differs || {}).slice(0, 12);
  if (!keys.length || there.length < 2) return null;
  const axes = [...keys.map(k => coordinate(k, there.map(r => r.differs[k]))), coordinate('best ' + d.metric, there.map(r => String(r.best)))];
  const bests = there.map(r => r.best), low = Math.min(...bests), high = Math.max(...bests);
  const part = r => high > low ? (d.mode === 'max' ? r.best - low : high - r.best) / (high - low) : 1;
  const said = el('p', {class: 'said', 'aria-live': 'polite'}, 'A line is a run, the brighter the better. Point at one to see its values.');
  // Axes stand beside each other; on a phone they are below each other, from left to right.
  const phone = innerWidth < 560, width = phone ? Math.max(240, innerWidth - 54) : Math.max(560, 150 * axes.length, Math.min(1066, innerWidth - 94));
  const gap = 84, height = phone ? gap * (axes.length - 1) + 60 : 280, left = 60;  // gap: for a name, values and lines between
  const at = (k, part) => phone ? [14 + part * (width - 28), 32 + gap * k] : [left + k * (width - left - 90) / (axes.length - 1), 34 + 220 * (1 - part)];
  const lines = there.map((r, i) => {
    const points = axes.map((a, k) => at(k, a.place(i)).map(v => v.toFixed(1)).join(' ')).join('L');
    const line = svg('path', {class: 'run', d: 'M' + points, style: `stroke:rgb(${shade(0.15 + 0.75 * part(r)).join(',')})`, tabindex: 0}, svg('title', {}, visible(r.label)));
    const enter = () => highlight(d.runs.indexOf(r)), leave = () => highlight(-1);
    const wide = svg('path', {class: 'reach', d: 'M' + points, onpointerenter: enter, onpointerleave: leave});
    line.addEventListener('focus', enter), line.addEventListener('blur', leave);
    return [r, line, wide];
  }).reverse();  // the best is drawn last
  listeners.push(index => {
    const r = d.runs[index];
    for (const [of, line] of lines) line.classList.toggle('on', of === r), line.classList.toggle('off', Boolean(r) && of !== r);
    if (r) said.textContent = `${visible(r.label)}: best ${visible(d.metric)} ${decimal(number(r.best))}`;
  });
  const drawn = axes.map((a, k) => {
    const [[x1, y1], [x2, y2]] = [at(k, 0), at(k, 1)], last = k === axes.length - 1;
    const name = phone ? {x: 2, y: y1 - 10} : last ? {x: width - 2, y: 16, 'text-anchor': 'end'} : {x: Math.max(2, x1 - 40), y: 16, 'text-anchor': k ? 'middle' : 'start', dx: k ? 40 : 0};
    let free = -Infinity;
    const labels = [...a.labels].sort((b, c) => b[0] - c[0]).map(([part, label]) => {
      const [x, y] = at(k, part), text = visible(label.length > 14 ? label.slice(0, 13) + '…' : label), wide = 7 * text.length;
      const begin = x - wide * part;  // the least value's label begins at its place, that of the most ends there
      if (phone && begin < free) return null;
      free = begin + wide + 8;
      return phone ? svg('text', {x: begin + wide * part, y: y + 15, 'text-anchor': part < 0.1 ? 'start' : part > 0.9 ? 'end' : 'middle'}, text) : svg('text', {x: x + 6, y: y - 4}, text);
    });
    return svg('g', {}, svg('line', {class: 'axis', x1, x2, y1, y2}), svg('text', {class: 'name', ...name}, visible(a.name)), labels);
  });
  return el('section', {}, el('h2', {}, 'What differs, and the best ' + visible(d.metric)),
    el('div', {class: 'scroll', tabindex: 0, role: 'region', 'aria-label': 'parallel coordinates'},
      svg('svg', {class: 'parallel', viewBox: `0 0 ${width} ${height}`, style: `min-width:${width}px`, role: 'img', 'aria-label': `${there.length} runs over ${axes.map(a => a.name).join(', ')}`},
        lines.map(l => l[1]), drawn, lines.map(l => l[2]))), said);
}

// A run is highlighted in the table and in the lines alike.
const listeners = [];
const highlight = index => listeners.forEach(f => f(index));

// ---- Scaling ----------------------------------------------------------------------------------

// The speed of runs by their ranks, beside a speed that grows with them.
function scaling(d) {
  const known = d.runs.filter(r => r.ranks > 0 && r.samples_per_s > 0).sort((a, b) => a.ranks - b.ranks);
  if (new Set(known.map(r => r.ranks)).size < 2) return null;
  const first = known[0], ranks = [...new Set(known.map(r => r.ranks))];
  const fastest = ranks.map(n => Math.max(...known.filter(r => r.ranks === n).map(r => r.samples_per_s)));
  const rows = ranks.map((n, i) => el('tr', {}, cell(count(n), 'n'), cell(si(fastest[i], ''), 'n'), cell((fastest[i] / fastest[0]).toFixed(2), 'n'), cell((n / first.ranks).toFixed(2), 'n'), cell(percent(fastest[i] / fastest[0] / (n / first.ranks)), 'n')));
  const curves = [{name: 'measured', colour: 0, x: ranks, y: fastest}, {name: 'if it grew with the ranks', colour: 1, x: ranks, y: ranks.map(n => fastest[0] * n / first.ranks)}];
  return [el('section', {class: 'charts'}, new Chart({title: 'Samples per second by ranks', xLabel: 'ranks', curves, wide: true, fromZero: true}).node),
    section('Scaling', table('', head([['ranks', 'n'], ['samples per second', 'n'], ['speed-up', 'n'], ['ideal', 'n'], ['efficiency', 'n']]), rows))];
}

// ---- Curves and the table -----------------------------------------------------------------------

// The metric that ranks the runs, then other evaluations, the loss and the learning rate.
function curvesOfRuns(d) {
  const drawn = d.runs.filter(r => r.series), first = 'validation.' + d.metric;
  const all = [...new Set(drawn.flatMap(r => r.series.map(s => s.key)))].filter(k => k !== first && (k.startsWith('validation.') || k === 'loss' || k === 'lr'));
  const figures = [first, ...all].slice(0, 12).map((key, i) => {
    const curves = drawn.map((r, k) => [r.series.find(s => s.key === key), r, k]).filter(([s]) => s)
      .map(([s, r, k]) => ({...curveOf(s, r.label || 'as configured', k), low: undefined, high: undefined}));
    return curves.length ? new Chart({title: key, xLabel: 'step', curves: curves.map(c => c.rough && c.y.length >= 120 ? {...c, y: smoothed(c.y), rough: false} : c), wide: i === 0, noLegend: i > 0}).node : null;
  });
  return el('section', {class: 'charts'}, figures);
}

function runs(d) {
  const bests = d.runs.map(r => number(r.best)).filter(Number.isFinite), low = Math.min(...bests), high = Math.max(...bests);
  const rows = d.runs.map((r, i) => {
    const best = number(r.best), part = high > low && Number.isFinite(best) ? (best - low) / (high - low) : 0;
    return el('tr', {onpointerenter: () => highlight(i), onpointerleave: () => highlight(-1)}, cell(count(i + 1), 'n'),
      el('td', {}, i < SHOWN && el('span', {class: 'dot k' + i % COLOURS}), visible(r.label || 'as configured')),
      el('td', {}, r.page ? el('a', {href: r.page}, visible(r.run)) : visible(r.run)), cell(r.status.split(':')[0]),
      el('td', {class: 'n bars'}, el('i', {style: `width:${(100 * part).toFixed(1)}%`}), el('b', {}, decimal(best))),
      cell(Number.isFinite(best) ? count(r.best_step) : '', 'n'), cell(decimal(number(r.last)), 'n'));
  });
  listeners.push(index => rows.forEach((row, i) => row.classList.toggle('on', i === index)));
  return section('Runs', table('', head([['', 'n'], ['run', ''], ['folder', ''], ['status', ''], ['best ' + d.metric, 'n'], ['at step', 'n'], ['last', 'n']]), rows));
}

const subtitle = d => `${d.runs.length} run${d.runs.length === 1 ? '' : 's'}${d.runs.length > SHOWN ? `; curves of the best ${SHOWN}` : ''}`;
const RUNS = [d => header('graphrun report of a folder', null, d.name, subtitle(d)), coordinates, curvesOfRuns, scaling, runs];

// ---- The page ---------------------------------------------------------------------------------

// A section that fails, on data that no version writes, is left out with a notice; the others are
// shown. The numbers that the page has without scripts are replaced.
function show(d) {
  const safely = draw => {
    try {
      return draw(d);
    } catch (error) {
      return el('pre', {class: 'notice warn'}, 'A part of this page could not be drawn: ' + visible(error.message));
    }
  };
  const nodes = (d.kind === 'runs' ? RUNS : RUN).flatMap(safely).flat(3).filter(Boolean);
  document.querySelector('main').replaceChildren(...nodes);
}
show({results: {}, series: [], ...DATA});
