// The form made from a file of settings, of Troika or LLaMA-Factory, that somebody opens or pastes.

import { el, fill, freshId } from '../dom.js';
import { note } from '../parts.js';
import { t } from '../texts.js';

const mostBytes = 65536 - 1024;  // what a request to the server may hold

// take(yaml) -> sentences about what was taken; it throws what is wrong.
export function makeFromFile(take) {
  const id = freshId('file');
  const told = el('div', { class: 'stacked' });
  const text = el('textarea', { id: `${id}-text`, rows: 6, spellcheck: 'false', autocapitalize: 'off' });
  const file = el('input', { type: 'file', id: `${id}-open`, accept: '.yaml,.yml,.json,text/plain' });

  async function use() {
    fill(told);
    try {
      if (text.value.trim() === '') throw new Error(t('form.file.empty'));
      if (new Blob([text.value]).size > mostBytes) throw new Error(t('form.file.large', { bytes: mostBytes }));
      const sentences = await take(text.value);
      fill(told, note('info', sentences.join('\n')));
    } catch (error) {
      fill(told, note('error', error.message));
    }
  }

  file.addEventListener('change', async () => {
    if (file.files.length === 0) return;
    if (file.files[0].size > mostBytes) return fill(told, note('error', t('form.file.large', { bytes: mostBytes })));
    text.value = await file.files[0].text();
    await use();
  });

  return el('details', { class: 'panel from-file' }, el('summary', {}, t('form.file')),
    el('p', { class: 'muted' }, t('form.file.help')),
    el('div', { class: 'field' }, el('label', { for: `${id}-open` }, t('form.file.open')), file),
    el('div', { class: 'field' }, el('label', { for: `${id}-text` }, t('form.file.paste')), text),
    el('div', { class: 'toolbar' }, el('button', { type: 'button', onclick: use }, t('form.file.use'))),
    el('div', { role: 'status' }, told));
}
