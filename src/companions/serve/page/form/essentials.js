// The few things that matter: a name, what to do, with what, on how many processes. Each with a sentence.

import { el, fill, freshId, setText } from '../dom.js';
import { count } from '../format.js';
import { t } from '../texts.js';
import { essentialsOf, leastSteps, tasks } from './advice.js';
import { lengthOf } from './model.js';

function plainField(label, control, help, id) {
  const [helpId, faultId] = [freshId('help'), freshId('fault')];
  control.setAttribute('aria-describedby', `${helpId} ${faultId}`);
  const fault = el('p', { class: 'error', id: faultId, hidden: true });
  return {
    node: el('div', { class: 'field' }, el('label', { for: id }, label), control, el('p', { class: 'help', id: helpId }, help), fault),
    fault(text) {
      fault.hidden = text === '';
      setText(fault, text);
      if (text === '') control.removeAttribute('aria-invalid');
      else control.setAttribute('aria-invalid', 'true');
    },
    focus: () => control.focus(),
  };
}

function nameField(changed) {
  const id = freshId('name');
  const input = el('input', { type: 'text', id, autocomplete: 'off', spellcheck: 'false', autocapitalize: 'off', maxlength: 100, required: true });
  input.addEventListener('input', () => changed({ name: input.value }));
  return { ...plainField(t('form.name'), input, t('form.name.help'), id), input };
}

function processesField(cores, changed) {
  const id = freshId('processes');
  const input = el('input', { type: 'number', id, min: 1, max: 1024, step: 1, inputmode: 'numeric' });
  input.addEventListener('input', () => {
    const number = Number(input.value);
    if (Number.isInteger(number) && number >= 1 && number <= 1024) changed({ processes: number });
  });
  return { ...plainField(t('form.processes'), input, t('form.processes.help', { cores }), id), input };
}

function taskChoice(changed) {
  const name = freshId('task');
  const inputs = new Map();
  const choices = tasks.map((task) => {
    const id = freshId('task');
    const input = el('input', { type: 'radio', id, name, value: task, 'aria-describedby': `${id}-help`, onchange: () => changed({ task }) });
    inputs.set(task, input);
    return el('div', { class: 'task' }, input, el('label', { for: id }, t(`form.task.${task}`)),
      el('p', { class: 'help', id: `${id}-help` }, t(`form.task.${task}.help`)));
  });
  return { node: el('fieldset', { class: 'tasks' }, el('legend', {}, t('form.task')), choices), inputs };
}

// Steps or passes over the data: the control that is not chosen is not shown, as only one of the two counts.
function lengthChoice(changed) {
  const id = freshId('length');
  const select = el('select', { id, onchange: () => changed(select.value) },
    el('option', { value: 'train.epochs' }, t('form.length.epochs')), el('option', { value: 'train.steps' }, t('form.length.steps')));
  const updates = el('p', { class: 'help updates', id: `${id}-updates` });
  select.setAttribute('aria-describedby', updates.id);
  return {
    node: el('div', { class: 'field' }, el('label', { for: id }, t('form.length')), select,
      el('div', { class: 'help' }, updates, el('p', {}, t('form.length.help')))),
    select,
    // length: {steps, exact} as stepsOf has it.
    tell({ steps, exact }, task) {
      const few = task !== 'scratch' && steps !== null && steps < leastSteps;
      const said = exact || steps === null ? '' : t('form.updates', { n: count(steps) });
      setText(updates, few ? t('form.updates.few', { said, n: leastSteps }).trim() : said);
      updates.hidden = updates.textContent === '';
    },
  };
}

// changed({name} or {task} or {processes}), lengthChanged(key). examples: the node below the field of the data.
export function makeEssentials({ catalog, fields, cores, changed, lengthChanged, examples }) {
  const name = nameField(changed);
  const processes = processesField(cores, changed);
  const task = taskChoice(changed);
  const length = lengthChoice(lengthChanged);
  const ofTask = el('div', { class: 'fields' }), rest = el('div', { class: 'fields' });
  const id = freshId('essentials');
  const node = el('section', { class: 'panel essentials', 'aria-labelledby': id },
    el('h2', { id }, t('form.essentials')), el('div', { class: 'fields' }, name.node, processes.node), task.node, ofTask, rest);

  return {
    node,
    name,

    place(draft) {
      const nodes = essentialsOf(draft.task).flatMap((key) => {
        const field = fields.get(key);
        if (field === undefined) return [];
        return key === 'train.steps' ? [length.node, field.node] : [field.node];
      });
      // What there is to learn from, with its examples, comes before how it is learnt.
      const first = nodes.indexOf(length.node);
      fill(ofTask, nodes.slice(0, first), examples);
      fill(rest, nodes.slice(first));
      for (const one of nodes) one.hidden = false;
    },

    // length: {steps, exact} of the run.
    show(draft, howLong) {
      if (name.input.value !== draft.name) name.input.value = draft.name;
      if (Number(processes.input.value) !== draft.processes && processes.input !== document.activeElement) processes.input.value = String(draft.processes);
      task.inputs.get(draft.task).checked = true;
      const chosen = lengthOf(draft, catalog);
      length.select.value = chosen;
      length.tell(howLong, draft.task);
      for (const key of ['train.steps', 'train.epochs']) fields.get(key).node.hidden = key !== chosen;
    },
  };
}
