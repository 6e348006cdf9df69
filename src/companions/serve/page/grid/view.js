// The grid on its canvas: zoom, pan, and the choice of an event, by pointer, wheel and keys.

import { el } from '../dom.js';
import { closestEvent, eventAt } from './model.js';
import { axisHeight, gutter, Painter, partsOfLane } from './painter.js';

const usualHeight = 640;  // CSS pixels that lanes share, from the least height of a lane to the greatest
const mostHeight = 1600;  // beyond it the lanes scroll
const leastLane = 12;
const mostLane = 36;
const leastSpan = 1e-7;   // seconds

// act: told({lane, track, i} or null). how: {label, describedBy}
export class GridView {
  constructor(parent, how, act) {
    this.act = act;
    this.lanes = [];
    this.seconds = 1;
    this.chosen = null;
    this.view = { from: 0, to: 1, top: 0, laneHeight: mostLane };
    this.canvas = el('canvas', {
      class: 'step-canvas', tabindex: 0, role: 'application', 'aria-label': how.label, 'aria-describedby': how.describedBy,
      onkeydown: (event) => this.key(event), onpointerdown: (event) => this.press(event), onpointermove: (event) => this.move(event),
      onpointerup: () => (this.drag = null), onpointercancel: () => (this.drag = null),
      onpointerleave: () => this.leave(), ondblclick: () => this.step('whole'),
    });
    this.canvas.addEventListener('wheel', (event) => this.wheel(event), { passive: false });
    this.painter = new Painter(this.canvas);
    parent.append(this.canvas);
    this.observer = new ResizeObserver(() => this.draw());
    this.observer.observe(parent);
  }

  show(lanes, seconds) {
    this.lanes = lanes;
    this.seconds = Math.max(seconds, leastSpan);
    this.chosen = null;
    this.view.laneHeight = Math.min(mostLane, Math.max(leastLane, Math.floor((usualHeight - axisHeight) / Math.max(1, lanes.length))));
    Object.assign(this.view, { from: 0, to: this.seconds, top: 0 });
    this.draw();
  }

  get width() {
    return Math.max(200, this.canvas.parentElement?.clientWidth ?? 0);
  }

  get height() {
    return Math.min(mostHeight, axisHeight + this.lanes.length * this.view.laneHeight);
  }

  get room() {
    return this.width - gutter;
  }

  // Once for all that asks until the next frame.
  draw() {
    if (this.waiting) return;
    this.waiting = requestAnimationFrame(() => {
      this.waiting = 0;
      const start = performance.now();
      this.painter.paint(this.lanes, this.view, { width: this.width, height: this.height }, this.chosen);
      performance.measure('grid-draw', { start, end: performance.now() });
    });
  }

  recolour() {
    this.painter.forget();
    this.draw();
  }

  timeAt(x) {
    return this.view.from + ((x - gutter) / this.room) * (this.view.to - this.view.from);
  }

  // The event below a point of the canvas, in CSS pixels, or null.
  at(x, y) {
    const { view } = this;
    const lane = Math.floor((y - axisHeight + view.top) / view.laneHeight);
    if (x < gutter || y < axisHeight || lane < 0 || lane >= this.lanes.length) return null;
    const inside = y - axisHeight + view.top - lane * view.laneHeight;
    const parts = partsOfLane(view.laneHeight);
    const track = inside <= parts.work ? 'work' : 'transfers';
    const events = this.lanes[lane][track];
    const row = track === 'work' ? 0 : Math.min(events.rowCount - 1, Math.floor(((inside - parts.work - 1) / parts.transfers) * events.rowCount));
    const i = eventAt(events, this.timeAt(x), row);
    return i < 0 ? null : { lane, track, i };
  }

  choose(event) {
    const { chosen } = this;
    if (chosen?.lane === event?.lane && chosen?.track === event?.track && chosen?.i === event?.i) return;
    this.chosen = event;
    this.act.told(event);
    this.draw();
  }

  setTime(from, to) {
    const span = Math.min(Math.max(to - from, leastSpan), this.seconds);
    const begin = Math.min(Math.max(from, 0), this.seconds - span);
    Object.assign(this.view, { from: begin, to: begin + span });
    this.draw();
  }

  setTop(top) {
    const all = this.lanes.length * this.view.laneHeight;
    this.view.top = Math.min(Math.max(0, top), Math.max(0, all - (this.height - axisHeight)));
    this.draw();
  }

  zoom(factor, centre) {
    const { from, to } = this.view;
    this.setTime(centre - (centre - from) * factor, centre + (to - centre) * factor);
  }

  // How: 'in', 'out', 'left', 'right', 'whole'.
  step(how) {
    const { from, to } = this.view;
    const centre = this.chosenTime() ?? (from + to) / 2;
    const by = (to - from) / 4;
    if (how === 'in') this.zoom(0.5, centre);
    if (how === 'out') this.zoom(2, centre);
    if (how === 'left') this.setTime(from - by, to - by);
    if (how === 'right') this.setTime(from + by, to + by);
    if (how === 'whole') this.setTime(0, this.seconds);
  }

  // Of the chosen event, if it is in sight.
  chosenTime() {
    if (this.chosen === null) return null;
    const { lane, track, i } = this.chosen;
    const events = this.lanes[lane][track];
    const time = (events.begins[i] + events.ends[i]) / 2;
    return time >= this.view.from && time <= this.view.to ? time : null;
  }

  press(event) {
    if (event.button !== 0) return;
    this.drag = { x: event.clientX, y: event.clientY, view: { ...this.view } };
    this.canvas.setPointerCapture(event.pointerId);
    if (event.pointerType === 'touch') this.choose(this.at(event.offsetX, event.offsetY));
  }

  move(event) {
    const { drag } = this;
    if (!drag) {
      this.choose(this.at(event.offsetX, event.offsetY));
      return;
    }
    const by = ((event.clientX - drag.x) / this.room) * (drag.view.to - drag.view.from);
    this.setTime(drag.view.from - by, drag.view.to - by);
    this.setTop(drag.view.top - (event.clientY - drag.y));
  }

  leave() {
    if (!this.drag && document.activeElement !== this.canvas) this.choose(null);
  }

  // The page scrolls with the wheel, unless the reader has come here.
  wheel(event) {
    if (!event.ctrlKey && document.activeElement !== this.canvas) return;
    event.preventDefault();
    const lines = event.deltaMode === WheelEvent.DOM_DELTA_LINE ? 30 : 1;
    const by = (event.deltaY || event.deltaX) * lines;
    if (event.shiftKey) {
      const time = (by / this.room) * (this.view.to - this.view.from);
      this.setTime(this.view.from + time, this.view.to + time);
    } else {
      this.zoom(1.002 ** Math.max(-300, Math.min(300, by)), this.timeAt(event.offsetX));
    }
  }

  key(event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const moves = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };
    const zooms = { '+': 'in', '=': 'in', '-': 'out', '0': 'whole', Escape: 'whole' };
    if (event.key in zooms) this.step(zooms[event.key]);
    else if (!(event.key in moves)) return;
    else if (event.shiftKey) this.shift(...moves[event.key]);
    else this.walk(...moves[event.key]);
    event.preventDefault();
  }

  shift(right, down) {
    if (right !== 0) this.step(right < 0 ? 'left' : 'right');
    else this.setTop(this.view.top + down * this.view.laneHeight * 4);
  }

  // To the event before or after the chosen one, work and transfers by their begin; or to the lane above or below.
  walk(right, down) {
    if (this.lanes.length === 0) return;
    const { chosen } = this;
    const time = chosen === null ? this.view.from : this.lanes[chosen.lane][chosen.track].begins[chosen.i];
    const lane = Math.min(Math.max(0, (chosen?.lane ?? 0) + down), this.lanes.length - 1);
    if (down !== 0 || chosen === null) {
      const i = closestEvent(this.lanes[lane].work, time);
      this.choose(i < 0 ? null : { lane, track: 'work', i });
    } else {
      this.choose(this.neighbour(chosen, right) ?? chosen);
    }
    this.reveal();
  }

  neighbour({ lane, track, i }, side) {
    const other = track === 'work' ? 'transfers' : 'work';
    const time = this.lanes[lane][track].begins[i];
    const next = i + side;
    const own = next >= 0 && next < this.lanes[lane][track].count ? { lane, track, i: next } : null;
    const { begins, count } = this.lanes[lane][other];
    // Of those that begin together, work comes before transfers.
    const isBefore = (begin) => begin < time || (begin === time && track === 'transfers');
    let low = 0;
    while (low < count && isBefore(begins[low])) low += 1;
    const at = side > 0 ? low : low - 1;
    const foreign = at >= 0 && at < count ? { lane, track: other, i: at } : null;
    if (own === null || foreign === null) return own ?? foreign;
    const ownBegin = this.lanes[lane][track].begins[next];
    const order = begins[at] - ownBegin || (track === 'work' ? 1 : -1);
    return order * side < 0 ? foreign : own;
  }

  // Moves what is shown so that the chosen event is in it.
  reveal() {
    if (this.chosen === null) return;
    const { lane, track, i } = this.chosen;
    const { from, to, top, laneHeight } = this.view;
    const begin = this.lanes[lane][track].begins[i];
    const span = to - from;
    if (begin < from || begin > to) this.setTime(begin - span * (begin < from ? 0.8 : 0.2), begin - span * (begin < from ? 0.8 : 0.2) + span);
    const y = lane * laneHeight;
    const room = this.height - axisHeight;
    if (y < top) this.setTop(y);
    else if (y + laneHeight > top + room) this.setTop(y + laneHeight - room);
  }

  destroy() {
    this.observer.disconnect();
    cancelAnimationFrame(this.waiting);
  }
}
