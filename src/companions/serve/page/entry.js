// The form for the token: where it is missing, or where the server was started again.

import { el, fill, freshId } from './dom.js';
import { brand } from './frame.js';
import { copyBox, note } from './parts.js';
import { t } from './texts.js';

function tokenOf(text) {
  const found = /#token=([\w-]+)/.exec(text);
  return found === null ? text.trim() : found[1];
}

// use(token): resolves when the page has gone on. wrong: say that the last one was not the one.
export function enter(place, { wrong, use }) {
  const field = freshId('token');
  const told = el('div', {}, wrong ? note('warn', t('login.wrong')) : null);
  const input = el('input', { id: field, type: 'password', autocomplete: 'off', spellcheck: 'false', 'aria-describedby': `${field}-why` });
  const button = el('button', { type: 'submit', class: 'primary' }, t('login.enter'));

  async function submit(event) {
    event.preventDefault();
    const token = tokenOf(input.value);
    if (token === '') {
      fill(told, note('error', t('login.empty')));
      input.focus();
      return;
    }
    button.disabled = true;
    try {
      await use(token);
    } catch (error) {
      button.disabled = false;
      const unknown = error.status === 401 || error.status === 403;
      fill(told, note('error', unknown ? t('login.wrong') : error.message));
      input.select();
    }
  }

  fill(place, el('main', { class: 'entry', id: 'main' },
    brand(),
    el('h1', {}, t('login.title')),
    el('p', { id: `${field}-why` }, t('login.why')),
    el('form', { class: 'stacked', onsubmit: submit },
      el('div', { class: 'field' }, el('label', { for: field }, t('login.token')), input),
      el('div', { class: 'toolbar' }, button), told),
    copyBox('troika serve --url', t('login.reprint'))));
  document.title = t('troika');
  input.focus();
}
