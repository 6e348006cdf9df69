// The numbers of a chart as a table, to copy and to keep as a file.

import { csvOf, joinedRows } from '../columns.js';
import { clear, el, fill } from '../dom.js';
import { count } from '../format.js';
import { t } from '../texts.js';
import * as units from './units.js';

const mostRows = 500;  // in the table; file and copy have all

// chart(): {name, axis, lines: [{label, series, curve}]} as they are now.
export class Numbers {
  constructor(parent, chart) {
    this.chart = chart;
    this.table = el('div', { class: 'table', tabindex: 0, role: 'region', 'aria-label': t('curves.numbers') });
    this.told = el('span', { role: 'status', class: 'muted' });
    this.node = el('details', { class: 'numbers', ontoggle: () => this.refresh() },
      el('summary', {}, t('curves.numbers')),
      el('div', { class: 'toolbar' },
        el('button', { type: 'button', class: 'quiet', onclick: () => this.save() }, t('curves.csv')),
        el('button', { type: 'button', class: 'quiet', onclick: () => this.copy() }, t('curves.copy')), this.told),
      this.table);
    parent.append(this.node);
  }

  head({ axis, lines }) {
    const of = (label) => ['mean', 'low', 'high'].map((part) => `${label}, ${t(`curves.part.${part}`)}`);
    return [t(`curves.axis.${axis}`), ...lines.flatMap(({ label }) => of(label))];
  }

  // Called when there are other numbers; nothing is made while nobody looks.
  refresh() {
    if (!this.node.open) {
      clear(this.table);
      return;
    }
    const chart = this.chart();
    const rows = joinedRows(chart.lines.map(({ curve }) => curve));
    const cell = (x, index) => units.value(chart.lines[Math.floor(index / 3)].series, x);
    const rowOf = ([x, ...values]) => el('tr', {}, el('th', { scope: 'row', class: 'n' }, units.position(chart.axis, x)),
      values.map((value, index) => el('td', { class: 'n' }, value === null ? '' : cell(value, index))));
    const part = rows.slice(-mostRows);
    const more = rows.length > part.length ? t('curves.last_rows', { n: count(part.length), all: count(rows.length) }) : '';
    fill(this.table, el('table', {}, el('caption', {}, `${chart.name} ${more}`),
      el('thead', {}, el('tr', {}, this.head(chart).map((text) => el('th', { scope: 'col', class: 'n' }, text)))),
      el('tbody', {}, part.map(rowOf))));
  }

  save() {
    const chart = this.chart();
    const text = csvOf(this.head(chart), joinedRows(chart.lines.map(({ curve }) => curve)));
    const address = URL.createObjectURL(new Blob([text], { type: 'text/csv' }));
    const link = el('a', { href: address, download: `${chart.file}.csv` });
    link.click();
    setTimeout(() => URL.revokeObjectURL(address), 10000);
  }

  async copy() {
    const chart = this.chart();
    const rows = [this.head(chart), ...joinedRows(chart.lines.map(({ curve }) => curve))];
    try {
      await navigator.clipboard.writeText(rows.map((row) => row.map((cell) => cell ?? '').join('\t')).join('\n'));
      fill(this.told, t('curves.copied'));
    } catch {
      fill(this.told, t('curves.not_copied'));
    }
  }
}
