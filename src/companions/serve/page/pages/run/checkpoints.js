// The checkpoints of a run: resume from any, export any, talk with the newest.

import { api, isAbort } from '../../api.js';
import { append, el, fill } from '../../dom.js';
import { bytes, count, date } from '../../format.js';
import { live } from '../../live.js';
import { makeLiveTable } from '../../live_table.js';
import { copyBox, empty, failed, panel, shellWord } from '../../parts.js';
import { hashOf } from '../../routes.js';
import { t } from '../../texts.js';
import { makeExports } from './exports.js';

const between = 3000;  // milliseconds between two looks, while something may change

export function mount(parent, { run: name, act, onSummary, session }) {
  const stopping = new AbortController();
  const told = el('div', {}, empty(t('busy')));
  const exports = makeExports(name, stopping.signal, () => load());
  let list = [];
  let can = '';

  async function exportStep(step) {
    if (await act.exportStep(step) !== null) exports.load();
  }

  const columns = [
    { id: 'step', head: t('checkpoint.step'), rowHead: true, show: (checkpoint) => count(checkpoint.step) },
    { id: 'time', head: t('checkpoint.time'), show: (checkpoint) => date(checkpoint.time) },
    { id: 'bytes', head: t('checkpoint.bytes'), n: true, show: (checkpoint) => bytes(checkpoint.bytes) },
    { id: 'tensors', head: t('checkpoint.tensors'), n: true, show: (checkpoint) => count(checkpoint.tensors) },
    { id: 'world', head: t('checkpoint.world'), n: true, show: (checkpoint) => count(checkpoint.world_size) },
    {
      id: 'is', head: t('checkpoint.is'),
      show: (checkpoint) => ({
        key: `${checkpoint.complete} ${checkpoint.exported}`,
        make: () => [el('span', { class: `badge ${checkpoint.complete ? 'good' : 'warn'}` }, t(checkpoint.complete ? 'checkpoint.complete' : 'checkpoint.partial')),
          checkpoint.exported ? [' ', el('span', { class: 'badge' }, t('checkpoint.exported'))] : null],
      }),
    },
  ];
  if (!session.view_only)
    columns.push({
      id: 'act', head: '', name: t('checkpoint.act'), class: 'whole',
      show: (checkpoint) => ({
        key: `${checkpoint.step} ${checkpoint.complete} ${can}`,
        make: () => !checkpoint.complete ? null : el('span', { class: 'toolbar' },
          act.may('resume') ? el('button', {
            type: 'button', dataset: { action: 'resume' }, 'aria-label': t('checkpoint.resume_step', { step: count(checkpoint.step) }),
            onclick: () => act.resume(checkpoint.step, list[0]?.step),
          }, t('checkpoint.resume')) : null,
          act.may('export') ? el('button', {
            type: 'button', dataset: { action: 'export' }, 'aria-label': t('checkpoint.export_step', { step: count(checkpoint.step) }),
            onclick: () => exportStep(checkpoint.step),
          }, t('run.export')) : null),
      }),
    });
  const table = makeLiveTable({
    caption: t('run.tab.checkpoints'), columns, keyOf: (checkpoint) => checkpoint.step, className: 'of-checkpoints',
    mark(row, checkpoint) { row.dataset.step = checkpoint.step; },
  });
  const chat = el('div', { hidden: true });
  append(parent, [el('div', { class: 'stacked' },
    panel(t('run.tab.checkpoints'), el('p', { class: 'muted' }, t(session.view_only ? 'checkpoint.how_view' : 'checkpoint.how')), told, table.node),
    exports.node, chat)]);
  table.node.hidden = true;

  let looked = 0;
  async function load() {
    looked = Date.now();
    try {
      list = await api.get(api.run(name, 'checkpoints'), {}, { signal: stopping.signal });
      table.update(list);
      table.node.hidden = list.length === 0;
      chat.hidden = !list.some((checkpoint) => checkpoint.complete);
      fill(told, list.length > 0 ? null : empty(t('checkpoint.none')));
    } catch (error) {
      if (!isAbort(error)) fill(told, failed(error));
    }
  }

  load();
  const offSummary = onSummary((summary) => {
    if (chat.childElementCount === 0)
      append(chat, [panel(t('checkpoint.chat_title'),
        session.view_only ? null : el('p', {}, el('a', { href: hashOf('run', name, 'chat') }, t('checkpoint.chat_here'))),
        el('p', { class: 'muted' }, t('checkpoint.chat_text')),
        copyBox(`troika chat ${shellWord(summary.folder)}`, t('checkpoint.chat')))]);
    const key = `${act.may('resume')} ${act.may('export')}`;
    if (key === can) return;
    can = key;
    load();
    exports.load();
  });
  const offView = live.watch(name, { rows: () => Date.now() - looked > between && load() });
  return {
    unmount() {
      offSummary();
      offView();
      exports.leave();
      stopping.abort();
    },
  };
}
