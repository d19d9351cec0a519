// page.js - runs the scripts of a report in Node.js, with as much of a document as they use, and prints
// what they have made of it: a line for each text, and what hovering, zooming and the logarithmic axis
// change in the first chart.   node page.js report.html
'use strict';
const fs = require('fs');

class Element {
  constructor(name) {
    Object.assign(this, {name, attributes: {}, children: [], listeners: {}, style: {}, clientWidth: 800, offsetWidth: 100, namespaceURI: 'svg'});
    this.classList = {toggle: (word, on) => { this.marks = (this.marks || new Set()); on ? this.marks.add(word) : this.marks.delete(word); }};
  }
  setAttribute(name, value) { this.attributes[name] = String(value); }
  addEventListener(name, f) { this.listeners[name] = f; }
  append(...nodes) { this.children.push(...nodes); }
  replaceChildren(...nodes) { this.children = nodes; }
  set textContent(text) { this.children = [text]; }
  get textContent() { return this.children.map(c => typeof c === 'string' ? c : c.textContent).join(''); }
  getBoundingClientRect() { return {left: 0, top: 0, width: 800, height: 300}; }
  hasPointerCapture() { return true; }
  getContext() { return {createImageData: (w, h) => ({data: new Uint8ClampedArray(4 * w * h)}), putImageData: image => { this.pixels = image.data; }}; }
  all() { return [this, ...this.children.filter(c => c instanceof Element).flatMap(c => c.all())]; }
  find(test) { return this.all().filter(test); }
}

const page = fs.readFileSync(process.argv[2], 'utf8');
const main = new Element('main');
const parts = {data: page.match(/id="data">(.*?)<\/script>/s)[1]};
global.document = {querySelector: name => name === 'main' ? main : new Element(name), createElement: name => new Element(name),
  createElementNS: (space, name) => new Element(name), getElementById: id => ({textContent: parts[id]})};
global.ResizeObserver = class { constructor(f) { this.f = f; } observe() { this.f(); } };
global.innerWidth = Number(process.env.PAGE_WIDTH || 1400);
new Function(page.match(/<script>\n(.*?)<\/script>/s)[1])();

const leaves = ['td', 'th', 'h1', 'h2', 'b', 'small', 'dd', 'dt', 'code', 'pre', 'summary', 'span', 'text', 'title', 'a', 'p'];
for (const e of main.all()) {
  if (e.attributes['aria-label']) console.log(`${e.name}: ${e.attributes['aria-label']}`);
  if (leaves.includes(e.name) && e.textContent) console.log(`${e.name}${e.attributes.class ? '.' + e.attributes.class : ''}: ${e.textContent}`);
  if (e.attributes.class === 'parallel') console.log(`parallel: ${e.attributes.viewBox}`);
  if (e.name === 'a') console.log(`href: ${e.attributes.href}`);
  if (e.name === 'path' && /NaN|undefined|Infinity/.test(e.attributes.d)) console.log('WRONG path: ' + e.attributes.d.slice(0, 80));
  if (e.pixels) console.log(`pixels: ${new Set(e.pixels).size > 2 ? 'several shades' : 'one shade'}`);
}

// The first chart: its readout at the right end, a zoom into the middle third, and back.
const figure = main.find(e => e.name === 'figure')[0];
if (figure) {
  const chart = figure.find(e => e.name === 'svg')[0], readout = figure.find(e => e.attributes.class === 'readout')[0];
  const texts = () => chart.find(e => e.name === 'text').map(e => e.textContent).join(' ');
  const event = (name, x) => chart.listeners[name]({clientX: x, button: 0, pointerId: 1, key: name, preventDefault() {}});
  console.log('axes: ' + texts());
  event('pointermove', 790);
  console.log('hover: ' + readout.children.map(c => c.textContent).join(' | '));
  chart.listeners.keydown({key: 'ArrowLeft', preventDefault() {}});
  console.log('left: ' + readout.children.map(c => c.textContent).join(' | '));
  event('pointerdown', 300), event('pointermove', 560), event('pointerup', 560);
  console.log('zoomed: ' + texts());
  event('dblclick', 400);
  console.log('reset: ' + texts());
  const log = figure.find(e => e.name === 'button' && e.textContent === 'log')[0];
  if (log) log.listeners.click();
  console.log('other scale: ' + texts());
}
