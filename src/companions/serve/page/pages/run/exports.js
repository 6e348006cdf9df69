// What has been exported of a run, and what is being exported.

import { api, isAbort } from '../../api.js';
import { append, el } from '../../dom.js';
import { count } from '../../format.js';
import { makeLivePart } from '../../live_table.js';
import { copyBox, failed, note, panel, shellWord } from '../../parts.js';
import { t } from '../../texts.js';

const between = 1500;  // milliseconds between two looks at one that is being made

const kinds = { running: 'info', done: 'info', failed: 'error' };

function shown({ step, state, folder, text }) {
  const said = note(kinds[state] ?? 'info', t(`export.${state}`, { step: count(step) }), text === '' || state === 'done' ? null : el('div', { class: 'mono' }, text));
  said.removeAttribute('role');
  return el('div', { dataset: { export: step, state } }, said,
    state === 'done' ? [copyBox(folder, t('export.folder')), copyBox(`troika chat ${shellWord(folder)}`, t('export.chat'))] : null);
}

// onDone(): one that was being made is there, or is not.
export function makeExports(name, signal, onDone) {
  let timer = 0;
  let making = 0;
  const node = makeLivePart({ 'aria-live': 'polite' }, ({ list, error }) => {
    if (error !== undefined) return failed(new Error(error));
    if (list.length === 0) return null;
    return panel(t('export.title'), el('p', { class: 'muted' }, t('export.how')), append(el('div', { class: 'stacked' }), list.map(shown)));
  });

  async function load() {
    clearTimeout(timer);
    try {
      const list = await api.get(api.run(name, 'exports'), {}, { signal });
      node.show({ list });
      const now = list.filter((one) => one.state === 'running').length;
      if (now < making) onDone();
      making = now;
      if (now > 0) timer = setTimeout(load, between);
    } catch (error) {
      if (!isAbort(error)) node.show({ error: error.message });
    }
  }

  return { node, load, leave: () => clearTimeout(timer) };
}
