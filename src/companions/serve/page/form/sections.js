// All settings that are not among the few above, by section, with a search over names and texts in both languages.

import { el, freshId, setText } from '../dom.js';
import { inEveryLanguage, inLanguage, t } from '../texts.js';
import { isChanged, isInSection } from './model.js';

const plain = (text) => text.toLowerCase().replaceAll('-', '_');

// All that somebody may look for to find this setting.
function wordsOf(setting) {
  const { key } = setting;
  const texts = [`form.label.${key}`, `form.help.${key}`].flatMap(inEveryLanguage);
  return plain([key, setting.flag, ...Object.values(setting.help), ...(setting.familiar ?? []), ...(setting.words ?? []), ...texts].join(' '));
}

// fields: of every setting, by key. The node of a field is here or among the essentials, never in both.
export function makeSections(catalog, fields) {
  const found = el('p', { class: 'muted', role: 'status' });
  const id = freshId('search');
  const search = el('input', { type: 'search', id, autocomplete: 'off', spellcheck: 'false', placeholder: t('form.search.example') });
  const words = new Map([...catalog.byKey.values()].map((setting) => [setting.key, wordsOf(setting)]));
  const sections = catalog.sections.map((section) => {
    const count = el('span', { class: 'muted' });
    const place = el('div', { class: 'fields' });
    const title = inLanguage(section.title);
    const node = el('details', { class: 'settings', dataset: { section: section.name } },
      el('summary', {}, el('strong', {}, section.name), el('span', {}, title), count), place);
    return { section, node, count, place, wasOpen: null };
  });

  function filter() {
    const wanted = plain(search.value.trim()).split(/\s+/).filter((word) => word !== '');
    let all = 0;
    for (const one of sections) {
      let here = 0;
      for (const { key } of one.section.settings) {
        const { node } = fields.get(key);
        const fits = wanted.every((word) => words.get(key).includes(word));
        if (node.parentNode !== one.place) continue;
        node.hidden = !fits;
        here += fits ? 1 : 0;
      }
      all += here;
      one.node.hidden = here === 0;
      if (wanted.length > 0) {
        one.wasOpen ??= one.node.open;
        one.node.open = here > 0;
      } else if (one.wasOpen !== null) {
        one.node.open = one.wasOpen;
        one.wasOpen = null;
      }
    }
    setText(found, wanted.length === 0 ? '' : t('form.search.found', { n: all }));
  }
  search.addEventListener('input', filter);

  return {
    node: el('section', { class: 'panel all-settings', 'aria-labelledby': `${id}-title` },
      el('h2', { id: `${id}-title` }, t('form.all')),
      el('div', { class: 'field search' }, el('label', { for: id }, t('form.search')), search, found),
      sections.map((one) => one.node)),

    // Takes the fields that the task does not show above.
    place(draft) {
      for (const one of sections) {
        const here = one.section.settings.filter(({ key }) => isInSection(draft, key)).map(({ key }) => fields.get(key).node);
        one.place.replaceChildren(...here);
      }
      filter();
    },

    show(draft) {
      for (const one of sections) {
        const changed = one.section.settings.filter((setting) => isInSection(draft, setting.key) && isChanged(draft, setting)).length;
        setText(one.count, changed === 0 ? '' : t('form.changed_count', { n: changed }));
      }
    },

    // So that a field can be seen and focused.
    reveal(key) {
      for (const one of sections)
        if (one.place.contains(fields.get(key).node)) {
          one.node.hidden = false;
          one.node.open = true;
          fields.get(key).node.hidden = false;
        }
    },
  };
}
