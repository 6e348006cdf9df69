// An address that names no page.

import { append, el } from '../dom.js';

export function mount(parent, { t }) {
  append(parent, [el('div', { class: 'page-head' }, el('h1', {}, t('not_found.title'))), el('p', {}, t('not_found.text')),
    el('p', {}, el('a', { href: '#/runs' }, t('not_found.back')))]);
  return { unmount() {} };
}
