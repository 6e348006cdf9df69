// What a step's grid is made of: lanes of ranks, and what each event of them is.

// In the order of legend and table. `letter` stands in rectangles that have room for it.
export const kinds = [
  { key: 'forward', letter: 'F', colour: '--forward', pattern: 'plain' },
  { key: 'backward', letter: 'B', colour: '--backward', pattern: 'rows' },
  { key: 'optimizer', letter: 'O', colour: '--optimizer', pattern: 'dots' },
  { key: 'exchange', letter: 'X', colour: '--save', pattern: 'columns' },
  { key: 'load', letter: 'L', colour: '--other', pattern: 'plain' },
  { key: 'wait', letter: '', colour: '--wait', pattern: 'hatch' },
  { key: 'transfer', letter: '', colour: '--transfer', pattern: 'plain' },
];
export const waitKind = 5;
export const transferKind = 6;

const kindOfWord = new Map([
  ['fwd', 0], ['refwd', 0], ['bwd', 1], ['bwd_input', 1], ['bwd_weight', 1], ['step', 2], ['load', 4],
]);
const exchange = 3;
const transferRows = 3;  // transfers that overlap stand below each other, so many

export function kindOf(activity, instruction) {
  if (activity === 1) return waitKind;
  if (activity === 2) return transferKind;
  const space = instruction.indexOf(' ');
  return kindOfWord.get(space < 0 ? instruction : instruction.slice(0, space)) ?? exchange;
}

// Lanes as they are drawn: {rank, host, work: track, transfers: track}. A track is events in order of their begin:
// {begins, ends, kinds, rows, texts, bytes, count, rowCount}.
export function lanesOf(answer) {
  return answer.lanes.map(({ rank, host, events }) => {
    const ordered = [...events].sort((a, b) => a[0] - b[0]);
    const work = trackOf(ordered.filter(([, , activity]) => activity !== 2));
    const transfers = trackOf(ordered.filter(([, , activity]) => activity === 2));
    stack(transfers);
    return { rank, host, work, transfers };
  });
}

function trackOf(events) {
  const count = events.length;
  const track = {
    count, begins: new Float64Array(count), ends: new Float64Array(count), kinds: new Uint8Array(count), rows: new Uint8Array(count),
    texts: events.map((event) => event[3]), bytes: events.map((event) => event[4] ?? 0), rowCount: 1,
  };
  events.forEach(([begin, end, activity, text], i) => {
    track.begins[i] = begin;
    track.ends[i] = end;
    track.kinds[i] = kindOf(activity, text);
  });
  return track;
}

function stack(track) {
  const free = new Array(transferRows).fill(-Infinity);
  for (let i = 0; i < track.count; ++i) {
    const row = free.findIndex((end) => end <= track.begins[i]);
    track.rows[i] = row < 0 ? transferRows - 1 : row;
    free[track.rows[i]] = Math.max(free[track.rows[i]], track.ends[i]);
  }
  track.rowCount = 1 + track.rows.reduce((most, row) => Math.max(most, row), 0);
}

// The last event that begins at or before `time` and whose row is `row` (any: null); -1 where there is none. Of `track` events.
export function eventAt(track, time, row = null) {
  let low = 0;
  let high = track.count;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (track.begins[middle] <= time) low = middle + 1;
    else high = middle;
  }
  for (let i = low - 1; i >= 0 && i > low - 200; --i)
    if ((row === null || track.rows[i] === row) && track.ends[i] >= time) return i;
  return -1;
}

// The event of a track that is closest to `time`.
export function closestEvent(track, time) {
  const inside = eventAt(track, time);
  if (inside >= 0) return inside;
  let best = -1;
  let away = Infinity;
  for (let i = 0; i < track.count; ++i) {
    const distance = Math.max(track.begins[i] - time, time - track.ends[i], 0);
    if (distance < away) {
      away = distance;
      best = i;
    }
  }
  return best;
}

// Seconds of each kind in a lane's work, by place in `kinds`, and of nothing at all; of `seconds`.
export function sharesOf(lane, seconds) {
  const sums = new Array(kinds.length).fill(0);
  for (let i = 0; i < lane.work.count; ++i) sums[lane.work.kinds[i]] += lane.work.ends[i] - lane.work.begins[i];
  for (let i = 0; i < lane.transfers.count; ++i) sums[transferKind] += lane.transfers.ends[i] - lane.transfers.begins[i];
  const worked = sums.reduce((sum, part, kind) => (kind === transferKind ? sum : sum + part), 0);
  return { sums, idle: Math.max(0, seconds - worked) };
}

// Lays a track between two times over `width` pixels. What takes less than a pixel counts for its pixel, which gets the kind that
// takes most of it: small(kind, row, pixel). What is larger: each(event, left, right), in pixels, cut a little outside of the picture.
export function layOut(track, from, to, width, { small, each }) {
  const scale = width / (to - from);
  const rowCount = track.rowCount;
  const pixel = new Int32Array(rowCount).fill(-1);
  const shares = Array.from({ length: rowCount }, () => new Float64Array(kinds.length));
  const close = (row) => {
    if (pixel[row] < 0) return;
    const sums = shares[row];
    let kind = 0;
    for (let k = 1; k < sums.length; ++k) if (sums[k] > sums[kind]) kind = k;
    small(kind, row, pixel[row]);
    sums.fill(0);
    pixel[row] = -1;
  };
  for (let i = 0; i < track.count && track.begins[i] < to; ++i) {
    if (track.ends[i] <= from && track.begins[i] < from) continue;
    const left = (track.begins[i] - from) * scale;
    const right = (track.ends[i] - from) * scale;
    const row = track.rows[i];
    if (right - left >= 1) {
      each(i, Math.max(left, -4), Math.min(right, width + 4));
      continue;
    }
    const at = Math.min(width - 1, Math.max(0, Math.floor(left)));
    if (at !== pixel[row]) close(row);
    pixel[row] = at;
    shares[row][track.kinds[i]] += Math.max(right - left, 1e-9);
  }
  for (let row = 0; row < rowCount; ++row) close(row);
}
