// What `troika why` says of the run: the cause, what shows it, and what to do.

import { api, isAbort } from '../../api.js';
import { append, el, fill } from '../../dom.js';
import { busy, copyBox, failed, panel } from '../../parts.js';
import { t } from '../../texts.js';

function shown({ cause, sentence, evidence, advice }) {
  return [
    panel(t('why.cause'), el('p', { class: 'why-sentence' }, el('strong', {}, sentence ?? cause), ' ', el('span', { class: 'badge mono' }, cause))),
    evidence.length === 0 ? null : panel(t('why.evidence'), el('ul', {}, evidence.map((text) => el('li', {}, text)))),
    advice.length === 0 ? null : panel(t('why.advice'), advice.map(({ flag, reason }) => copyBox(flag, reason))),
  ];
}

export function mount(parent, { run: name }) {
  const stopping = new AbortController();
  const place = el('div', { class: 'stacked', 'aria-live': 'polite' });
  const again = el('button', { type: 'button', onclick: () => load() }, t('why.again'));
  append(parent, [el('div', { class: 'stacked' },
    el('div', { class: 'toolbar' }, el('p', { class: 'muted' }, t('why.how')), again), place)]);

  async function load() {
    again.disabled = true;
    fill(place, busy(t('why.busy')));
    try {
      fill(place, shown(await api.get(api.run(name, 'why'), {}, { signal: stopping.signal })));
    } catch (error) {
      if (!isAbort(error)) fill(place, failed(error));
    }
    again.disabled = false;
  }

  load();
  return {
    unmount() {
      stopping.abort();
    },
  };
}
