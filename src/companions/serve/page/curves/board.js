// Charts of one or several runs that share the range along x, the cursor and the smoothing, and follow the runs.

import { chartLibrary, onTheme } from '../charts.js';
import { wholeRange, withinWhole } from '../columns.js';
import { el, fill, freshId, setText } from '../dom.js';
import { failed } from '../parts.js';
import { t } from '../texts.js';
import { controls, runSwitches } from './controls.js';
import { pressed } from './navigation.js';
import { Panel } from './panel.js';
import { keep, kept } from './choices.js';
import * as units from './units.js';

const leastPause = 1000;  // milliseconds between questions for new steps

// What all charts of the page show. version: counts what makes other curves necessary.
function firstView(names, panels) {
  return {
    names, ...kept(), range: null, hidden: new Set(), cursor: null, version: 0, helpId: freshId('curves-help'),
    whole: () => wholeRange(panels.flatMap((panel) => panel.all())),
  };
}

export class Board {
  constructor(parent, names, live) {
    this.panels = [];
    this.view = firstView(names, this.panels);
    this.live = live;
    this.ends = [];
    this.zoomBegan = null;   // when the last zoom was asked for, until it is drawn
    this.behind = false;  // there are new steps that nobody asked for yet
    this.lastStep = new Map();
    this.trouble = el('div');
    this.spoken = el('p', { class: 'hidden-text', role: 'status' });
    this.room = el('div', { class: 'panels curve-panels' });
    this.node = el('div', { class: 'curves' }, controls(this), runSwitches(this), this.trouble, this.room,
      el('p', { id: this.view.helpId, class: 'muted' }, t('curves.help')), this.spoken);
    parent.append(this.node);
    this.start();
  }

  async start() {
    let library;
    try {
      library = await chartLibrary();
    } catch (error) {
      fill(this.trouble, failed(error));
      return;
    }
    if (this.gone) return;
    for (const about of units.charts) this.panels.push(new Panel(this.room, library, about, this.view, this.acts()));
    this.watchSight();
    this.watchSizes();
    this.ends.push(onTheme(() => this.panels.forEach((panel) => panel.chart.remake())));
    for (const name of this.view.names)
      this.ends.push(this.live.watch(name, { rows: (step) => this.grown(name, step) }));
    const seen = () => !document.hidden && this.behind && this.follow();
    document.addEventListener('visibilitychange', seen);
    this.ends.push(() => document.removeEventListener('visibilitychange', seen));
    this.refresh();
  }

  acts() {
    return {
      zoom: (range) => this.setRange(range),
      whole: () => this.setRange(null),
      cursor: (x, chart) => this.setCursor(x, chart),
      key: (event, chart) => pressed(this, event, chart),
      drawn: () => this.drawn(),
    };
  }

  // Charts that nobody sees ask when they come into sight.
  watchSight() {
    const observer = new IntersectionObserver((entries) => {
      for (const { target, isIntersecting } of entries) {
        const panel = this.panels.find(({ node }) => node === target);
        panel.inSight = isIntersecting;
        if (isIntersecting && panel.stale) this.refresh([panel]);
      }
    }, { rootMargin: '50px' });
    for (const panel of this.panels) {
      panel.inSight = panel.node.getBoundingClientRect().top < innerHeight + 50;
      observer.observe(panel.node);
    }
    this.ends.push(() => observer.disconnect());
  }

  watchSizes() {
    const observer = new ResizeObserver(() => {
      const widest = Math.max(...this.panels.map(({ chart }) => chart.plotWidth));
      this.panels.forEach(({ chart }) => chart.fit());
      if (Math.max(...this.panels.map(({ chart }) => chart.plotWidth)) > 1.2 * widest) this.refresh();
    });
    observer.observe(this.room);
    this.ends.push(() => observer.disconnect());
  }

  // Asks for the curves of those charts that are in sight; the others are asked for when they come into it.
  async refresh(panels = this.panels) {
    if (this.gone) return;
    if (panels === this.panels) this.behind = false;
    for (const panel of panels) panel.stale = !panel.inSight;
    try {
      await Promise.all(panels.filter(({ inSight }) => inSight).map((panel) => panel.refresh()));
      fill(this.trouble);
    } catch (error) {
      if (!this.gone) fill(this.trouble, failed(error));
    }
  }

  // Marks for those who measure: 'curves-first', when the page's first charts are drawn; 'curves-zoom', from the last zoom until
  // the curves of its range are drawn.
  drawn() {
    if (this.panels.some((panel) => panel.inSight && panel.version !== this.view.version)) return;
    if (!this.marked) performance.mark('curves-first');
    this.marked = true;
    if (this.zoomBegan !== null) performance.measure('curves-zoom', { start: this.zoomBegan, end: performance.now() });
    this.zoomBegan = null;
  }

  redraw() {
    for (const panel of this.panels) panel.draw();
  }

  grown(name, step) {
    const before = this.lastStep.get(name) ?? this.stepsOf(name);
    if (step !== null && step === before) return;
    const back = step === null || step < before;
    this.lastStep.set(name, step ?? -1);
    // Those out of sight would still tell where the run was before.
    if (back) for (const panel of this.panels) if (!panel.inSight) panel.curves = new Map();
    const whole = this.view.whole();
    // What lies before the end of a run does not change, unless it is resumed from an earlier step.
    if (!back && this.view.range !== null && whole !== null && this.view.range.to < whole.to) return;
    this.behind = true;
    this.follow();
  }

  // As many as its curves have; -1 while there are none.
  stepsOf(name) {
    return Math.max(-1, ...this.panels.flatMap((panel) => panel.all()).filter((curve) => curve.name === name).map(({ steps }) => steps));
  }

  // At most once in a while, and not while the page is hidden.
  follow() {
    if (this.pause !== undefined || document.hidden || this.gone) return;
    this.pause = setTimeout(() => {
      this.pause = undefined;
      if (this.behind) this.follow();
    }, leastPause);
    this.refresh();
  }

  setRange(range) {
    const whole = this.view.whole();
    if (whole === null) return;
    const before = this.view.range;
    const wanted = range === null ? null : withinWhole(range, whole, this.leastRange(whole));
    if (wanted?.from === before?.from && wanted?.to === before?.to) return;
    this.zoomBegan = performance.now();
    this.view.range = wanted;
    this.view.version += 1;
    this.redraw();
    const { from, to } = wanted ?? whole;
    const { cursor } = this.view;
    this.setCursor(cursor !== null && cursor >= from && cursor <= to ? cursor : null, null);
    this.refresh();
    this.rangeChanged?.(wanted);
  }

  // Two steps, about.
  leastRange(whole) {
    const steps = Math.max(...this.panels.flatMap((panel) => panel.all()).map((curve) => curve.steps));
    return (2 * (whole.to - whole.from)) / Math.max(2, steps);
  }

  // `source`: the chart that has it already.
  setCursor(x, source) {
    this.view.cursor = x;
    for (const panel of this.panels) {
      if (panel.chart !== source) panel.chart.setCursor(x);
      panel.tellValues(x);
    }
  }

  // What a chart tells at its cursor, for those who do not see it.
  tell(panel) {
    setText(this.spoken, panel.sentence());
  }

  // Of what controls.js shows; kept for the next page.
  choose(change) {
    const axis = this.view.axis;
    Object.assign(this.view, change);
    keep(this.view);
    if (this.view.axis === axis) {
      this.redraw();
      return;
    }
    this.view.range = null;
    this.view.version += 1;
    this.setCursor(null, null);
    for (const panel of this.panels) panel.curves = new Map();
    this.rangeChanged?.(null);
    this.refresh();
  }

  show(name, shown) {
    if (shown) this.view.hidden.delete(name);
    else this.view.hidden.add(name);
    this.redraw();
    for (const panel of this.panels) panel.numbers.refresh();
  }

  unmount() {
    this.gone = true;
    clearTimeout(this.pause);
    for (const end of this.ends) end();
    for (const panel of this.panels) panel.destroy();
    this.node.remove();
  }
}
