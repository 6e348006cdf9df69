// Draws the grid of a step: lanes of ranks one below the other, time to the right.

import { theme } from '../charts.js';
import { count, number } from '../format.js';
import { t } from '../texts.js';
import { kinds, layOut } from './model.js';
import { Strips } from './strips.js';

export const gutter = 46;     // CSS pixels to the left, for the ranks
export const axisHeight = 24;  // and above, for the time

const patternSize = 8;

// The texture of a kind over its colour: light and dark lines tell kinds apart where colours do not.
function patternOf(context, kind, ratio) {
  const size = Math.round(patternSize * ratio);
  const tile = new OffscreenCanvas(size, size);
  const ground = tile.getContext('2d');
  ground.fillStyle = theme(kind.colour);
  ground.fillRect(0, 0, size, size);
  ground.fillStyle = ground.strokeStyle = theme('--panel');
  ground.lineWidth = ratio * 1.5;
  if (kind.pattern === 'hatch') {
    ground.lineWidth = ratio * 2.5;
    ground.beginPath();
    for (const shift of [-size, 0, size]) {
      ground.moveTo(shift - 1, size + 1);
      ground.lineTo(shift + size + 1, -1);
    }
    ground.stroke();
  }
  const half = size / 2;
  ground.globalAlpha = 0.55;
  if (kind.pattern === 'rows') ground.fillRect(0, half, size, ratio);
  if (kind.pattern === 'columns') ground.fillRect(half, 0, ratio, size);
  if (kind.pattern === 'dots') ground.fillRect(half - ratio, half - ratio, 2 * ratio, 2 * ratio);
  return context.createPattern(tile, 'repeat');
}

// A piece of a legend.
export function paintSample(canvas, kind) {
  const ratio = devicePixelRatio;
  canvas.width = Math.round(30 * ratio);
  canvas.height = Math.round(16 * ratio);
  const context = canvas.getContext('2d');
  context.fillStyle = patternOf(context, kind, ratio);
  const thin = kind.key === 'transfer';
  context.fillRect(0, thin ? canvas.height * 0.6 : 0, canvas.width, thin ? canvas.height * 0.3 : canvas.height);
  if (kind.letter !== '') letter(context, kind.letter, canvas.width / 2, canvas.height / 2, 11 * ratio, ratio);
}

// Readable on every colour: with a rim of the ground's.
function letter(context, text, x, y, size, ratio) {
  context.font = `bold ${size}px ${theme('--sans')}`;
  context.textAlign = 'center';
  context.textBaseline = 'middle';
  context.lineJoin = 'round';
  context.lineWidth = 3 * ratio;
  context.strokeStyle = theme('--panel');
  context.strokeText(text, x, y);
  context.fillStyle = theme('--text');
  context.fillText(text, x, y);
}

// In the unit that suits the greatest time shown, with all digits that tell ticks apart.
function timeText(time, greatest) {
  if (greatest < 1e-3) return t('time.us', { us: number(time * 1e6, 9) });
  if (greatest < 1) return t('time.ms', { ms: number(time * 1e3, 9) });
  return t('time.s', { s: number(time, 9) });
}

// Heights within a lane of `height`: work above, transfers as thin bars below.
export function partsOfLane(height) {
  const gap = height >= 12 ? 3 : 1;
  const work = Math.round((height - gap) * 0.68);
  return { work, transfers: height - gap - work };
}

// view: {from, to (seconds), top (CSS pixels that are above the picture), laneHeight}; size: {width, height} in CSS pixels;
// chosen: {lane, track ('work' or 'transfers'), i} or null.
export class Painter {
  constructor(canvas) {
    this.canvas = canvas;
    this.context = canvas.getContext('2d');
    this.patterns = new Map();
    this.letters = new Map();  // drawn once each, because outlined text is slow
    this.strips = new Strips();
  }

  // After a change of colours.
  forget() {
    this.patterns.clear();
    this.letters.clear();
    this.strips = new Strips();
  }

  pattern(kind, ratio) {
    const key = `${kind} ${ratio}`;
    if (!this.patterns.has(key)) this.patterns.set(key, patternOf(this.context, kinds[kind], ratio));
    return this.patterns.get(key);
  }

  paint(lanes, view, size, chosen) {
    const ratio = devicePixelRatio;
    const { canvas, context } = this;
    const width = Math.round(size.width * ratio);
    const height = Math.round(size.height * ratio);
    if (canvas.width !== width || canvas.height !== height) {
      canvas.width = width;
      canvas.height = height;
      canvas.style.height = `${size.height}px`;
    }
    context.fillStyle = theme('--panel');
    context.fillRect(0, 0, width, height);
    this.axis(view, width, ratio);
    context.save();
    context.beginPath();
    context.rect(0, axisHeight * ratio, width, height);
    context.clip();
    const first = Math.max(0, Math.floor(view.top / view.laneHeight));
    const end = Math.min(lanes.length, Math.ceil((view.top + size.height) / view.laneHeight));
    this.names(lanes, view, first, end, ratio);
    context.beginPath();
    context.rect(gutter * ratio, axisHeight * ratio, width, height);
    context.clip();
    this.bodies(lanes, view, first, end, width, ratio);
    if (chosen !== null) this.frame(lanes, view, chosen, width, ratio);
    context.restore();
  }

  axis(view, width, ratio) {
    const { context } = this;
    const room = width / ratio - gutter;
    const span = view.to - view.from;
    const least = span / Math.max(2, room / 90);
    const power = 10 ** Math.floor(Math.log10(least));
    const step = [1, 2, 5, 10].map((digit) => digit * power).find((size) => size >= least);
    context.font = `${11 * ratio}px ${theme('--sans')}`;
    context.textAlign = 'left';
    context.textBaseline = 'top';
    for (let n = Math.ceil(view.from / step); n * step <= view.to; ++n) {
      const x = Math.round((gutter + ((n * step - view.from) / span) * room) * ratio);
      context.fillStyle = theme('--line');
      context.fillRect(x, 0, Math.max(1, Math.round(ratio)), this.canvas.height);
      const text = n === 0 ? '0' : timeText(n * step, view.to);
      context.fillStyle = theme('--muted');
      if (x + 4 * ratio + context.measureText(text).width <= width) context.fillText(text, x + 4 * ratio, 4 * ratio);
    }
  }

  names(lanes, view, first, end, ratio) {
    const { context } = this;
    const size = Math.min(12, Math.max(9, view.laneHeight - 2));
    const every = Math.ceil(size / view.laneHeight);
    context.font = `${size * ratio}px ${theme('--sans')}`;
    context.textAlign = 'right';
    context.textBaseline = 'middle';
    context.fillStyle = theme('--muted');
    for (let lane = first; lane < end; ++lane) {
      if (lane % every !== 0) continue;
      const y = axisHeight + lane * view.laneHeight - view.top + view.laneHeight / 2;
      context.fillText(count(lanes[lane].rank), (gutter - 8) * ratio, y * ratio);
    }
  }

  // Narrow things as strips of pixels; wide ones as rectangles, kind by kind so that the style changes a few times.
  bodies(lanes, view, first, end, width, ratio) {
    if (first >= end) return;
    const left = Math.round(gutter * ratio);
    const room = width - left;
    const wide = kinds.map(() => []);
    const words = [];
    const parts = partsOfLane(view.laneHeight);
    const { strips } = this;
    let rows = 0;
    strips.begin(room, lanes.slice(first, end).reduce((sum, { work, transfers }) => sum + work.rowCount + transfers.rowCount, 0));
    const place = (track, top, height) => {
      const rowHeight = Math.max(1, Math.floor(height / track.rowCount));
      const gap = track.rowCount > 1 && rowHeight > 1 ? 1 : 0;
      const base = rows;
      for (let row = 0; row < track.rowCount; ++row) strips.place(base + row, top + row * rowHeight, rowHeight - gap);
      rows += track.rowCount;
      layOut(track, view.from, view.to, room, {
        small: (kind, row, pixel) => strips.set(kind, base + row, pixel, pixel + 1),
        each: (i, begin, finish) => {
          const kind = track.kinds[i];
          const from = Math.round(begin);
          const to = Math.max(from + 1, Math.round(finish));
          if (to - from <= 3 * ratio) {
            strips.set(kind, base + track.rows[i], from, to);
            return;
          }
          wide[kind].push(left + from, top + track.rows[i] * rowHeight, to - from - 1, rowHeight - gap);
          if (kinds[kind].letter !== '' && to - from > 15 * ratio && height > 11 * ratio) words.push([track, i, left + from, to - from, top, height]);
        },
      });
    };
    for (let lane = first; lane < end; ++lane) {
      const top = Math.round((axisHeight + lane * view.laneHeight - view.top) * ratio);
      const work = Math.round(parts.work * ratio);
      place(lanes[lane].work, top, work);
      place(lanes[lane].transfers, top + work + Math.round(ratio), Math.round(parts.transfers * ratio) - Math.round(ratio));
    }
    strips.draw(this.context, left);
    kinds.forEach((_, kind) => this.fill(wide[kind], this.pattern(kind, ratio)));
    for (const word of words) this.word(...word, ratio);
  }

  fill(rectangles, style) {
    const { context } = this;
    context.fillStyle = style;
    for (let i = 0; i < rectangles.length; i += 4) context.fillRect(rectangles[i], rectangles[i + 1], rectangles[i + 2], rectangles[i + 3]);
  }

  // The letter of the kind, with the indices of the instruction where there is room.
  word(track, i, x, wide, top, height, ratio) {
    const size = Math.min(12 * ratio, Math.round(height * 0.7));
    const { letter: short } = kinds[track.kinds[i]];
    const indices = track.texts[i].split(' ')[1] ?? '';
    const long = `${short} ${indices}`;
    const text = indices !== '' && wide > long.length * 0.62 * size + 4 * ratio ? long : short;
    const picture = this.letterPicture(text, size, ratio);
    this.context.drawImage(picture, Math.round(x + (wide - picture.width) / 2), Math.round(top + (height - picture.height) / 2));
  }

  letterPicture(text, size, ratio) {
    const key = `${text} ${size}`;
    if (this.letters.size > 4000) this.letters.clear();
    if (!this.letters.has(key)) {
      const picture = new OffscreenCanvas(Math.ceil(text.length * size * 0.8 + 6 * ratio), Math.ceil(size * 1.5));
      letter(picture.getContext('2d'), text, picture.width / 2, picture.height / 2, size, ratio);
      this.letters.set(key, picture);
    }
    return this.letters.get(key);
  }

  frame(lanes, view, { lane, track, i }, width, ratio) {
    const { context } = this;
    const events = lanes[lane][track];
    const room = width / ratio - gutter;
    const scale = room / (view.to - view.from);
    const parts = partsOfLane(view.laneHeight);
    const top = axisHeight + lane * view.laneHeight - view.top + (track === 'work' ? 0 : parts.work + 1);
    const x = gutter + (events.begins[i] - view.from) * scale;
    const wide = Math.max(3, (events.ends[i] - events.begins[i]) * scale);
    const high = track === 'work' ? parts.work : parts.transfers;
    for (const [colour, line] of [['--panel', 4], ['--text', 2]]) {
      context.strokeStyle = theme(colour);
      context.lineWidth = line * ratio;
      context.strokeRect((x - 1) * ratio, (top - 1) * ratio, (wide + 2) * ratio, (high + 2) * ratio);
    }
  }
}
