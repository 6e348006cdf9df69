// The control in which a setting is typed or chosen: {node, id, get(), set(text), describedBy(ids), invalid(truth), disable(truth)}. It calls
// `changed` at every change, however small.

import { el, freshId } from '../dom.js';
import { bytes } from '../format.js';
import { inLanguage, t } from '../texts.js';

// "3." on the way to "3.5" is 3 already, and must stay as it is.
const isTyping = (node) => node === document.activeElement;

function simple(node, read = () => node.value, write = (text) => { node.value = text; }) {
  return {
    node,
    id: node.id,
    get: read,
    set(text) {
      if (read() !== text && !isTyping(node)) write(text);
    },
    describedBy: (ids) => node.setAttribute('aria-describedby', ids),
    invalid: (truth) => (truth ? node.setAttribute('aria-invalid', 'true') : node.removeAttribute('aria-invalid')),
    disable: (truth) => { node.disabled = truth; },
  };
}

function truth(id, changed) {
  const node = el('input', { type: 'checkbox', id, onchange: changed });
  return simple(node, () => String(node.checked), (text) => { node.checked = text === 'true'; });
}

// A value that is none of the words, as a file may have it, is one of them from then on.
function word(id, words, changed) {
  const options = (list) => list.map((one) => el('option', { value: one }, one));
  const node = el('select', { id, onchange: changed }, options(words));
  return simple(node, () => node.value, (text) => {
    if (![...node.options].some((option) => option.value === text)) node.append(...options([text]));
    node.value = text;
  });
}

function line(id, setting, changed, names) {
  const numeric = { integer: 'numeric', number: 'decimal' }[setting.type];
  const list = names.length === 0 ? null : el('datalist', { id: `${id}-names` }, names.map((name) => el('option', { value: name })));
  const node = el('input', {
    type: 'text', id, inputmode: numeric, autocomplete: 'off', spellcheck: 'false', autocapitalize: 'off', list: list?.id,
    placeholder: setting.unset === null ? null : inLanguage(setting.unset), oninput: changed,
  });
  const control = simple(node);
  return list === null ? control : { ...control, node: el('div', {}, node, list) };
}

const elsewhere = '\u0000';  // no path is it

const wordsOf = (choice) => (choice.text ? `${choice.path} (${choice.text})` : choice.path);

// A path among those that the server found, or another one that is typed.
function path(id, setting, changed, choices) {
  const known = new Map(choices.map((choice) => [choice.path, choice]));
  const typed = el('input', {
    type: 'text', id: `${id}-typed`, autocomplete: 'off', spellcheck: 'false', autocapitalize: 'off', 'aria-label': t('form.path.typed'),
    placeholder: t('form.path.example'), oninput: changed,
  });
  const select = el('select', {
    id,
    onchange: () => {
      typed.hidden = select.value !== elsewhere;
      if (!typed.hidden) typed.focus();
      tell();
      changed();
    },
  },
    el('option', { value: '' }, t('form.path.choose')),
    choices.map((choice) => el('option', { value: choice.path, title: wordsOf(choice) }, `${choice.path} (${bytes(choice.bytes)})`)),
    el('option', { value: elsewhere }, t('form.path.other')));
  typed.hidden = true;
  // A narrow select cuts what it shows.
  const tell = () => {
    const choice = known.get(select.value);
    select.title = choice === undefined ? '' : wordsOf(choice);
  };
  const read = () => (select.value === elsewhere ? typed.value : select.value);
  return {
    node: el('div', { class: 'path' }, select, typed),
    id,
    get: read,
    set(text) {
      if (read() === text || isTyping(typed)) return;
      select.value = text === '' || known.has(text) ? text : elsewhere;
      typed.value = select.value === elsewhere ? text : '';
      typed.hidden = select.value !== elsewhere;
      tell();
    },
    disable: (truth) => { select.disabled = typed.disabled = truth; },
    describedBy(ids) {
      select.setAttribute('aria-describedby', ids);
      typed.setAttribute('aria-describedby', ids);
    },
    invalid(wrong) {
      for (const node of [select, typed])
        if (wrong) node.setAttribute('aria-invalid', 'true');
        else node.removeAttribute('aria-invalid');
    },
  };
}

// What a line offers; anything else may be typed.
function namesFor(setting, { models, data }) {
  const paths = (list) => list.map((choice) => choice.path);
  switch (setting.key) {
    case 'data.valid': return paths(data);
    case 'data.tokenizer': return ['bytes', ...paths(models)];
    case 'data.chat_template': return ['auto', 'chatml', 'alpaca'];
    case 'model.base':
    case 'lora.path': return paths(models);
    default: return setting.offered?.length ? setting.offered : (setting.words ?? []);
  }
}

// choices: {models, data} as /api/choices has them.
export function controlOf(setting, choices, changed) {
  const id = freshId('setting');
  if (setting.key === 'model.path') return path(id, setting, changed, choices.models);
  if (setting.key === 'data.train') return path(id, setting, changed, choices.data);
  if (setting.type === 'truth') return truth(id, changed);
  if (setting.type === 'word') return word(id, setting.words, changed);
  if (setting.key === 'model.preset') return word(id, setting.offered, changed);
  return line(id, setting, changed, namesFor(setting, choices));
}
