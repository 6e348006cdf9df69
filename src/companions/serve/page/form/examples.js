// Of the data that are chosen, a few records as the model would see them: asked for when somebody opens them, and again when what they
// depend on has changed while they are open.

import { isAbort } from '../api.js';
import { el, fill, setText } from '../dom.js';
import { note } from '../parts.js';
import { t } from '../texts.js';
import { dataFormOf } from './model.js';

const pause = 600;  // milliseconds after the last change

export function makeExamples(catalog, api) {
  const text = el('pre', { class: 'code examples', tabindex: 0, 'aria-label': t('form.examples'), hidden: true });
  const told = el('div', { role: 'status' });
  const node = el('details', { class: 'show-examples' }, el('summary', {}, t('form.examples')), told, text);
  let form = null, shown = '', asking = null, timer = 0;

  async function ask() {
    const wanted = JSON.stringify(form);
    if (!node.open || form === null || wanted === shown) return;
    asking?.abort();
    asking = new AbortController();
    shown = wanted;
    fill(told, el('p', { class: 'muted' }, t('busy')));
    try {
      setText(text, (await api.post('data', form, { signal: asking.signal })).text.trimEnd());
      text.hidden = false;
      fill(told);
    } catch (error) {
      if (isAbort(error)) return;
      text.hidden = true;
      fill(told, note('warn', error.message));
    }
  }
  node.addEventListener('toggle', ask);

  return {
    node,
    show(draft) {
      form = dataFormOf(draft, catalog);
      node.hidden = form === null;
      clearTimeout(timer);
      timer = setTimeout(ask, pause);
    },
    leave() {
      clearTimeout(timer);
      asking?.abort();
    },
  };
}
