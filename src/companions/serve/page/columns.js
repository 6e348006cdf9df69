// Arithmetic of curves: ranges along x, and the columns in which /api/curves answers. A curve is an element of its `runs`;
// a range is {from, to}.

const mostColumns = 4000;
// What is asked for beyond each end of a range, as a share of it: lines reach the edges, and smoothing has a beginning.
export const margin = 0.05;

// How many columns to ask for, for a plot of so many CSS pixels.
export function columnsFor(width, pixelRatio) {
  return Math.max(100, Math.min(mostColumns, Math.round(width * Math.min(pixelRatio, 2) * (1 + 2 * margin))));
}

// The range that holds all curves, or null where there are none.
export function wholeRange(curves) {
  let from = Infinity;
  let to = -Infinity;
  for (const curve of curves) {
    if (curve.from === null || curve.to === null) continue;
    from = Math.min(from, curve.from);
    to = Math.max(to, curve.to);
  }
  return from <= to ? { from, to } : null;
}

export function withMargin(range) {
  const more = (range.to - range.from) * margin;
  return { from: range.from - more, to: range.to + more };
}

// Within `whole`, at least `least` wide; null where it is all of it.
export function withinWhole(range, whole, least) {
  const width = Math.max(range.to - range.from, least);
  if (width >= whole.to - whole.from) return null;
  const centre = (range.from + range.to) / 2;
  const from = Math.min(Math.max(centre - width / 2, whole.from), whole.to - width);
  return { from, to: from + width };
}

// `factor` times as wide; `centre` stays where it is.
export function zoomed(range, factor, centre) {
  return { from: centre - (centre - range.from) * factor, to: centre + (range.to - centre) * factor };
}

// By a share of its width.
export function moved(range, share) {
  const by = (range.to - range.from) * share;
  return { from: range.from + by, to: range.to + by };
}

// Index of the element of the ascending `xs` that is closest to `x`; -1 where there are none.
export function nearest(xs, x) {
  if (xs.length === 0) return -1;
  const right = firstFrom(xs, x);
  if (right === 0) return 0;
  if (right === xs.length) return xs.length - 1;
  return x - xs[right - 1] <= xs[right] - x ? right - 1 : right;
}

// Index of the first element of the ascending `xs` that is not below `x`; its length where there is none.
export function firstFrom(xs, x) {
  let low = 0;
  let high = xs.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (xs[middle] < x) low = middle + 1;
    else high = middle;
  }
  return low;
}

// The closest column that has a value, or -1.
export function nearestWithValue(curve, x) {
  const start = nearest(curve.x, x);
  for (let away = 0; away < curve.x.length; ++away) {
    const left = start - away;
    const right = start + away;
    const hasLeft = left >= 0 && curve.mean[left] !== null;
    const hasRight = right < curve.x.length && curve.mean[right] !== null;
    if (hasLeft && hasRight) return x - curve.x[left] <= curve.x[right] - x ? left : right;
    if (hasLeft) return left;
    if (hasRight) return right;
    if (left < 0 && right >= curve.x.length) return -1;
  }
  return -1;
}

// Least and greatest value within a range, of values above zero alone where `positive`; null where there are none.
export function extent(curves, range, positive) {
  let low = Infinity;
  let high = -Infinity;
  for (const curve of curves) {
    const end = firstFrom(curve.x, range.to + (range.to - range.from) * 1e-9);
    for (let i = firstFrom(curve.x, range.from); i < end; ++i) {
      if (curve.mean[i] === null) continue;
      const bottom = positive && !(curve.low[i] > 0) ? curve.mean[i] : curve.low[i];
      if (positive && !(bottom > 0)) continue;
      low = Math.min(low, bottom);
      high = Math.max(high, curve.high[i]);
    }
  }
  return low <= high ? { low, high } : null;
}

// What the axis shows for that: a little more, and something where all values are equal.
export function paddedExtent(values, logarithmic) {
  const { low, high } = values;
  if (logarithmic) {
    const by = Math.max(1.05, (high / low) ** 0.05);
    return [low / by, high * by];
  }
  const by = (high - low) * 0.05 || Math.abs(high) * 0.05 || 1;
  return [low - by, high + by];
}

// Rows of all curves by x: [x, mean, low, high, mean, low, high, ...], null where a curve has nothing there.
export function joinedRows(curves) {
  const rows = new Map();
  curves.forEach((curve, index) => {
    curve.x.forEach((x, i) => {
      if (curve.mean[i] === null) return;
      if (!rows.has(x)) rows.set(x, [x, ...new Array(curves.length * 3).fill(null)]);
      rows.get(x).splice(1 + index * 3, 3, curve.mean[i], curve.low[i], curve.high[i]);
    });
  });
  return [...rows.values()].sort((a, b) => a[0] - b[0]);
}

// RFC 4180. A text that a spreadsheet would read as a formula gets an apostrophe.
export function csvOf(head, rows) {
  const cell = (value) => {
    if (value === null) return '';
    if (typeof value === 'number') return String(value);
    const text = /^[=+\-@\t\r]/.test(value) ? `'${value}` : value;
    return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
  };
  return [head, ...rows].map((row) => row.map(cell).join(',') + '\r\n').join('');
}
