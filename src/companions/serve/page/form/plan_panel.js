// What the run will take as the form is now, the layouts it could have, and what says the same for a terminal.

import { el, fill, freshId, setText } from '../dom.js';
import { bytes, count, percent, seconds, short } from '../format.js';
import { copyBox, fact, note, reasons, stackedBar } from '../parts.js';
import { t } from '../texts.js';
import { layoutName } from './layout_name.js';

const classes = ['parameters', 'gradients', 'state', 'activations', 'program'];

function memoryBar(memory, total) {
  const parts = classes.map((kind) => ({
    kind, word: t(`form.memory.${kind}`), share: (memory[kind] ?? 0) / total, said: bytes(memory[kind]),
  }));
  return stackedBar(parts, { label: t('form.memory'), of: memory.available > 0 ? total / memory.available : 1, leastSaid: 0 });
}

function wholeRun(estimate, { steps, exact }) {
  if (!(steps > 0)) return el('small', {}, t('form.plan.by_data'));
  const span = seconds(estimate.step_seconds * steps);
  return exact ? span : [t('form.plan.about', { span }), el('small', {}, ` ${t('form.plan.steps', { steps: count(steps) })}`)];
}

function figures(estimate, length) {
  return el('dl', { class: 'facts figures' },
    fact(t('form.plan.memory'), bytes(estimate.memory_bytes),
      estimate.memory?.available > 0 ? el('small', {}, ` ${t('form.plan.of', { bytes: bytes(estimate.memory.available) })}`) : null),
    fact(t('form.plan.step'), seconds(estimate.step_seconds)),
    fact(t('form.plan.tokens'), short(estimate.tokens_per_second)),
    fact(t('form.plan.whole'), wholeRun(estimate, length)));
}

function layoutRow(layout, fastest, take) {
  const name = layoutName(layout);
  return el('li', { class: 'layout' },
    el('div', {}, el('span', { class: 'layout-name' }, name), ' ',
      el('span', { class: 'muted' }, t('form.layout.takes', {
        tokens: short(layout.tokens_per_second), step: seconds(layout.step_seconds), memory: bytes(layout.memory_bytes),
        share: percent(layout.tokens_per_second / fastest),
      }))),
    el('button', { type: 'button', 'aria-label': t('form.layout.take.label', { name }), onclick: () => take(layout) }, t('form.layout.take')));
}

// take(layout), open(): what was chosen among the layouts; start(): the button.
export function makePlanPanel({ take, open, start }) {
  const id = freshId('plan');
  const told = el('p', { class: 'hidden-text', role: 'status' });
  const result = el('div', { class: 'plan-result' }, el('p', { class: 'empty' }, t('form.plan.waiting')));
  const layouts = el('details', { class: 'layouts', hidden: true });
  const command = copyBox('', t('form.command'));
  const yaml = copyBox('', t('form.yaml'));
  const copies = el('details', { hidden: true }, el('summary', {}, t('form.copies')), command, yaml);
  const button = el('button', { type: 'button', class: 'primary start', onclick: start }, t('form.start'));
  const problem = el('div', { class: 'start-problem' });
  const node = el('section', { class: 'panel plan', 'aria-labelledby': id },
    el('h2', { id }, t('form.plan')), result, told, el('div', { class: 'start-row' }, button, problem), layouts, copies);

  function showLayouts(answer, hasLayout) {
    const list = answer.layouts ?? [];
    layouts.hidden = list.length === 0;
    if (layouts.hidden) return;
    const wasOpen = layouts.open;
    fill(layouts, el('summary', {}, t('form.layouts')),
      el('p', { class: 'muted' }, t('form.layouts.help')),
      el('ol', { class: 'plain' }, list.map((layout) => layoutRow(layout, list[0].tokens_per_second, take))),
      hasLayout ? el('button', { type: 'button', onclick: open }, t('form.layouts.open')) : null);
    layouts.open = wasOpen || answer.asked?.fits === false;
  }

  function showEstimate(answer, lengthOf) {
    const shown = answer.asked ?? answer.layouts?.[0];
    if (!shown) {
      fill(result, note('warn', answer.nearest ? String(answer.nearest) : t('form.plan.none')));
      setText(told, t('form.plan.none'));
      return;
    }
    const fits = shown.fits !== false;
    const others = answer.layouts?.length > 0 ? t('form.plan.others_fit') : (answer.nearest ?? '');
    fill(result,
      fits ? null : note('warn', t('form.plan.too_large'), ' ', others),
      el('p', { class: 'layout-name' }, layoutName(shown)),
      figures(shown, lengthOf(shown)),
      shown.memory ? memoryBar(shown.memory, shown.memory_bytes) : null,
      el('ul', { class: 'plain reasons' }, (shown.reasons ?? []).map((reason) => el('li', {}, reason))));
    setText(told, t(fits ? 'form.plan.said' : 'form.plan.said_too_large', {
      memory: bytes(shown.memory_bytes), step: seconds(shown.step_seconds), tokens: count(shown.tokens_per_second),
    }));
  }

  return {
    node,
    // lengthOf(estimate): {steps, exact} of the whole run.
    show(answer, { lengthOf, hasLayout }) {
      node.removeAttribute('aria-busy');
      node.classList.remove('stale');
      if (answer.errors?.length > 0) {
        fill(result, note('warn', t('form.plan.errors', { n: answer.errors.length })));
        setText(told, t('form.plan.errors', { n: answer.errors.length }));
        layouts.hidden = true;
      } else {
        showEstimate(answer, lengthOf);
        showLayouts(answer, hasLayout);
      }
      copies.hidden = !answer.command && !answer.yaml;
      command.show(answer.command ?? '');
      yaml.show(answer.yaml ?? '');
    },
    stale() {
      node.setAttribute('aria-busy', 'true');
      node.classList.add('stale');
    },
    // Nothing can be planned yet, and why.
    waitsFor(text) {
      node.removeAttribute('aria-busy');
      node.classList.remove('stale');
      fill(result, note('info', text));
      setText(told, text);
      layouts.hidden = copies.hidden = true;
    },
    failed(error) {
      node.removeAttribute('aria-busy');
      node.classList.remove('stale');
      fill(result, note('warn', error.message));
      layouts.hidden = true;
    },
    starting(truth) {
      button.disabled = truth;
      fill(problem);
    },
    // One box, until the form changes.
    cannotStart({ message, why }) {
      fill(problem, note('error', why ? reasons(why) : message));
    },
    changed() {
      fill(problem);
    },
  };
}
