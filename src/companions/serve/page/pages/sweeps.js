// The sweeps below the folder, and one of them.

import { isAbort } from '../api.js';
import { el, fill } from '../dom.js';
import { ago, count, date } from '../format.js';
import { busy, copyBox, empty, failed, table } from '../parts.js';
import { mount as mountSweep } from './sweep.js';

function rowOf(sweep, t) {
  return el('tr', {},
    el('th', { scope: 'row', class: 'whole' }, el('a', { href: `#/sweep/${encodeURIComponent(sweep.name)}` }, sweep.name)),
    el('td', { dataset: { head: t('sweeps.best') } }, sweep.best || '–'),
    el('td', { class: 'n', dataset: { head: t('sweeps.rows') } }, count(sweep.rows)),
    el('td', { class: 'nowrap', title: date(sweep.changed), dataset: { head: t('sweeps.changed') } }, ago(sweep.changed)));
}

function listOf(sweeps, { t, session }) {
  if (sweeps.length === 0)
    return [empty(t('sweeps.none')), copyBox(`troika sweep settings.yaml --nproc ${session.cores ?? 2}`, t('sweeps.how'))];
  const all = table(t('nav.sweeps'),
    [{ text: t('sweeps.name') }, { text: t('sweeps.best') }, { text: t('sweeps.rows'), n: true }, { text: t('sweeps.changed') }],
    sweeps.map((sweep) => rowOf(sweep, t)));
  all.querySelector('table').classList.add('listed');
  return all;
}

export function mount(parent, context) {
  if (context.sweep !== undefined) return mountSweep(parent, context);
  const left = new AbortController();
  const place = el('div', { class: 'panel' }, busy());
  fill(parent, el('div', { class: 'page-head' }, el('h1', {}, context.t('nav.sweeps'))), place);
  context.api.get('sweeps', {}, { signal: left.signal })
    .then((sweeps) => fill(place, el('p', { class: 'muted' }, context.t('sweeps.what')), listOf(sweeps, context)))
    .catch((error) => {
      if (!isAbort(error)) fill(place, failed(error));
    });
  return { unmount: () => left.abort() };
}
