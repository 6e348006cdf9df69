// One chart of the page with its values and numbers: asks for its curves and shows them.

import { api } from '../api.js';
import { Chart } from '../charts.js';
import { columnsFor, nearestWithValue, withMargin } from '../columns.js';
import { clear, el, fill, setText, svg } from '../dom.js';
import { smoothed } from '../smoothing.js';
import { t } from '../texts.js';
import * as units from './units.js';
import { Numbers } from './numbers.js';
import { lookOf } from './paint.js';

// A piece of the line as the chart draws it.
export function swatch(look, hollow = false) {
  return svg('svg', { class: 'line-swatch', width: 28, height: 10, viewBox: '0 0 28 10', 'aria-hidden': 'true' },
    svg('line', { x1: 0, y1: 5, x2: 28, y2: 5, stroke: `var(${look.colour})`, 'stroke-width': 2.5, 'stroke-dasharray': look.dash.join(' ') || null }),
    hollow ? svg('circle', { cx: 14, cy: 5, r: 3.5, fill: 'var(--panel)', stroke: `var(${look.colour})`, 'stroke-width': 1.5 }) : null);
}

// view: the state that all charts of the page share (board.js). act: that of Chart, and drawn() after new curves are drawn.
export class Panel {
  constructor(parent, library, about, view, act) {
    this.about = about;
    this.view = view;
    this.act = act;
    this.curves = new Map();  // series -> curves of the runs, in their order
    this.version = -1;        // of the view that is drawn
    this.inSight = true;
    this.asking = null;
    this.where = el('span', { class: 'muted' });
    this.values = el('ul', { class: 'plain curve-values' });
    this.empty = el('p', { class: 'empty', hidden: true }, t('curves.none'));
    this.room = el('div', { class: 'chart-room' });
    this.node = el('section', { class: 'panel curve-panel', dataset: { chart: about.key } },
      el('div', { class: 'chart-head' }, el('h2', {}, t(`curves.series.${about.key}`)), this.where), this.room, this.empty, this.values);
    parent.append(this.node);
    this.chart = new Chart(this.room, library, {
      label: t('curves.chart', { name: t(`curves.series.${about.key}`) }), describedBy: view.helpId,
      ticksX: (ticks) => units.ticksX(view.axis, ticks), ticksY: units.ticksY,
      inSeconds: () => view.axis === 'time', logarithmic: view.logarithmic,
    }, act);
    this.numbers = new Numbers(this.node, () => ({
      name: t(`curves.series.${about.key}`), file: `${view.names.length === 1 ? view.names[0].replaceAll('/', '-') : 'runs'}-${about.key}`,
      axis: view.axis, lines: this.lines().filter((line) => line.shown),
    }));
  }

  // Asks for what the view shows, unless it asks already: then once more behind that. Ends when the newest view is drawn.
  refresh() {
    this.again = true;
    this.asking ??= this.askUntilNew().finally(() => (this.asking = null));
    return this.asking;
  }

  async askUntilNew() {
    while (this.again && !this.gone) {
      this.again = false;
      const version = this.view.version;
      await this.ask();
      if (version === this.view.version) this.version = version;
      if (!this.gone) this.act.drawn();
    }
  }

  async ask() {
    const { view } = this;
    const { axis } = view;
    const range = view.range === null ? {} : withMargin(view.range);
    const points = columnsFor(this.chart.plotWidth, devicePixelRatio);
    const answers = await Promise.all(this.about.series.map((series) =>
      api.get('curves', { run: view.names, series, x: axis, from: range.from, to: range.to, points })));
    if (this.gone || axis !== view.axis) return;
    this.about.series.forEach((series, i) => this.curves.set(series, view.names.map((name) => answers[i].runs.find((run) => run.name === name))));
    this.draw();
    this.numbers.refresh();
  }

  all() {
    return [...this.curves.values()].flat().filter((curve) => curve !== undefined);
  }

  lines() {
    const { view, about } = this;
    const single = view.names.length === 1;
    return about.series.flatMap((series, s) => (this.curves.get(series) ?? []).map((curve, n) => ({ series, curve, n, s })))
      .filter(({ curve, s }) => curve !== undefined && (s === 0 || curve.mean.some((value) => value !== null)))
      .map(({ series, curve, n, s }) => ({
        series, curve, name: view.names[n],
        look: lookOf(single ? s : n),
        label: single ? t(`curves.series.${series}`) : s === 0 ? view.names[n] : `${view.names[n]}, ${t(`curves.series.${series}`)}`,
        smooth: units.isSmoothed(series) ? smoothed(curve.mean, view.smoothing) : curve.mean,
        bridges: units.isSparse(series), hollow: units.isSparse(series), lettered: !single && s === 0,
        shown: !view.hidden.has(view.names[n]),
      }));
  }

  // With the curves that are here.
  draw() {
    const { view } = this;
    const lines = this.lines();
    this.shown = lines.filter((line) => line.shown);
    this.chart.setLogarithmic(view.logarithmic);
    this.chart.show(lines, view.range ?? view.whole() ?? { from: 0, to: 1 }, view.smoothing > 0);
    this.empty.hidden = this.curves.size === 0 || this.all().some((curve) => curve.mean.some((value) => value !== null));
    this.room.dataset.empty = String(!this.empty.hidden);
    this.values.hidden = !this.empty.hidden;
    this.tellValues();
  }

  // Under the cursor; without one, the last of each line that is in sight.
  tellValues(x = this.view.cursor) {
    const range = this.view.range ?? this.view.whole();
    if (range === null || this.shown === undefined) return;
    const at = x ?? range.to;
    // Of a run that ended before, or begins behind, the cursor has nothing to tell.
    const near = (range.to - range.from) / 100;
    const isOf = ({ from, to }) => x === null || (at >= from - near && at <= to + near);
    const told = this.shown.map((line) => ({ ...line, i: isOf(line.curve) ? nearestWithValue(line.curve, at) : -1 }));
    const main = told.find(({ i, s }) => i >= 0 && s !== 1);
    setText(this.where, main === undefined ? '' : units.position(this.view.axis, main.curve.x[main.i]));
    const key = told.map(({ label }) => label).join('\n');
    if (key !== this.told) {
      this.told = key;
      this.cells = told.map(() => el('span', { class: 'value' }));
      fill(this.values, told.map(({ look, label, hollow }, n) => el('li', {}, swatch(look, hollow),
        this.view.names.length > 1 ? el('b', {}, look.letter) : null, el('span', { class: 'name' }, label), this.cells[n])));
    }
    told.forEach((line, n) => setText(this.cells[n], line.i < 0 ? '–' : this.valueText(line)));
  }

  valueText({ series, curve, i, smooth }) {
    const mean = units.value(series, curve.mean[i]);
    if (units.isSparse(series)) return `${mean} · ${units.position(this.view.axis, curve.x[i])}`;
    const [low, high] = [units.value(series, curve.low[i]), units.value(series, curve.high[i])];
    const spread = low === high ? '' : ` (${low} … ${high})`;
    if (this.view.smoothing === 0 || !units.isSmoothed(series)) return mean + spread;
    return `${mean}${spread} · ${t('curves.smooth_value', { value: units.value(series, smooth[i]) })}`;
  }

  // What the values say, as one sentence for screen readers.
  sentence() {
const values = [...this.values.children].map((item) => `${item.querySelector('.name').textContent} ${item.querySelector('.value').textContent}`);
    return [this.where.textContent, ...values].join('; ');
  }

  destroy() {
    this.gone = true;
    this.chart.destroy();
    clear(this.node);
  }
}
