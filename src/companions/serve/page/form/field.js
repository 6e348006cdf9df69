// One setting in the form: its name, its control, what it means, whether it was changed, and what is wrong with it.

import { el, fill, freshId, setText } from '../dom.js';
import { inLanguage, lookup, t } from '../texts.js';
import { controlOf } from './controls.js';
import { isChanged, isDecided, isOfFolder, offeredValue, valueOf } from './model.js';

const unitOf = (setting) => (setting.unit ? (lookup(`unit.${setting.unit}`) ?? setting.unit) : '');

export const helpOf = (setting) => lookup(`form.help.${setting.key}`) ?? inLanguage(setting.help);
export const nameOf = (setting) => lookup(`form.label.${setting.key}`) ?? setting.key.slice(setting.key.indexOf('.') + 1);

// changed(setting, text): somebody typed or chose. What is shown follows show(draft) and faults(sentences).
export function fieldOf(setting, choices, changed) {
  const control = controlOf(setting, choices, () => changed(setting, control.get()));
  const [helpId, faultId] = [freshId('help'), freshId('fault')];
  const mark = el('span', { class: 'badge' }, t('form.changed'));
  const back = el('button', {
    type: 'button', class: 'quiet put-back',
    onclick: () => {
      changed(setting, null);
      document.getElementById(control.id)?.focus();
    },
  });
  const aside = el('span', { class: 'field-changed', hidden: true }, mark, back);
  const faults = el('p', { class: 'error', id: faultId, hidden: true });
  const friendly = lookup(`form.label.${setting.key}`) !== null;  // says its unit itself
  const unit = friendly ? '' : unitOf(setting);
  const label = el('label', { for: control.id }, nameOf(setting), unit === '' ? null : el('span', { class: 'unit' }, ` (${unit})`));
  const head = el('div', { class: 'field-head' }, setting.type === 'truth' ? [control.node, label] : label,
    friendly ? el('code', { class: 'muted' }, setting.key) : null);
  const help = el('p', { class: 'help', id: helpId }, helpOf(setting));
  control.describedBy(`${helpId} ${faultId}`);

  const node = el('div', { class: 'field', dataset: { key: setting.key } },
    head, setting.type === 'truth' ? null : control.node, aside, help, faults);

  return {
    node,
    setting,
    show(draft) {
      control.set(valueOf(draft, setting));
      const ofFolder = isOfFolder(draft, setting.key);
      control.disable(isDecided(draft, setting.key));
      const about = { help: helpOf(setting) };
      setText(help, !ofFolder ? about.help : isDecided(draft, setting.key) ? t('form.decided', about) : t('form.begun', about));
      aside.hidden = !isChanged(draft, setting);
      const offered = offeredValue(draft, setting);
      const said = offered === '' ? (setting.unset === null ? t('form.nothing') : inLanguage(setting.unset)) : offered;
      setText(back, t('form.put_back', { value: said }));
      back.setAttribute('aria-label', t('form.put_back.label', { name: nameOf(setting), value: said }));
    },
    faults(sentences) {
      faults.hidden = sentences.length === 0;
      fill(faults, sentences.join('\n'));
      control.invalid(sentences.length > 0);
    },
    focus: () => document.getElementById(control.id)?.focus(),
  };
}
