// Draws the grid of a step: lanes of ranks one below the other, time to the right.

import { theme } from '../charts.js';
import { count, seconds } from '../format.js';
import { kinds, pixelsOf } from './model.js';

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
  }

  // After a change of colours.
  forget() {
    this.patterns.clear();
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
      const text = seconds(Number((n * step).toPrecision(10)));
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

  // Rectangles kind by kind, so that the style changes a few times and not for each.
  bodies(lanes, view, first, end, width, ratio) {
    const left = gutter * ratio;
    const room = width - left;
    const small = kinds.map(() => []);
    const large = kinds.map(() => []);
    const words = [];
    const parts = partsOfLane(view.laneHeight);
    const place = (track, top, height) => {
      const rowCount = track.rowCount ?? 1;
      const rowHeight = Math.max(1, Math.floor(height / rowCount));
      const each = (i, begin, finish) => {
        const kind = track.kinds[i];
        const x = left + Math.round(begin);
        const wide = Math.max(1, Math.round(finish) - Math.round(begin));
        (wide > 3 * ratio ? large : small)[kind].push(x, top + track.rows[i] * rowHeight, wide > 4 ? wide - 1 : wide, Math.max(1, rowHeight - (rowCount > 1 ? 1 : 0)));
        if (kinds[kind].letter !== '' && wide > 15 * ratio && height > 11 * ratio) words.push([track, i, x, wide, top, height]);
      };
      for (const [kind, row, begin, finish] of pixelsOf(track, view.from, view.to, room, each))
        small[kind].push(left + begin, top + row * rowHeight, finish - begin, Math.max(1, rowHeight - (rowCount > 1 ? 1 : 0)));
    };
    for (let lane = first; lane < end; ++lane) {
      const top = Math.round((axisHeight + lane * view.laneHeight - view.top) * ratio);
      const work = Math.round(parts.work * ratio);
      place(lanes[lane].work, top, work);
      place(lanes[lane].transfers, top + work + Math.round(ratio), Math.round(parts.transfers * ratio) - Math.round(ratio));
    }
    kinds.forEach((kind, k) => {
      this.fill(small[k], theme(kind.colour));
      this.fill(large[k], this.pattern(k, ratio));
    });
    for (const word of words) this.word(...word, ratio);
  }

  fill(rectangles, style) {
    const { context } = this;
    context.fillStyle = style;
    for (let i = 0; i < rectangles.length; i += 4) context.fillRect(rectangles[i], rectangles[i + 1], rectangles[i + 2], rectangles[i + 3]);
  }

  // The letter of the kind, with the indices of the instruction where there is room.
  word(track, i, x, wide, top, height, ratio) {
    const size = Math.min(12 * ratio, height * 0.7);
    const indices = track.texts[i].split(' ')[1] ?? '';
    const long = `${kinds[track.kinds[i]].letter} ${indices}`;
    const text = wide > (long.length * 0.62 * size + 4 * ratio) && indices !== '' ? long : kinds[track.kinds[i]].letter;
    letter(this.context, text, x + wide / 2, top + height / 2, size, ratio);
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
    for (const [colour, line, out] of [['--panel', 4, 1], ['--text', 2, 1]]) {
      context.strokeStyle = theme(colour);
      context.lineWidth = line * ratio;
      context.strokeRect((x - out) * ratio, (top - out) * ratio, (wide + 2 * out) * ratio, ((track === 'work' ? parts.work : parts.transfers) + 2 * out) * ratio);
    }
  }
}
