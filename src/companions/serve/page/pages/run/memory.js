// Memory by class beside the plan, of the rank that holds most and of each rank; the plan's time beside the measured one; the lengths
// of the data, from which both follow.

import { api, isAbort } from '../../api.js';
import { append, el, fill } from '../../dom.js';
import { bytes, isKnown, percent, seconds } from '../../format.js';
import { live } from '../../live.js';
import { makeLivePart } from '../../live_table.js';
import { empty, failed, note, panel, stackedBar, table } from '../../parts.js';
import { t } from '../../texts.js';
import { lengthsPanel } from './lengths.js';

const classes = ['parameters', 'gradients', 'state', 'activations', 'buffers', 'snapshot', 'program'];
const between = 10000;  // milliseconds between two looks at what a run holds

const sum = (memory) => classes.reduce((total, kind) => total + (memory?.[kind] ?? 0), 0);

function bar(head, memory, most) {
  const total = sum(memory);
  const parts = classes.filter((kind) => isKnown(memory?.[kind]) && memory[kind] > 0)
    .map((kind) => ({ kind, word: t(`memory.${kind}`), share: memory[kind] / total, said: bytes(memory[kind]) }));
  return el('div', { class: 'memory-bar' }, el('span', {}, head),
    total > 0 ? stackedBar(parts, { label: head, of: total / most, leastSaid: 0 }) : el('span', { class: 'muted' }, t('memory.not_yet')),
    el('span', { class: 'total' }, total > 0 ? bytes(total) : '–'));
}

function difference(predicted, measured) {
  if (!isKnown(predicted) || !isKnown(measured) || predicted === 0) return '–';
  const share = measured / predicted - 1;
  if (Math.abs(share) < 0.0005) return percent(0);
  return `${share >= 0 ? '+' : '−'}${percent(Math.abs(share), 1)}`;
}

function rowOf(head, predicted, measured, said) {
  return el('tr', {}, el('th', { scope: 'row' }, head), el('td', { class: 'n' }, said(predicted)), el('td', { class: 'n' }, said(measured)),
    el('td', { class: 'n' }, difference(predicted, measured)));
}

function heads(first) {
  return [{ text: first }, { text: t('memory.predicted'), n: true }, { text: t('memory.measured'), n: true }, { text: t('memory.difference'), n: true }];
}

function planParts({ memory, step_seconds: time, notes, lengths }) {
  const predicted = memory.predicted ?? {};
  const measured = memory.measured ?? {};
  const most = Math.max(sum(predicted), sum(measured), 1);
  const shown = classes.filter((kind) => predicted[kind] > 0 || measured[kind] > 0);
  const known = (kind, side) => (isKnown(side[kind]) ? side[kind] : null);
  const total = (side) => (sum(side) > 0 ? sum(side) : null);
  return el('div', { class: 'stacked' },
    notes.length === 0 ? null : notes.map((text) => note('info', text)),
    panel(t('memory.title'), el('p', { class: 'muted' }, t('memory.how')),
      el('div', { class: 'memory-bars' }, bar(t('memory.predicted'), predicted, most), bar(t('memory.measured'), measured, most)),
      table(t('memory.title'), heads(t('memory.class')),
        [...shown.map((kind) => rowOf(t(`memory.${kind}`), known(kind, predicted), known(kind, measured), bytes)),
          rowOf(t('memory.total'), total(predicted), total(measured), bytes)])),
    panel(t('memory.time_title'), table(t('memory.time_title'), heads(t('memory.what')),
      [rowOf(t('memory.step_seconds'), time.predicted, time.measured, seconds)])),
    lengthsPanel(lengths));
}

function rankParts(ranks) {
  const known = ranks.filter((rank) => rank.memory !== undefined);
  if (known.length === 0) return null;
  const most = Math.max(1, ...known.map((rank) => sum(rank.memory)));
  return panel(t('memory.ranks_title'), el('div', { class: 'memory-bars' }, known.map((rank) =>
    bar(t('memory.rank', { rank: rank.rank, host: rank.host }), rank.memory, most))));
}

export function mount(parent, { run: name }) {
  const stopping = new AbortController();
  const told = el('div', {}, empty(t('busy')));
  const plan = makeLivePart({}, planParts);
  const ranks = makeLivePart({}, rankParts);
  let looked = 0;
  append(parent, [el('div', { class: 'stacked' }, told, plan, ranks)]);

  async function load() {
    looked = Date.now();
    try {
      plan.show(await api.get(api.run(name, 'plan'), {}, { signal: stopping.signal }));
      fill(told);
    } catch (error) {
      if (!isAbort(error)) fill(told, failed(error));
    }
  }

  load();
  const off = live.watch(name, {
    view: (view) => ranks.show(view.ranks.map(({ rank, host, memory }) => ({ rank, host, memory }))),
    rows: () => Date.now() - looked > between && load(),
  });
  return {
    unmount() {
      off();
      stopping.abort();
    },
  };
}
