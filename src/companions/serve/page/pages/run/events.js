// All that happened in a run, the newest first.

import { api, isAbort } from '../../api.js';
import { append, el, fill, freshId, setText } from '../../dom.js';
import { live } from '../../live.js';
import { empty, failed } from '../../parts.js';
import { t } from '../../texts.js';
import { eventWords, makeEventTable } from './event_table.js';

export function mount(parent, { run: name }) {
  const stopping = new AbortController();
  const table = makeEventTable(t('run.tab.events'));
  const found = el('span', { class: 'muted', role: 'status' });
  const told = el('div', {}, empty(t('busy')));
  const filterId = freshId('filter');
  let list = null;
  let words = [];
  let last = '';

  function show() {
    if (list === null) return;
    const shown = list.filter((event) => {
      const text = [event.event, eventWords(event), event.host, event.text, event.rank ?? ''].join(' ').toLowerCase();
      return words.every((word) => text.includes(word));
    });
    table.update(shown);
    table.node.hidden = shown.length === 0;
    fill(told, shown.length > 0 ? null : empty(t(list.length === 0 ? 'run.events.none' : 'run.events.none_found')));
    setText(found, t('run.events.count', { n: shown.length }));
  }

  async function load() {
    try {
      list = (await api.get(api.run(name, 'events'), {}, { signal: stopping.signal })).reverse();
      show();
    } catch (error) {
      if (!isAbort(error)) fill(told, failed(error));
    }
  }

  append(parent, [el('section', { class: 'panel', 'aria-label': t('run.tab.events') },
    el('div', { class: 'panel-head toolbar' },
      el('label', { class: 'hidden-text', for: filterId }, t('run.events.filter')),
      el('input', {
        id: filterId, type: 'search', placeholder: t('run.events.filter'), autocomplete: 'off',
        oninput: (event) => {
          words = event.target.value.toLowerCase().split(/\s+/).filter((word) => word !== '');
          show();
        },
      }), found),
    told, table.node)]);
  table.node.hidden = true;

  load();
  const off = live.watch(name, {
    view(view) {
      const now = JSON.stringify(view.events.at(-1) ?? null);
      if (last !== '' && now !== last) load();
      last = now;
    },
  });
  return {
    unmount() {
      off();
      stopping.abort();
    },
  };
}
