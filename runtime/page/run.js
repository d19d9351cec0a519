// run.js - the page of a run: sections, each a function of the data that gives an element, a list of
// them, or nothing where the data has nothing for it.

const DATA = JSON.parse(document.getElementById('data').textContent);

const cell = (text, kind) => el('td', {class: kind}, visible(text));
const head = names => el('tr', {}, names.map(([text, kind]) => el('th', {scope: 'col', class: kind}, visible(text))));
const section = (title, ...children) => el('section', {}, title && el('h2', {}, title), children);
const table = (kind, ...rows) => el('div', {class: 'scroll', tabindex: 0, role: 'region', 'aria-label': 'table'}, el('table', {class: kind}, rows));

// ---- Head -----------------------------------------------------------------------------------

function kindOf(status) {
  if (status === 'done') return 'good';
  if (status === 'running') return 'live';
  return status.startsWith('stopped') ? 'warn' : 'bad';
}
const badge = status => el('span', {class: 'badge ' + kindOf(status)}, visible(status.split(/[ :]/)[0]));

function header(eyebrow, status, title, sub) {
  return el('header', {}, el('p', {class: 'eyebrow'}, eyebrow, status && badge(status)),
    el('h1', {}, visible(title)), sub && el('p', {class: 'sub'}, visible(sub)));
}

function notice(d) {
  const quiet = d.status === 'done' || d.status === 'running', unfinished = d.status === 'unfinished';
  const why = unfinished ? 'The run has not ended by itself: it was killed, or its machine was stopped.' : d.status;
  return [!quiet && el('pre', {class: 'notice ' + kindOf(d.status)}, visible(why)),
    d.problems && el('pre', {class: 'notice warn'}, visible(d.problems))];
}

const seriesOf = (d, key) => d.series.find(s => s.key === key);
const last = list => list.length ? list[list.length - 1] : NaN;

// The value of the last evaluation by the results, or else of the series.
function lastOf(d, key) {
  const value = d.results.metrics && d.results.metrics[key], s = seriesOf(d, key);
  return value !== undefined ? number(value) : s ? last(s.y) : NaN;
}

const tile = (name, value, note) => el('div', {class: 'tile'}, el('span', {}, visible(name)), el('b', {}, value), el('small', {}, note || ''));

function tiles(d) {
  const r = d.results, out = [], loss = lastOf(d, 'validation.loss'), train = lastOf(d, 'train.loss');
  if (r.best_metric) out.push(tile('best ' + r.best_metric, decimal(number(r.best_value)), `epoch ${r.best_epoch}, step ${count(r.best_step)}`));
  if (!Number.isNaN(loss)) out.push(tile('validation loss', decimal(loss), Number.isNaN(train) ? '' : 'training ' + decimal(train)));
  else if (!Number.isNaN(train)) out.push(tile('training loss', decimal(train)));
  const steps = r.steps !== undefined ? r.steps : last((seriesOf(d, 'loss') || {x: [0]}).x), epochs = seriesOf(d, 'train_loss');
  out.push(tile('steps', count(steps), `${r.epochs !== undefined ? r.epochs : epochs ? epochs.x.length : 0} epochs`));
  const speed = seriesOf(d, 'samples_per_s');
  if (speed && speed.y.some(v => v > 0)) {
    const rates = speed.y.filter(v => v > 0);
    out.push(tile('samples per second', si(rates.length / rates.reduce((sum, v) => sum + 1 / v, 0), ''), 'mean of all steps'));
  }
  if (r.total_seconds !== undefined) out.push(tile('duration', seconds(r.total_seconds), new Date(1000 * r.started).toISOString().slice(0, 16).replace('T', ' ') + ' UTC'));
  const p = d.plan || {};
  if (p.parameters !== undefined) out.push(tile('parameters', count(p.parameters), p.trained_parameters < p.parameters ? count(p.trained_parameters) + ' trained' : 'all trained'));
  return el('section', {class: 'tiles'}, out);
}

// ---- Curves ---------------------------------------------------------------------------------

const TITLES = {loss: 'Loss', lr: 'Learning rate', grad_norm: 'Gradient norm', samples_per_s: 'Samples per second', loss_scale: 'Loss scale', data_seconds: 'Seconds that steps waited for data'};
const SMOOTH = ['lr', 'loss_scale'];
const titleOf = figure => TITLES[figure] || figure;
const bare = key => key.replace(/^(train|validation)\./, '');
const figureOf = key => bare(key).split('.')[0];

// Not times, and not what another value says already.
const isShown = (d, key) => key !== 'seconds' && (key !== 'train_loss' || !(seriesOf(d, 'train.loss') || seriesOf(d, 'loss')));

function nameOf(key, figure) {
  const whose = key.startsWith('train.') || key === 'loss' ? 'training' : key.startsWith('validation.') ? 'validation' : '';
  const rest = bare(key) === figure ? '' : bare(key).slice(figure.length + 1);
  return [whose, rest].filter(Boolean).join(' ') || titleOf(figure);
}

// Training and validation have the same two colours in all figures; parts of them the others.
function colourOf(key, figure) {
  if (bare(key) !== figure) return 2;
  return key.startsWith('validation.') ? 1 : 0;
}

function curveOf(s, name, colour) {
  const numbers = list => list && list.map(number);
  return {name, colour, x: numbers(s.x), y: numbers(s.y), low: numbers(s.low), high: numbers(s.high), rough: !SMOOTH.includes(s.key)};
}

// Losses and norms that fall by orders of magnitude are seen on a logarithmic axis.
function isSteep(figure, curves) {
  if (!['loss', 'grad_norm', 'lr'].includes(figure)) return false;
  const values = curves.flatMap(c => c.y).filter(Number.isFinite);
  const low = values.reduce((a, b) => Math.min(a, b), Infinity), high = values.reduce((a, b) => Math.max(a, b), 0);
  return low > 0 && high > 100 * low;
}

function figure(d, name, marked) {
  const steps = seriesOf(d, name);  // train.NAME is the mean of what it has for each step
  const mine = d.series.filter(s => figureOf(s.key) === name && isShown(d, s.key) && !(steps && s.key === 'train.' + name));
  mine.sort((a, b) => colourOf(a.key, name) - colourOf(b.key, name));
  let others = 0;
  const curves = mine.map(s => curveOf(s, nameOf(s.key, name), colourOf(s.key, name) < 2 ? colourOf(s.key, name) : 2 + others++));
  return new Chart({title: titleOf(name), xLabel: 'step', curves, log: isSteep(name, curves), marked, wide: name === 'loss'}).node;
}

// Losses, then metrics of evaluations, then the rest as it was logged.
function charts(d) {
  const figures = [...new Set(d.series.filter(s => isShown(d, s.key)).map(s => figureOf(s.key)))];
  const isMetric = f => d.series.some(s => s.key.startsWith('validation.') && figureOf(s.key) === f);
  const order = f => f === 'loss' ? 0 : isMetric(f) ? 1 : 2;
  figures.sort((a, b) => order(a) - order(b));
  if (!figures.length) return el('section', {class: 'none'}, 'Nothing has been logged yet.');
  return el('section', {class: 'charts'}, figures.map(f => figure(d, f, number(d.results.best_step))));
}

// ---- Metrics --------------------------------------------------------------------------------

// The lowest and the highest value of an evaluation, and their steps.
function extremes(s) {
  const there = s ? s.y.map((y, i) => [number(y), s.x[i]]).filter(p => Number.isFinite(p[0])) : [];
  const pick = better => there.reduce((a, b) => better(b[0], a[0]) ? b : a, there[0]);
  return [(a, b) => a < b, (a, b) => a > b].map(better => {
    const p = pick(better);
    return el('td', {class: 'n'}, p ? [decimal(p[0]), el('small', {}, ` step ${count(p[1])}`)] : '–');
  });
}

function metrics(d) {
  const names = [...new Set(d.series.map(s => s.key).filter(k => bare(k) !== k).map(bare))];
  if (!names.length) return null;
  const rows = names.map(name => {
    const best = name === d.results.best_metric;
    return el('tr', {class: best && 'best'}, el('td', {}, visible(name), best && el('small', {}, 'selects the best checkpoint')),
      cell(decimal(lastOf(d, 'train.' + name)), 'n'), cell(decimal(lastOf(d, 'validation.' + name)), 'n'), extremes(seriesOf(d, 'validation.' + name)));
  });
  const saved = d.results.best_checkpoint;
  return section('Metrics', table('', head([['', ''], ['training', 'n'], ['validation', 'n'], ['lowest validation', 'n'], ['highest validation', 'n']]), rows),
    saved && el('p', {}, 'The best checkpoint is ', el('code', {}, visible(saved)), '.'));
}

// ---- Classes --------------------------------------------------------------------------------

const isVector = (v, n) => Array.isArray(v) && v.length === n && v.every(x => !Array.isArray(x));
const isConfusion = v => Array.isArray(v) && v.length > 1 && v.every(row => isVector(row, v.length) && row.every(x => Number.isInteger(x) && x >= 0));

// The tables of the last evaluation that are of the classes: a matrix of counts, whose rows are the
// classes that samples have, and vectors of a value for each class.
function classesOf(d) {
  const all = Object.entries(d.tables || {}).filter(([key]) => key.startsWith('validation.'));
  const confusion = all.find(([, v]) => isConfusion(v));
  const given = (d.data && d.data.class_names) || [], n = confusion ? confusion[1].length : given.length;
  const names = given.length === n ? given : Array.from({length: n}, (_, i) => i);
  return {names: names.map(String), confusion, vectors: n ? all.filter(([, v]) => isVector(v, n)) : []};
}

function classes(d) {
  const {names, confusion, vectors} = classesOf(d);
  if (!confusion && !vectors.length) return null;
  const support = confusion && confusion[1].map(row => row.reduce((a, b) => a + b, 0));
  const rows = names.map((name, i) => el('tr', {}, cell(name), vectors.map(([, v]) => cell(decimal(number(v[i])), 'n')), support && cell(count(support[i]), 'n')));
  return section('Classes of the validation set',
    table('', head([['', ''], ...vectors.map(([key]) => [bare(key), 'n']), ...(support ? [['support', 'n']] : [])]), rows));
}

// What is said of a cell: how many samples of a class are taken for another.
function confused(names, m, row, column) {
  const n = m[row][column], of = m[row].reduce((a, b) => a + b, 0), taken = m.reduce((sum, r) => sum + r[column], 0);
  return `${visible(names[row])} taken for ${visible(names[column])}: ${count(n)} of ${count(of)} (${percent(n / of)}); of all ${count(taken)} that were, ${percent(n / taken)}`;
}

function confusion(d) {
  const {names, confusion: found} = classesOf(d);
  if (!found) return null;
  const m = found[1], sums = m.map(row => row.reduce((a, b) => a + b, 0));
  const said = el('p', {class: 'said', 'aria-live': 'polite'}, 'Rows are the classes of the samples, columns what they were taken for. Point at a cell to see its rates.');
  const say = (row, column) => { said.textContent = confused(names, m, row, column); };
  const picture = m.length > 40 ? largeMatrix(m, sums, say) : table('confusion', el('tr', {}, el('th'), names.map(n => el('th', {scope: 'col'}, el('span', {}, visible(n))))),
    m.map((row, i) => el('tr', {}, el('th', {scope: 'row'}, visible(names[i])), row.map((n, k) => el('td', {class: n > 0.5 * sums[i] ? 'much' : null,
      style: n ? `--part:${(100 * n / sums[i]).toFixed(1)}%` : null, title: confused(names, m, i, k), onpointerenter: () => say(i, k)}, n ? count(n) : el('i', {}, '0'))))));
  return section('Confusion matrix', picture, said);
}

function largeMatrix(m, sums, say) {
  const canvas = pixels(m.length, m.length, (x, y) => shade(m[y][x] / sums[y]), `a matrix of ${m.length} classes`);
  canvas.className = 'matrix';
  canvas.addEventListener('pointermove', e => {
    const box = canvas.getBoundingClientRect(), place = part => Math.min(m.length - 1, Math.max(0, Math.floor(part * m.length)));
    say(place((e.clientY - box.top) / box.height), place((e.clientX - box.left) / box.width));
  });
  return canvas;
}

// ---- Samples --------------------------------------------------------------------------------

function samples(d) {
  if (!d.samples || !d.samples.length) return null;
  const all = d.samples.filter(s => [s.sample, s.reference, s.predicted].every(v => typeof v === 'string'));
  if (all.some(s => s.input)) return section('Samples', el('div', {class: 'cards'}, all.map(s => card(d, s))));
  const rows = all.map(s => el('tr', {}, cell(s.sample, 'key'), cell(s.reference), cell(s.predicted || '(nothing)', s.predicted === s.reference ? null : 'differs')));
  return section('Samples', table('samples', head([['', ''], ['reference', ''], ['predicted', '']]), rows));
}

// An input of n values that are kept as bytes from low to high.
function values(input) {
  const bytes = atob(input.values);
  return i => input.low + (input.high - input.low) * bytes.charCodeAt(i) / 255;
}

function drawRow(d, input) {
  const {features = [], mean = [], scale = []} = d.data || {}, n = input.values.length, fits = list => list.length === n;
  const undo = (v, i) => fits(mean) && fits(scale) && scale[i] ? v / scale[i] + mean[i] : v;
  return el('div', {class: 'scroll', tabindex: 0, role: 'region', 'aria-label': 'the row'}, el('table', {}, input.values.map((v, i) =>
    el('tr', {}, cell(fits(features) ? features[i] : `x${i}`, 'key'), cell(decimal(undo(number(v), i)), 'n')))));
}

function drawSeries(d, input, [length, channels]) {
  const at = values(input), names = (d.data && d.data.features) || [], x = Array.from({length}, (_, i) => i);
  const curves = Array.from({length: channels}, (_, c) => ({name: names[c] || `channel ${c}`, colour: c, x, y: x.map(i => at(i * channels + c))}));
  return new Chart({title: 'input', xLabel: 'moment', curves}).node;
}

// A matrix [rows, columns]; of recordings, [frames, mels], with time to the right and pitch upwards.
function drawMatrix(d, input, [rows, columns], label) {
  const at = values(input), recording = d.data && d.data.source === 'speech', part = v => (v - input.low) / (input.high - input.low || 1);
  const same = x => Array.from({length: columns}, (_, c) => at(x * columns + c) === at((rows - 1) * columns + c)).every(Boolean);
  let used = rows;  // of the frames after the end of a recording, which are alike, the first is drawn
  while (recording && used > 1 && same(used - 2)) used--;
  if (recording) return pixels(used, columns, (x, y) => shade(part(at(x * columns + columns - 1 - y))), 'spectrogram of ' + label);
  return pixels(columns, rows, (x, y) => shade(part(at(y * columns + x))), 'picture of ' + label);
}

// An image, or a few frames of a video beside each other, with a line between them.
function drawImage(input, [frames, height, width, channels], label) {
  const at = values(input), part = v => 255 * (v - input.low) / (input.high - input.low || 1);
  const colour = (x, y) => {
    const frame = Math.floor(x / (width + 1)), column = x % (width + 1);
    const first = ((frame * height + y) * width + column) * channels, value = k => part(at(first + k));
    if (column === width) return [0, 114, 178];
    return channels > 2 ? [value(0), value(1), value(2)] : [value(0), value(0), value(0)];
  };
  return pixels(frames * (width + 1) - 1, height, colour, 'picture of ' + label);
}

function drawInput(d, input, label) {
  if (!input) return null;
  if (typeof input.text === 'string') return el('pre', {}, visible(input.text));
  const shape = input.shape;
  if (shape.length === 1) return drawRow(d, input);
  if (shape.length === 2) return shape[1] <= 16 && shape[0] > shape[1] && !(d.data && d.data.source === 'speech') ? drawSeries(d, input, shape) : drawMatrix(d, input, shape, label);
  return drawImage(input, shape.length === 3 ? [1, ...shape] : shape, label);
}

// A sample: its input, what it is and what is predicted, and further lines.
function card(d, s, sure, ...more) {
  const picture = drawInput(d, s.input, visible(s.sample)), differs = s.predicted === s.reference ? null : 'differs';
  return el('figure', {class: 'card'}, picture && el('div', {class: 'input'}, picture), el('figcaption', {},
    el('div', {}, el('b', {}, visible(s.reference || '(nothing)'))), el('div', {}, 'predicted ', el('b', {class: differs}, visible(s.predicted || '(nothing)')), sure),
    more, el('small', {}, visible(s.sample))));
}

function mistakes(d) {
  if (!d.mistakes || !d.mistakes.length) return null;
  const scores = {loss: v => 'loss ' + decimal(v), edit_rate: v => percent(v) + ' of the characters wrong', error: v => 'off by ' + decimal(v)};
  const cards = d.mistakes.map(m => {
    const score = Object.keys(scores).find(name => name in m);
    return card(d, m, 'probability' in m ? `, ${percent(number(m.probability))} sure` : '', el('div', {}, score && scores[score](number(m[score]))));
  });
  return section('Worst mistakes', el('p', {class: 'sub'}, 'Samples of the validation set that the last evaluation had most wrong.'), el('div', {class: 'cards'}, cards));
}

// ---- Time, plan and machine -----------------------------------------------------------------

// A bar of parts, each with its name, value and text.
function bar(parts) {
  const sum = parts.reduce((a, p) => a + p.value, 0);
  return [el('div', {class: 'bar', role: 'img', 'aria-label': parts.map(p => `${visible(p.name)} ${p.text}`).join(', ')},
    parts.map((p, i) => el('i', {class: 'k' + i % COLOURS, style: `width:${(100 * p.value / sum).toFixed(2)}%`, title: `${visible(p.name)} ${p.text}`}))),
    el('p', {class: 'legend'}, parts.map((p, i) => el('span', {class: 'k' + i % COLOURS}, `${visible(p.name)} ${p.text}`)))];
}

// What the run's time went to.
function time(d) {
  const [all, steps, waited] = ['seconds', 'step_seconds', 'data_seconds'].map(name => number(d.results['total_' + name]));
  if (!(all > 0 && steps + waited <= all)) return null;
  const parts = [['steps', steps], ['waiting for data', waited], ['start, evaluations and checkpoints', all - steps - waited]]
    .filter(([, v]) => v > 0).map(([name, value]) => ({name, value, text: `${seconds(value)} (${percent(value / all)})`}));
  return section('Time', bar(parts));
}

function plan(d) {
  const p = d.plan, kinds = new Map(), items = name => Array.isArray(p[name]) ? p[name] : [];
  if (!p) return null;
  for (const s of items('states')) if (s && s.bytes > 0) kinds.set(s.kind, (kinds.get(s.kind) || 0) + s.bytes);
  if (p.arena_bytes > 0) kinds.set('activations and batches', p.arena_bytes);
  const mesh = Object.entries(p.mesh || {}).map(([axis, n]) => `${axis} = ${n}`).join(' x ');
  const moved = g => Object.entries((g && g.collectives) || {}).filter(([, c]) => c.count > 0).map(([axis, c]) => `${c.count} over ${axis}, ${si(c.sent_bytes, 'B')}`).join('; ');
  const rows = items('programs').filter(g => g && g.name).map(g => el('tr', {}, cell(g.name), cell(count(g.nodes), 'n'), cell(si(g.flops, 'FLOP'), 'n'), cell(si(g.arena_bytes, 'B'), 'n'), cell(moved(g))));
  return section('Plan', el('p', {}, visible(`${p.ranks} rank${p.ranks > 1 ? 's' : ''}${mesh ? ` (${mesh})` : ''}, ${si(p.state_bytes + p.arena_bytes, 'B')} of memory on each, proved before the start. Plan `), el('code', {}, visible(p.hash || ''))),
    kinds.size ? bar([...kinds].map(([name, value]) => ({name, value, text: si(value, 'B')}))) : null,
    table('', head([['program', ''], ['nodes', 'n'], ['work of a rank', 'n'], ['memory', 'n'], ['collectives', '']]), rows));
}

// The picture of the plan, as an image, in which nothing runs.
function picture(d) {
  if (!d.picture) return null;
  const address = 'data:image/svg+xml;charset=utf-8,' + encodeURIComponent(d.picture);
  return section('The step as a graph', el('div', {class: 'scroll', tabindex: 0, role: 'region', 'aria-label': 'picture of the plan'},
    el('img', {class: 'graph', src: address, alt: 'the plan of the training step: blocks of the model, gradients, collectives and the optimizer'})));
}

function shown(value) {
  if (Array.isArray(value)) return '[' + value.map(shown).join(', ') + ']';
  if (value && typeof value === 'object') return '{' + Object.entries(value).map(([k, v]) => `${k}: ${shown(v)}`).join(', ') + '}';
  return value === '' ? '""' : String(value);
}

function configuration(d) {
  const all = d.about && Array.isArray(d.about.config) ? d.about.config.filter(c => c && c.key && 'value' in c) : [];
  const isDefault = c => !c.from || c.from === 'default', isArgument = c => c.from.startsWith('argument ');
  const given = all.filter(c => !isDefault(c)), rest = all.filter(isDefault);
  if (!all.length) return null;
  return section('Configuration', table('config', given.map(c => el('tr', {class: isArgument(c) && 'given'}, cell(c.key, 'key'), cell(shown(c.value), 'value'), cell(isArgument(c) ? c.from.split(':')[0] : c.from, 'from')))),
    el('details', {}, el('summary', {}, `${rest.length} values that are defaults`), table('config', rest.map(c => el('tr', {}, cell(c.key, 'key'), cell(shown(c.value), 'value'))))));
}

function machine(d) {
  const a = d.about, m = (a && a.machine) || {}, r = d.results;
  if (!a) return null;
  const command = Array.isArray(a.command) ? a.command.join(' ') : '';
  const facts = [['graphrun', a.version], ['built with', a.libraries], ['device', r.device], ['ranks communicate by', r.backend], ['host', m.host], ['processor', m.processor],
    ['processors, memory', m.processors && `${m.processors}, ${si(m.memory_bytes, 'B')}`], ['system', m.system], ["configuration's hash", r.config_hash], ['identity', r.identity], ['resumed from', r.resumed_from]];
  const fact = (name, value) => el('div', {}, el('dt', {}, name), el('dd', {}, value));
  return section('Program and machine', el('dl', {}, fact('command', el('code', {}, visible(command))), facts.filter(f => f[1]).map(([name, value]) => fact(name, visible(value)))));
}

// The confusion matrix and the table of the classes, beside each other where there is room.
const ofClasses = d => el('div', {class: classesOf(d).names.length <= 10 ? 'pair' : null}, confusion(d), classes(d));

const log = d => d.log && section(null, el('details', {}, el('summary', {}, 'Log'), el('pre', {}, visible(d.log))));

const RUN = [d => header('graphrun report ', d.status, d.name, d.results.model), notice, tiles, charts, metrics, ofClasses, mistakes, samples, time, plan, picture, configuration, machine, log];
