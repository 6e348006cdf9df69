// The table of runs: what each is doing, sorted, filtered, and chosen for comparing.

import { api, isAbort } from '../api.js';
import { append, el, fill, freshId, setText } from '../dom.js';
import { ago, count, date, isKnown, loss, percent, seconds, unknown } from '../format.js';
import { live } from '../live.js';
import { makeLiveTable } from '../live_table.js';
import { empty, failed, progress, stateMark, stateWord } from '../parts.js';
import { hashOf } from '../routes.js';
import { t } from '../texts.js';

const renewal = 20000;  // milliseconds after which "3 min ago" is said anew

const share = (run) => (run.steps > 0 ? run.step / run.steps : null);

// What columns are sorted by; what is not known comes last, in either direction.
const values = {
  name: (run) => run.name,
  state: (run) => stateWord(run.state),
  steps: share,
  loss: (run) => run.loss,
  valid: (run) => run.valid_loss,
  speed: (run) => run.tokens_per_second,
  eta: (run) => run.eta_seconds,
  model: (run) => run.model,
  layout: (run) => run.layout,
  hosts: (run) => run.hosts.join(', '),
  changed: (run) => run.changed,
};
const downFirst = new Set(['steps', 'speed', 'changed']);

function sorted(list, id, direction) {
  if (id === '') return list;  // as the server gives them
  const value = values[id];
  const known = (run) => value(run) !== null && value(run) !== undefined && value(run) !== '';
  const order = new Intl.Collator(undefined, { numeric: true });
  const compare = (a, b) => (typeof a === 'string' ? order.compare(a, b) : a - b);
  return [...list].sort((a, b) => {
    if (known(a) !== known(b)) return known(a) ? -1 : 1;
    return known(a) ? direction * compare(value(a), value(b)) : 0;
  });
}

function isFound(run, words) {
  const text = [run.name, run.state, stateWord(run.state), run.model, run.layout, run.precision, ...run.hosts].join(' ').toLowerCase();
  return words.every((word) => text.includes(word));
}

function stepsCell(run) {
  const key = `${run.step} ${run.steps}`;
  return {
    key,
    make: () => [
      el('span', { class: 'count' }, el('span', {}, run.steps > 0 ? t('runs.step_of', { step: count(run.step), steps: count(run.steps) })
        : count(run.step)), el('span', {}, isKnown(share(run)) ? percent(Math.floor(share(run) * 100) / 100) : '')),
      progress(share(run), t('runs.progress_of', { name: run.name })),
    ],
  };
}

function makeColumns(picked, onPick) {
  return [
    {
      id: 'pick', head: '', name: t('runs.compare'),
      show: (run) => ({
        key: run.name,
        make: () => el('input', {
          type: 'checkbox', checked: picked.has(run.name), 'aria-label': t('runs.pick', { name: run.name }),
          onchange: (event) => onPick(run.name, event.target.checked),
        }),
      }),
    },
    {
      id: 'name', head: t('runs.name'), class: 'name whole', sorts: true, rowHead: true, plain: true,
      show: (run) => ({ key: run.name, make: () => el('a', { href: hashOf('run', run.name) }, run.name) }),
    },
    { id: 'state', head: t('runs.state'), sorts: true, plain: true, show: (run) => ({ key: run.state, make: () => stateMark(run.state) }) },
    { id: 'steps', head: t('runs.steps'), class: 'steps', sorts: true, plain: true, show: stepsCell },
    { id: 'loss', head: t('runs.loss'), n: true, sorts: true, show: (run) => loss(run.loss) },
    { id: 'valid', head: t('runs.valid_loss'), n: true, class: 'valid', sorts: true, show: (run) => loss(run.valid_loss) },
    { id: 'speed', head: t('runs.speed'), n: true, sorts: true, show: (run) => count(run.tokens_per_second) },
    { id: 'eta', head: t('runs.eta'), n: true, sorts: true, show: (run) => seconds(run.eta_seconds > 0 ? run.eta_seconds : null) },
    { id: 'model', head: t('runs.model'), class: 'model wide', sorts: true, show: (run) => twoLines(run.model, modelName(run.model)) },
    { id: 'layout', head: t('runs.layout'), class: 'model wide', sorts: true, show: (run) => twoLines(run.layout, layoutName(run)) },
    { id: 'hosts', head: t('runs.hosts'), class: 'model wide', sorts: true, show: hostsOf },
    {
      id: 'changed', head: t('runs.changed'), class: 'when', sorts: true,
      show: (run) => ({ key: ago(run.changed), make: () => el('time', { title: date(run.changed) }, ago(run.changed)) }),
    },
  ];
}

// A text takes two lines of the table at most; all of it is in the title and on the run's page.
function twoLines(text, name = text) {
  return !text ? unknown : { key: text, make: () => el('span', { class: 'two-lines', title: text }, name) };
}

// "qwen3-tiny" of "qwen3-tiny: 4 layers, ...".
function modelName(text) {
  return (text ?? '').split(/[:：]/)[0];
}

// "dp 2 × pp 2"
function layoutName(run) {
  const degrees = ['dp', 'pp', 'tp', 'cp'].filter((axis) => run[axis] > 1).map((axis) => `${axis} ${run[axis]}`).join(' × ');
  return degrees === '' ? (run.ranks > 1 ? t('runs.ranks_n', { n: count(run.ranks) }) : t('runs.rank_one')) : degrees;
}

function nothingYet({ folder, view_only: viewOnly }) {
  return el('div', { class: 'panel' }, el('p', {}, t('runs.none', { folder })),
    viewOnly ? el('p', { class: 'muted' }, t('runs.none_view')) : el('p', {}, el('a', { class: 'button primary', href: '#/new' }, t('runs.none_start'))));
}

function hostsOf(run) {
  const names = run.hosts.length > 3 ? [...run.hosts.slice(0, 2), t('runs.more_hosts', { n: run.hosts.length - 2 })] : run.hosts;
  return twoLines(names.join(', '));
}

export function mount(parent, { session, query, go }) {
  const picked = new Set(query.getAll('pick'));
  let words = query.get('filter') ?? '';
  let [sort, direction] = [query.get('sort') ?? '', query.get('down') === null ? 1 : -1];
  if (!Object.hasOwn(values, sort)) sort = '';
  let list = live.runs;
  const stopping = new AbortController();

  // The address keeps what was chosen, for reloading, coming back and passing on.
  function keep() {
    const kept = new URLSearchParams();
    if (words !== '') kept.set('filter', words);
    if (sort !== '') kept.set('sort', sort);
    if (sort !== '' && direction < 0) kept.set('down', '1');
    for (const name of picked) kept.append('pick', name);
    const text = kept.toString();
    history.replaceState(null, '', `#/runs${text === '' ? '' : `?${text}`}`);
  }

  function choose(id) {
    if (id === sort) direction = -direction;
    else [sort, direction] = [id, downFirst.has(id) ? -1 : 1];
    keep();
    show();
  }

  const columns = makeColumns(picked, (name, is) => {
    if (is) picked.add(name);
    else picked.delete(name);
    keep();
    show();
  });
  const table = makeLiveTable({
    caption: t('runs.title'), columns, keyOf: (run) => run.name, onSort: choose, className: 'of-runs',
    mark: (row, run) => {
      row.dataset.run = run.name;
      row.dataset.state = run.state;
      row.dataset.picked = String(picked.has(run.name));
    },
  });
  table.node.classList.add('runs');

  const found = el('span', { class: 'muted', role: 'status' });
  const compare = el('button', { type: 'button', class: 'compare', onclick: () => go(hashOf('compare', ...picked)), disabled: true }, t('runs.compare'));
  const filterId = freshId('filter');
  const filter = el('input', {
    id: filterId, type: 'search', value: words, placeholder: t('runs.filter'), 'aria-label': t('runs.filter'), autocomplete: 'off',
    oninput: (event) => {
      words = event.target.value;
      keep();
      show();
    },
  });
  const sortId = freshId('sort');
  const sortBy = el('select', { id: sortId, onchange: (event) => (event.target.value === '' ? unsort() : choose(event.target.value)) },
    el('option', { value: '' }, t('runs.newest')), columns.filter((column) => column.sorts).map((column) => el('option', { value: column.id }, column.head)));
  const nothing = el('div', {});
  const errors = el('div', {});

  function unsort() {
    sort = '';
    keep();
    show();
  }

  function show() {
    if (list === null) return;
    const wanted = words.toLowerCase().split(/\s+/).filter((word) => word !== '');
    const names = new Set(list.map((run) => run.name));
    for (const name of picked) if (!names.has(name)) picked.delete(name);
    const shown = sorted(list.filter((run) => isFound(run, wanted)), sort, direction);
    table.update(shown);
    table.sorted(sort, direction);
    sortBy.value = sort;
    setText(found, wanted.length === 0 ? t('runs.count', { n: list.length }) : t('runs.found', { n: shown.length, all: list.length }));
    setText(compare, picked.size < 2 ? t('runs.compare') : t('runs.compare_n', { n: picked.size }));
    compare.disabled = picked.size < 2;
    compare.title = picked.size < 2 ? t('runs.compare_how') : '';
    table.node.dataset.valid = String(list.some((run) => isKnown(run.valid_loss)));
    table.node.hidden = shown.length === 0;
    if (shown.length > 0) fill(nothing);
    else if (list.length === 0) fill(nothing, nothingYet(session));
    else fill(nothing, empty(t('runs.none_found')));
  }

  append(parent, [
    el('div', { class: 'page-head' }, el('h1', {}, t('runs.title')), found,
      el('div', { class: 'toolbar' }, filter,
        el('label', { class: 'sort-by', for: sortId }, t('runs.sort'), sortBy), compare,
        session.view_only ? null : el('a', { class: 'button primary', href: '#/new' }, t('nav.new')))),
    errors, nothing, table.node,
  ]);
  table.node.hidden = true;
  if (list === null) fill(nothing, empty(t('busy')));
  show();

  const off = live.onRuns((next) => {
    list = next;
    fill(errors);
    show();
  });
  // The stream may be slow to come, or not get through at all.
  if (list === null)
    api.get('runs', {}, { signal: stopping.signal }).then((next) => {
      if (list !== null) return;
      list = next;
      show();
    }, (error) => isAbort(error) || (fill(errors, failed(error)), fill(nothing)));
  const timer = setInterval(show, renewal);

  return {
    unmount() {
      off();
      clearInterval(timer);
      stopping.abort();
    },
  };
}
