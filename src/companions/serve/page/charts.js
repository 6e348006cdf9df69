// A chart: axes, scales, cursor and zoom by uPlot, curves by curves/paint.js.

import { extent, paddedExtent } from './columns.js';
import { paintLines } from './curves/paint.js';
import { el } from './dom.js';

const asked = new Map();  // address -> promise of its element
let colours = new Map();

function fetched(node, name, file) {
  const address = new URL(file, import.meta.url).href;
  if (!asked.has(address)) {
    asked.set(address, new Promise((resolve, reject) => {
      node.addEventListener('load', () => resolve(node));
      node.addEventListener('error', () => {
        asked.delete(address);
        node.remove();
        reject(new Error(file));
      });
      node[name] = address;
      document.head.append(node);
    }));
  }
  return asked.get(address);
}

export function stylesheet(file) {
  return fetched(el('link', { rel: 'stylesheet' }), 'href', file);
}

// The chart library; it is asked for when the first chart is wanted.
export async function chartLibrary() {
  await Promise.all([
    stylesheet('vendor/uPlot.min.css'),
    stylesheet('charts.css'),
    fetched(el('script', {}), 'src', 'vendor/uPlot.iife.min.js'),
  ]);
  return globalThis.uPlot;
}

// A variable of the style sheet, as the canvas needs it.
export function theme(variable) {
  if (!colours.has(variable))
    colours.set(variable, getComputedStyle(document.documentElement).getPropertyValue(variable).trim());
  return colours.get(variable);
}

const schemes = matchMedia('(prefers-color-scheme: dark)');

// Calls back when colours have changed. Returns what ends that.
export function onTheme(listener) {
  const changed = () => {
    colours = new Map();
    listener();
  };
  schemes.addEventListener('change', changed);
  return () => schemes.removeEventListener('change', changed);
}

// Ticks of a logarithmic axis: 1, 2 and 5 of each power of ten, or even ones where that would be fewer than three.
function logarithmicTicks(low, high) {
  const ticks = [];
  for (let power = Math.floor(Math.log10(low)); power <= Math.ceil(Math.log10(high)); ++power)
    for (const digit of high / low > 1e4 ? [1] : [1, 2, 5])
      if (digit * 10 ** power >= low && digit * 10 ** power <= high) ticks.push(digit * 10 ** power);
  if (ticks.length >= 3) return ticks;
  const step = niceStep((high - low) / 4);
  const even = [];
  for (let tick = Math.ceil(low / step) * step; tick <= high; tick += step) even.push(tick);
  return even;
}

function niceStep(least) {
  const power = 10 ** Math.floor(Math.log10(least));
  return [1, 2, 5, 10].map((digit) => digit * power).find((step) => step >= least);
}

// Of the room for the texts of an axis, in CSS pixels, before they are drawn.
function widthOf(texts) {
  const longest = Math.max(0, ...(texts ?? []).map((text) => text.length));
  return Math.max(56, 14 + longest * 7);
}

// Steps between ticks along x.
const powers = (first, last) => Array.from({ length: last - first }, (_, n) => [1, 2, 5].map((digit) => digit * 10 ** (first + n))).flat();
const countSteps = powers(0, 16);
const secondSteps = [...powers(-6, 0), 1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10800, 21600, 43200,
  ...powers(0, 4).map((days) => days * 86400)];

// act: zoom(range) after a drag, whole() after a double click, cursor(x or null) under the pointer, key(event).
// how: {label, describedBy, ticksX(values), ticksY(values), inSeconds(), logarithmic}
export class Chart {
  constructor(parent, library, how, act) {
    this.library = library;
    this.how = how;
    this.act = act;
    this.lines = [];
    this.smoothing = false;
    this.range = { from: 0, to: 1 };
    this.node = el('div', {
      class: 'chart', tabindex: '0', role: 'group', 'aria-label': how.label, 'aria-describedby': how.describedBy,
      onkeydown: (event) => act.key(event, this),
    });
    parent.append(this.node);
    this.make();
  }

  get width() {
    return Math.max(120, this.node.clientWidth);
  }

  // Of the area in which curves are, in CSS pixels.
  get plotWidth() {
    return this.plot.over.clientWidth || this.width;
  }

  make() {
    const { how } = this;
    const axis = {
      stroke: () => theme('--text'), font: `12px ${theme('--sans')}`,
      grid: { stroke: () => theme('--line'), width: 1 }, ticks: { stroke: () => theme('--line'), width: 1, size: 4 },
    };
    this.plot = new this.library({
      width: this.width, height: this.height(), padding: [10, 22, 0, 0],
      scales: {
        x: { time: false, range: () => [this.range.from, this.range.to] },
        y: { distr: how.logarithmic ? 3 : 1, range: () => this.heights() },
      },
      series: [{}, { paths: () => null, points: { show: false } }],
      legend: { show: false },
      cursor: {
        y: false, points: { show: false }, drag: { x: true, y: false, setScale: false, dist: 4 },
        bind: { dblclick: () => () => { this.act.whole(); return null; } },
      },
      axes: [
        { ...axis, size: 30, space: 70, incrs: () => (how.inSeconds() ? secondSteps : countSteps), values: (_, ticks) => how.ticksX(ticks) },
        { ...axis, size: (_, texts) => widthOf(texts), space: 32, values: (_, ticks) => how.ticksY(ticks),
          ...(how.logarithmic ? { splits: (_, __, low, high) => logarithmicTicks(low, high), filter: (_, ticks) => ticks } : {}) },
      ],
      hooks: {
        draw: [(plot) => paintLines(plot, this.lines.filter((line) => line.shown), theme, this.smoothing)],
        setSelect: [(plot) => this.selected(plot)],
      },
    }, this.data(), this.node);
    this.listen(this.plot.over);
  }

  listen(over) {
    const at = (event) => this.plot.posToVal(event.clientX - over.getBoundingClientRect().left, 'x');
    over.addEventListener('mousemove', (event) => this.act.cursor(at(event), this));
    over.addEventListener('mouseleave', () => this.act.cursor(null, this));
    // A finger shows values; it scrolls the page up and down.
    over.addEventListener('pointermove', (event) => {
      if (event.pointerType !== 'touch') return;
      this.act.cursor(at(event), null);
    });
  }

  selected(plot) {
    const { left, width } = plot.select;
    if (width < 4) return;
    const range = { from: plot.posToVal(left, 'x'), to: plot.posToVal(left + width, 'x') };
    plot.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
    this.act.zoom(range);
  }

  height() {
    return this.width < 400 ? 200 : 250;
  }

  heights() {
    const shown = this.lines.filter((line) => line.shown).map((line) => line.curve);
    const values = extent(shown, this.range, this.how.logarithmic);
    return values === null ? [this.how.logarithmic ? 0.1 : 0, 1] : paddedExtent(values, this.how.logarithmic);
  }

  // The library knows the corners alone: curves of several runs need no common x.
  data() {
    return [[this.range.from, this.range.to], this.heights()];
  }

  // lines: [{curve, smooth, look, bridges, hollow, lettered, shown}]; drawn at once.
  show(lines, range, smoothing) {
    this.lines = lines;
    this.smoothing = smoothing;
    this.range = range.to > range.from ? range : { from: range.from - 0.5, to: range.from + 0.5 };
    this.plot.batch(() => this.plot.setData(this.data()));
  }

  setLogarithmic(logarithmic) {
    if (this.how.logarithmic === logarithmic) return;
    this.how.logarithmic = logarithmic;
    this.remake();
  }

  // After a change of what the library reads once.
  remake() {
    this.plot.destroy();
    this.make();
  }

  // Null: no cursor.
  setCursor(x) {
    const seen = x !== null && x >= this.range.from && x <= this.range.to;
    this.plot.setCursor(seen ? { left: this.plot.valToPos(x, 'x'), top: 0 } : { left: -10, top: -10 }, false);
  }

  // Whether it had to.
  fit() {
    if (this.plot.width === this.width) return false;
    this.plot.setSize({ width: this.width, height: this.height() });
    return true;
  }

  destroy() {
    this.plot.destroy();
    this.node.remove();
  }
}
