// Several runs in the same charts, their last numbers, and the settings in which they differ. The address has their names.

import { differing, settingsOf } from '../compare/settings.js';
import { Board } from '../curves/board.js';
import { lookOf } from '../curves/paint.js';
import { swatch } from '../curves/panel.js';
import { value } from '../curves/units.js';
import { el, fill, freshId } from '../dom.js';
import { count, loss } from '../format.js';
import { empty, failed, note, panel, stateMark, table } from '../parts.js';
import { hashOf } from '../routes.js';

const mostRuns = 16;  // as many as one stream of events follows

function runHead(name, n) {
  const look = lookOf(n);
  return [swatch(look), ' ', el('b', {}, look.letter), ' ', el('a', { href: hashOf('run', name, 'curves'), class: 'anywhere' }, name)];
}

// What is chosen, and how to change it.
function picker({ t, go }, names, list) {
  const others = list.filter(({ name }) => !names.includes(name));
  if (names.length >= mostRuns) return el('p', { class: 'muted' }, t('compare.full', { n: mostRuns }));
  const id = freshId('add');
  const choice = el('select', { id, value: '' }, el('option', { value: '' }, t('compare.choose')),
    others.map(({ name }) => el('option', { value: name }, name)));
  return el('div', { class: 'toolbar' }, el('label', { for: id }, t('compare.add')), choice,
    el('button', { type: 'button', onclick: () => choice.value !== '' && go(hashOf('compare', ...names, choice.value)) }, t('compare.add.do')));
}

function lastNumbers({ t, go }, names, list) {
  const remove = (name) => {
    const rest = names.filter((other) => other !== name);
    return el('button', {
      type: 'button', class: 'quiet', 'aria-label': t('compare.remove.run', { run: name }),
      onclick: () => go(rest.length > 0 ? hashOf('compare', ...rest) : hashOf('runs')),
    }, t('compare.remove'));
  };
  const figure = (text) => el('td', { class: 'n' }, text);
  const rows = names.map((name, n) => {
    const run = list.find((one) => one.name === name);
    return el('tr', { dataset: { run: name } }, el('th', { scope: 'row' }, runHead(name, n)),
      run === undefined ? el('td', { colspan: 6 }, t('compare.gone', { run: name }))
        : [el('td', {}, stateMark(run.state)), figure(count(run.step)), figure(loss(run.loss)), figure(loss(run.valid_loss)),
          figure(value('tokens_per_second', run.tokens_per_second)), el('td', {}, run.layout)],
      el('td', {}, remove(name)));
  });
  const head = (text, n = false) => ({ text, n });
  const made = table(t('compare.last'), [head(t('compare.run')), head(t('compare.state')), head(t('compare.step'), true),
    head(t('curves.series.loss'), true), head(t('curves.series.valid_loss'), true), head(t('curves.series.tokens_per_second'), true),
    head(t('compare.layout')), head('')], rows);
  made.classList.add('last-numbers');
  return made;
}

async function settingsTable({ api, t }, names) {
  if (names.length < 2) return el('p', { class: 'empty' }, t('compare.few'));
  const answers = await Promise.allSettled(names.map((name) => api.get(api.run(name, 'config'))));
  const known = names.map((name, n) => ({ name, n, answer: answers[n] })).filter(({ answer }) => answer.status === 'fulfilled');
  const trouble = names.flatMap((name, n) => (answers[n].status === 'rejected' ? note('warn', `${name}: ${answers[n].reason.message}`) : []));
  const rows = differing(known.map(({ answer }) => settingsOf(answer.value.yaml ?? '')));
  if (rows.length === 0) return [trouble, known.length > 1 ? el('p', { class: 'empty' }, t('compare.same')) : null];
  const cell = (text) => (text === undefined ? el('td', { class: 'muted' }, t('compare.unstated')) : el('td', { class: 'mono' }, text));
  const heads = [{ text: t('compare.setting') }, ...known.map(({ n, name }) => ({ text: `${lookOf(n).letter} ${name}` }))];
  const made = table(t('compare.settings'), heads, rows.map(([name, values]) => el('tr', {}, el('th', { scope: 'row', class: 'mono' }, name), values.map(cell))));
  made.classList.add('differing');
  return [trouble, made];
}

export function mount(parent, context) {
  const { t, live, api } = context;
  const asked = [...new Set(context.runs)].slice(0, mostRuns);
  const picked = el('div', {});
  const missing = el('div', {});
  const numbers = el('div', {});
  const settings = el('div', { class: 'stacked' });
  const charts = el('div', {});
  const head = el('div', { class: 'page-head' }, el('h1', {}, t('compare.title')), picked);
  parent.append(el('div', { class: 'stacked compare-page' }, head, missing, charts, panel(t('compare.last'), numbers), panel(t('compare.settings'), settings)));

  let board = null;
  let off = () => {};
  let gone = false;
  let told = '';
  function show(list, names) {
    const known = JSON.stringify(list.map(({ name }) => name));
    if (known !== told) fill(picked, picker(context, names, list));  // an open choice stays as it is otherwise
    told = known;
    fill(numbers, lastNumbers(context, names, list));
  }

  // Of runs that are there; the curves of all are one question, which one wrong name would spoil.
  async function start() {
    const list = live.runs ?? await api.get('runs');
    if (gone) return;
    const names = asked.filter((name) => list.some((run) => run.name === name));
    fill(missing, asked.filter((name) => !names.includes(name)).map((name) => note('warn', t('compare.gone', { run: name }))),
      names.length === 0 ? empty(t('compare.none')) : null);
    show(list, names);
    off = live.onRuns((now) => show(now, names));
    if (names.length === 0) return;
    board = new Board(charts, names, live);
    fill(settings, await settingsTable(context, names));
  }

  start().catch((error) => !gone && fill(missing, failed(error)));
  return {
    unmount() {
      gone = true;
      off();
      board?.unmount();
    },
  };
}
