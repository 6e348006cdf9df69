// A table whose rows change as one looks: only cells that differ are written, so that the keyboard's place, a selection of text and a
// screen reader's place stay.

import { append, el, fill } from './dom.js';
import { unknown } from './format.js';

// What a cell shows: a text, or {key, make()} with a new node for each other key.
function write(cell, shown) {
  const made = typeof shown === 'object' && shown !== null;
  const key = made ? shown.key : String(shown);
  if (cell.shownKey === key) return;
  cell.shownKey = key;
  const hadFocus = cell.contains(document.activeElement);
  fill(cell, made ? shown.make() : key);
  if (hadFocus) cell.querySelector('a, button, input, select')?.focus({ preventScroll: true });
  cell.toggleAttribute('data-blank', !made && (key === '' || key === unknown));
}

// columns: [{id, head, name (where `head` is for the eye only), show(row), n (numbers), class, sorts, rowHead, plain (no head on a
// phone)}]. keyOf(row): the same for the same thing. mark(tr, row): attributes of the row. onSort(id).
export function makeLiveTable({ caption, columns, keyOf, mark = () => {}, onSort = () => {}, className = '' }) {
  const heads = columns.map((column) => {
    const arrow = column.sorts ? el('span', { class: 'arrow', 'aria-hidden': 'true' }) : null;
    const content = column.sorts
      ? el('button', { type: 'button', class: 'sort', onclick: () => onSort(column.id) }, column.head, arrow)
      : column.head;
    const node = el('th', { scope: 'col', class: [column.n ? 'n' : '', column.class ?? ''].join(' ').trim() || null },
      content === '' ? el('span', { class: 'hidden-text' }, column.name) : content);
    return { node, arrow };
  });
  const body = el('tbody', { role: 'rowgroup' });
  // Roles are said, because as a list on a phone the table would lose them.
  const node = el('div', { class: 'table' },
    el('table', { class: `listed ${className}`.trim(), role: 'table' }, el('caption', { class: 'hidden-text' }, caption),
      el('thead', { role: 'rowgroup' }, el('tr', { role: 'row' }, heads.map((head) => head.node))), body));
  const rows = new Map();

  function makeRow() {
    const cells = columns.map((column) =>
      el(column.rowHead ? 'th' : 'td', {
        role: column.rowHead ? 'rowheader' : 'cell', scope: column.rowHead ? 'row' : null,
        class: [column.n ? 'n' : '', column.class ?? ''].join(' ').trim() || null,
        dataset: column.plain || column.head === '' ? {} : { head: column.head },
      }));
    return { cells, node: el('tr', { role: 'row' }, cells) };
  }

  return {
    node,

    // In this order.
    update(list) {
      const focused = document.activeElement;
      const seen = new Set();
      let place = body.firstChild;
      for (const item of list) {
        const key = keyOf(item);
        seen.add(key);
        if (!rows.has(key)) rows.set(key, makeRow());
        const row = rows.get(key);
        columns.forEach((column, at) => write(row.cells[at], column.show(item)));
        mark(row.node, item);
        if (row.node === place) place = place.nextSibling;
        else body.insertBefore(row.node, place);
      }
      for (const [key, row] of rows)
        if (!seen.has(key)) {
          row.node.remove();
          rows.delete(key);
        }
      // A row that moved has lost the keyboard's place.
      if (focused !== document.activeElement && body.contains(focused)) focused.focus({ preventScroll: true });
    },

    sorted(id, direction) {
      columns.forEach((column, at) => {
        const { node: head, arrow } = heads[at];
        const is = column.id === id;
        if (is) head.setAttribute('aria-sort', direction > 0 ? 'ascending' : 'descending');
        else head.removeAttribute('aria-sort');
        if (arrow !== null) fill(arrow, is ? (direction > 0 ? '↑' : '↓') : '');
      });
    },
  };
}

// A part of a page that is made again only when what it is made of differs.
export function makeLivePart(props, make) {
  const node = el('div', props);
  let last;
  node.show = (value) => {
    const key = JSON.stringify(value);
    if (key === last) return;
    last = key;
    append(fill(node), [make(value)]);
  };
  return node;
}
