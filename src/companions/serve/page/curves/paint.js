// Draws curves into a chart: the light band from the least to the greatest value of each column, the means, the smoothed means,
// and a letter at the end of each line where there are several.

import { firstFrom } from '../columns.js';

// Patterns beside colours: [] is a solid line. In CSS pixels.
const dashes = [[], [7, 3], [2, 3], [11, 3, 2, 3], [4, 4], [14, 4, 4, 4], [1, 4], [7, 2, 1, 2, 1, 2]];
const colours = 8;

// The look of the n-th run; 64 of them differ.
export function lookOf(n) {
  return {
    colour: `--s${(n % colours) + 1}`,
    dash: dashes[(n + Math.floor(n / colours)) % dashes.length],
    letter: n < 26 ? String.fromCharCode(65 + n) : String(n + 1),
  };
}

// Pixels of the canvas of values along both axes; y is null for what a logarithmic axis cannot show.
function scaleOf(plot) {
  const { left, top, width, height } = plot.bbox;
  const { x, y } = plot.scales;
  const along = width / (x.max - x.min);
  const logarithmic = y.distr === 3;
  const f = logarithmic ? Math.log : (value) => value;
  const up = height / (f(y.max) - f(y.min));
  const bottom = top + height + f(y.min) * up;
  return {
    x: (value) => left + (value - x.min) * along,
    y: (value) => (logarithmic && !(value > 0) ? null : bottom - f(value) * up),
    floor: top + height,
  };
}

// Indices of what lies in the plot, with one more at each end so that lines reach the edges.
function shownPart(plot, curve) {
  const first = Math.max(0, firstFrom(curve.x, plot.scales.x.min) - 1);
  const end = Math.min(curve.x.length, firstFrom(curve.x, plot.scales.x.max) + 1);
  return [first, end];
}

// Runs of points without a gap: [[index, x, y], ...]. `bridges`: columns without a value do not part the line.
function pieces(scale, curve, values, [first, end], bridges) {
  const all = [];
  let piece = [];
  for (let i = first; i < end; ++i) {
    const y = values[i] === null ? null : scale.y(values[i]);
    if (y !== null) {
      piece.push([i, scale.x(curve.x[i]), y]);
    } else if (!bridges && piece.length > 0) {
      all.push(piece);
      piece = [];
    }
  }
  if (piece.length > 0) all.push(piece);
  return all;
}

function band(context, scale, curve, parts) {
  context.beginPath();
  for (const piece of parts) {
    const lows = piece.map(([i, x]) => [x, scale.y(curve.low[i]) ?? scale.floor]);
    piece.forEach(([i, x], n) => (n === 0 ? context.moveTo(x, scale.y(curve.high[i])) : context.lineTo(x, scale.y(curve.high[i]))));
    for (const [x, y] of lows.reverse()) context.lineTo(x, y);
    context.closePath();
  }
  context.fill();
  context.stroke();  // a band that is thinner than a pixel is still seen
}

function stroke(context, parts) {
  context.beginPath();
  for (const piece of parts) piece.forEach(([, x, y], n) => (n === 0 ? context.moveTo(x, y) : context.lineTo(x, y)));
  context.stroke();
}

// Dots where points are far enough apart to be told one by one, and where a point has no neighbour.
function dots(context, parts, radius, apart, hollow, ground) {
  const count = parts.reduce((sum, piece) => sum + piece.length, 0);
  const far = count < 2 || (parts.at(-1).at(-1)[1] - parts[0][0][1]) / count > apart;
  for (const piece of parts) {
    if (!far && piece.length > 1) continue;
    for (const [, x, y] of piece) {
      context.beginPath();
      context.arc(x, y, radius, 0, 2 * Math.PI);
      context.fillStyle = hollow ? ground : context.strokeStyle;
      context.fill();
      if (hollow) context.stroke();
    }
  }
}

// lines: [{curve, smooth, look, bridges, hollow, lettered}]; theme: of charts.js; `smoothing`: whether `smooth` differs from the means.
export function paintLines(plot, lines, theme, smoothing) {
  const { ctx: context, bbox } = plot;
  const ratio = devicePixelRatio;
  const scale = scaleOf(plot);
  const ends = [];
  context.save();
  context.beginPath();
  context.rect(bbox.left, bbox.top, bbox.width, bbox.height);
  context.clip();
  context.lineJoin = 'round';
  for (const line of lines) {
    const { curve, look } = line;
    const part = shownPart(plot, curve);
    const raw = pieces(scale, curve, curve.mean, part, line.bridges);
    if (raw.length === 0) continue;
    context.strokeStyle = context.fillStyle = theme(look.colour);
    context.setLineDash([]);
    if (!curve.exact) {
      context.globalAlpha = 0.2;
      context.lineWidth = ratio * 0.5;
      band(context, scale, curve, raw);
    }
    const smooth = smoothing ? pieces(scale, curve, line.smooth, part, line.bridges) : raw;
    if (smoothing) {
      context.globalAlpha = 0.45;
      context.lineWidth = ratio;
      stroke(context, raw);
    }
    context.globalAlpha = 1;
    context.lineWidth = ratio * (smoothing ? 2 : 1.5);
    context.setLineDash(look.dash.map((length) => length * ratio));
    stroke(context, smooth);
    context.setLineDash([]);
    context.lineWidth = ratio * 1.5;
    dots(context, raw, ratio * (line.hollow ? 3 : 2), 10 * ratio, line.hollow, theme('--panel'));
    const [, x, y] = smooth.at(-1)?.at(-1) ?? raw.at(-1).at(-1);
    if (line.lettered) ends.push({ x: Math.min(x, bbox.left + bbox.width), y, look });
  }
  context.restore();
  letters(plot, ends, theme);
}

// Behind the ends of lines, one below the other where they would meet.
function letters(plot, ends, theme) {
  const { ctx: context, bbox } = plot;
  const ratio = devicePixelRatio;
  const size = 12 * ratio;
  context.save();
  context.font = `bold ${size}px ${theme('--sans')}`;
  context.textBaseline = 'middle';
  context.textAlign = 'left';
  context.lineJoin = 'round';
  context.lineWidth = 3 * ratio;
  context.strokeStyle = theme('--panel');
  const placed = [];
  for (const { x, y, look } of ends.sort((a, b) => a.y - b.y)) {
    let at = Math.max(y, bbox.top);
    for (const other of placed) if (Math.abs(other.x - x) < 2 * size && at - other.at < size) at = other.at + size;
    if (at > bbox.top + bbox.height + size / 2) continue;  // there is no room below
    placed.push({ x, at });
    context.strokeText(look.letter, x + 4 * ratio, at);
    context.fillStyle = theme(look.colour);
    context.fillText(look.letter, x + 4 * ratio, at);
  }
  context.restore();
}
