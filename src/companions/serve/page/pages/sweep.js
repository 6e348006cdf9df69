// One sweep: what was measured of each layout beside what was predicted.

import { isAbort } from '../api.js';
import { stylesheet } from '../charts.js';
import { el, fill } from '../dom.js';
import { date, percent, short } from '../format.js';
import { draftOfFile } from '../form/beginnings.js';
import { keepDraft } from '../form/draft_store.js';
import { layoutName } from '../form/layout_name.js';
import { catalogOf, freeName, takeLayout } from '../form/model.js';
import { busy, copyBox, empty, failed, note, panel } from '../parts.js';
import { plotsOf } from '../sweeps/plots.js';
import { fastestFirst, withDerived } from '../sweeps/rows.js';
import { makeTable } from '../sweeps/table.js';

// The form of a new run, filled with the settings that the sweep was for, in this layout.
async function openForm(context, sweep, row, signal) {
  const { api, go } = context;
  const get = (path) => api.get(path, {}, { signal });
  const [settings, choices, runs] = await Promise.all([get('settings'), get('choices'), get('runs')]);
  const catalog = catalogOf(settings);
  const processes = ['dp', 'pp', 'tp', 'cp'].reduce((product, axis) => product * Number(row[axis]), 1);
  const name = freeName('swept', runs.map((run) => run.name));
  const { draft } = await draftOfFile(sweep.training, { catalog, choices }, { name, processes }, context, signal);
  takeLayout(draft, catalog, row);
  keepDraft('', draft);
  go('#/new');
}

function conclusion(rows, t) {
  const [best] = fastestFirst(rows);
  if (best === undefined) return note('warn', t('sweep.none_measured'));
  const key = best.off === null ? 'sweep.best' : best.off >= 0 ? 'sweep.best.longer' : 'sweep.best.shorter';
  return el('p', {}, t(key, { name: layoutName(best), tokens: short(best.tokens_per_second), share: percent(Math.abs(best.off ?? 0), 1) }));
}

function pageOf(sweep, context, signal) {
  const { t, session, say } = context;
  const rows = withDerived(sweep.rows);
  const use = session.view_only || !sweep.training ? null : (row) => openForm(context, sweep, row, signal).catch((error) => {
    if (!isAbort(error)) say(error.message, 'error');
  });
  const changed = sweep.changed === undefined ? '' : ` · ${date(sweep.changed)}`;
  return [
    el('p', { class: 'crumb' }, el('a', { href: '#/sweeps' }, t('nav.sweeps')), changed),
    el('div', { class: 'page-head' }, el('h1', {}, sweep.name)),
    rows.length === 0 ? empty(t('sweep.empty')) : [conclusion(rows, t), plotsOf(fastestFirst(rows)), panel(t('sweep.table'), makeTable(rows, use))],
    el('div', { class: 'panel sweep-settings' }, sweep.training ? copyBox(sweep.training, t('sweep.training')) : null, copyBox(sweep.settings, t('sweep.settings'))),
  ];
}

export function mount(parent, context) {
  const left = new AbortController();
  const { signal } = left;
  fill(parent, el('div', { class: 'page-head' }, el('h1', {}, context.sweep)), busy());
  Promise.all([context.api.get(`sweeps/${encodeURIComponent(context.sweep)}`, {}, { signal }), stylesheet('sweeps/sweeps.css')])
    .then(([sweep]) => fill(parent, ...pageOf(sweep, context, signal).flat()))
    .catch((error) => {
      if (!isAbort(error)) fill(parent, el('p', { class: 'crumb' }, el('a', { href: '#/sweeps' }, context.t('nav.sweeps'))),
        el('div', { class: 'page-head' }, el('h1', {}, context.sweep)), failed(error));
    });
  return { unmount: () => left.abort() };
}
