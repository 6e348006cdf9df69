// What a sweep measured beside what was predicted, as bars: a row for each layout, the fastest first.

import { el, svg } from '../dom.js';
import { bytes, percent, short } from '../format.js';
import { layoutName } from '../form/layout_name.js';
import { panel, stackedBar } from '../parts.js';
import { t } from '../texts.js';

const mostRows = 40;

const barOf = (kind, y, share) =>
  svg('rect', { class: `bar ${kind}`, x: 0, y, width: `${(100 * share).toFixed(2)}%`, height: kind === 'measured' ? 9 : 5 });

function bars(row, columns, most) {
  const share = (key) => Math.min(1, Math.max(0, (row[key] ?? 0) / most));
  return svg('svg', { class: 'bars', width: '100%', height: 16, 'aria-hidden': 'true' },
    barOf('measured', 0, share(columns.measured)), barOf('predicted', 10.5, share(columns.predicted)));
}

const legend = () => el('p', { class: 'legend', 'aria-hidden': 'true' }, ['measured', 'predicted'].map((kind) => el('span', {},
  svg('svg', { width: 18, height: 9 }, svg('rect', { class: `bar ${kind}`, x: 0.5, y: 0.5, width: 17, height: 8 })), t(`sweep.${kind}`))));

function plotRow(row, picture, words) {
  return el('li', { class: 'plot-row' }, el('span', { class: 'plot-name' }, layoutName(row)), picture, el('span', { class: 'plot-words muted' }, words));
}

function comparison(title, rows, columns, said) {
  const most = Math.max(...rows.flatMap((row) => [row[columns.measured] ?? 0, row[columns.predicted] ?? 0]), 1e-300);
  return panel(title, legend(), el('ol', { class: 'plain plot' }, rows.map((row) => plotRow(row, bars(row, columns, most),
    t('sweep.beside', { measured: said(row[columns.measured]), predicted: said(row[columns.predicted]) })))));
}

function shares(rows) {
  const kinds = [['compute', 'compute_share'], ['transfer', 'communication_share'], ['wait', 'bubble_share']];
  return panel(t('sweep.shares'), el('ol', { class: 'plain plot' }, rows.map((row) => plotRow(row, stackedBar(
    kinds.map(([kind, column]) => ({ kind, word: t(`sweep.share.${kind}`), share: row[column], said: percent(row[column], 1) }))), null))));
}

// rows: measured ones, the fastest first.
export function plotsOf(rows) {
  const shown = rows.slice(0, mostRows);
  if (shown.length === 0) return null;
  return el('div', { class: 'panels plots' },
    comparison(t('sweep.throughput'), shown, { measured: 'tokens_per_second', predicted: 'predicted_tokens_per_second' }, short),
    comparison(t('sweep.memory'), shown, { measured: 'memory_bytes', predicted: 'predicted_memory_bytes' }, bytes),
    shares(shown));
}
