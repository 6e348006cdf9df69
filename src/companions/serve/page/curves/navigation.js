// Moves what a board shows, by buttons and keys.

import { moved, zoomed } from '../columns.js';

// How: 'in', 'out', 'left', 'right', 'whole'. Zoom is about the cursor where that is in sight.
export function step(board, how) {
  const whole = board.view.whole();
  if (whole === null) return;
  const range = board.view.range ?? whole;
  const { cursor } = board.view;
  const centre = cursor !== null && cursor > range.from && cursor < range.to ? cursor : (range.from + range.to) / 2;
  if (how === 'whole') board.setRange(null);
  if (how === 'in') board.setRange(zoomed(range, 0.5, centre));
  if (how === 'out') board.setRange(zoomed(range, 2, centre));
  if (how === 'left') board.setRange(moved(range, -0.25));
  if (how === 'right') board.setRange(moved(range, 0.25));
}

// A key while a chart has the focus.
export function pressed(board, event, chart) {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  const zoom = { '+': 'in', '=': 'in', '-': 'out', '0': 'whole', Escape: 'whole' }[event.key];
  const side = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
  if (zoom === undefined && side === undefined) return;
  event.preventDefault();
  if (zoom !== undefined) step(board, zoom);
  else if (event.shiftKey) step(board, side < 0 ? 'left' : 'right');
  else moveCursor(board, side, chart);
}

// By about a hundredth of the range, and by a column where these are wider; the range comes along at its ends.
function moveCursor(board, side, chart) {
  const panel = board.panels.find((one) => one.chart === chart);
  const whole = board.view.whole();
  if (whole === null) return;
  const range = board.view.range ?? whole;
  const curve = panel.all().find(({ x }) => x.length > 0);
  const from = board.view.cursor ?? range.to;
  const least = (range.to - range.from) / 100;
  const columns = curve?.x.filter((x) => (x - from) * side >= least) ?? [];
  const next = side < 0 ? columns.at(-1) : columns[0];
  const x = Math.min(Math.max(next ?? from + side * least, whole.from), whole.to);
  if (x < range.from) board.setRange(moved(range, -0.25));
  if (x > range.to) board.setRange(moved(range, 0.25));
  board.setCursor(x, null);
  board.tell(panel);
}
