// All rows of a sweep as a table that is sorted by any column; layouts that were not measured say why.

import { el, fill, setText } from '../dom.js';
import { bytes, count, number, percent, seconds } from '../format.js';
import { layoutName } from '../form/layout_name.js';
import { t } from '../texts.js';
import { isMeasured, sorted } from './rows.js';

const signed = (share) => (share === null ? '–' : `${share >= 0 ? '+' : '−'}${percent(Math.abs(share), 1)}`);

const columns = [
  { key: 'tokens_per_second', show: count },
  { key: 'samples_per_second', show: (value) => number(value, 3) },
  { key: 'step_seconds', show: seconds },
  { key: 'predicted_step_seconds', show: seconds },
  { key: 'off', show: signed },
  { key: 'memory_bytes', show: bytes },
  { key: 'predicted_memory_bytes', show: bytes },
  { key: 'resident_bytes', show: bytes },
  { key: 'communication_share', show: (share) => percent(share, 1) },
  { key: 'bubble_share', show: (share) => percent(share, 1) },
  { key: 'loss_bits', show: (bits) => bits || '–' },
];

function rowOf(row, use) {
  const name = layoutName(row);
  const button = use === null ? null : el('button', {
    type: 'button', class: 'quiet use', 'aria-label': t('sweep.use.label', { name }), onclick: () => use(row),
  }, t('sweep.use'));
  const head = el('th', { scope: 'row', class: 'whole' }, name, ' ', button);
  if (isMeasured(row)) {
    return el('tr', {}, head, columns.map((column) =>
      el('td', { class: 'n', dataset: { head: t(`sweep.column.${column.key}`) } }, column.show(row[column.key]))));
  }
  return el('tr', { class: 'unmeasured' }, head,
    el('td', { class: 'whole', colspan: columns.length },
      el('span', { class: `badge ${row.status === 'interrupted' ? 'warn' : 'bad'}` }, t(`sweep.status.${row.status}`)), ' ', row.reason ?? ''));
}

// use(row): a run in this layout, or null where none can be started.
export function makeTable(rows, use) {
  const body = el('tbody', {});
  const told = el('p', { class: 'hidden-text', role: 'status' });
  let order = { key: 'tokens_per_second', direction: 'descending' };
  const heads = [{ key: 'layout', value: layoutName }, ...columns].map((column) => ({ ...column, value: column.value ?? column.key }));

  function sortBy(head) {
    const down = order.key === head.key ? order.direction === 'ascending' : head.key !== 'layout';
    order = { key: head.key, direction: down ? 'descending' : 'ascending' };
    show();
    setText(told, t(down ? 'sweep.sorted.down' : 'sweep.sorted.up', { column: t(`sweep.column.${head.key}`) }));
  }

  for (const head of heads) {
    head.arrow = el('span', { class: 'arrow', 'aria-hidden': 'true' });
    head.node = el('th', { scope: 'col', class: head.key === 'layout' ? null : 'n' },
      el('button', { type: 'button', class: 'sort', onclick: () => sortBy(head) }, t(`sweep.column.${head.key}`), head.arrow));
  }

  function show() {
    for (const head of heads) {
      const here = head.key === order.key;
      if (here) head.node.setAttribute('aria-sort', order.direction);
      else head.node.removeAttribute('aria-sort');
      setText(head.arrow, here ? (order.direction === 'descending' ? '▾' : '▴') : '');
    }
    const { value } = heads.find((head) => head.key === order.key);
    const measured = sorted(rows.filter(isMeasured), value, order.direction);
    fill(body, [...measured, ...rows.filter((row) => !isMeasured(row))].map((row) => rowOf(row, use)));
  }
  show();

  const caption = t('sweep.table');
  return el('div', {}, told, el('div', { class: 'table', tabindex: 0, role: 'region', 'aria-label': caption },
    el('table', { class: 'sweep-rows listed' }, el('caption', { class: 'hidden-text' }, caption),
      el('thead', {}, el('tr', {}, heads.map((head) => head.node))), body)));
}
