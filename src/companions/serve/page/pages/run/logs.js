// The logs of a run: of all ranks or one, searched, older lines as one scrolls up, new ones as they come.

import { api, isAbort } from '../../api.js';
import { append, el, fill, freshId, setText } from '../../dom.js';
import { empty, failed } from '../../parts.js';
import { t } from '../../texts.js';
import { makeLogSource } from './log_source.js';

const between = 2000;        // milliseconds between two looks at the end of a log
const betweenLogs = 100;     // the same for each log, where there are many
const betweenLooks = 10000;  // for logs that were not there
const typing = 250;          // milliseconds without a key until what was typed is searched
const nearTop = 80;          // pixels, from where older lines are read by themselves

const keyOf = (line) => `${line.rank} ${line.offset}`;
const isBad = (text) => /\b(error|fatal|failed|killed)\b/i.test(text);

function marked(text, search) {
  if (search === '') return [text];
  const parts = [];
  const lower = text.toLowerCase();
  const wanted = search.toLowerCase();
  let at = 0;
  // Where case changes a text's length, places in the one are not those in the other.
  if (lower.length === text.length)
    for (let hit = lower.indexOf(wanted); hit >= 0; hit = lower.indexOf(wanted, at)) {
      parts.push(text.slice(at, hit), el('mark', {}, text.slice(hit, hit + wanted.length)));
      at = hit + wanted.length;
    }
  return [...parts, text.slice(at)];
}

export function mount(parent, { run: name, summary }) {
  const stopping = new AbortController();
  let source = null;
  let asking = new AbortController();  // ends what was asked of the last source
  let which = '';
  let chosen = '';     // by the reader
  let search = '';
  let logs = [];       // that there are: 'run', 'launch', ranks
  let there = '';
  let looked = 0;
  let lookedForLogs = 0;
  let busy = false;
  let timer = 0;
  let typed = 0;
  const nodes = new Map();

  const list = el('ol', {});
  const more = el('button', { type: 'button', class: 'quiet', onclick: () => older() }, t('log.older'));
  const moreRow = el('div', { class: 'log-more', hidden: true }, more);
  const log = el('div', { class: 'log', tabindex: 0, role: 'region', 'aria-label': t('log.lines'), onscroll: () => log.scrollTop < nearTop && older() }, moreRow, list);
  const told = el('div', {});
  const found = el('span', { class: 'muted', role: 'status' });
  const ids = { which: freshId('log'), search: freshId('log'), follow: freshId('log') };
  const choice = el('select', { id: ids.which, onchange: () => { which = chosen = choice.value; begin(); } });
  const follow = el('input', { id: ids.follow, type: 'checkbox', checked: summary()?.can.includes('stop') ?? true, onchange: () => follow.checked && newest() });
  const field = el('input', {
    id: ids.search, type: 'search', placeholder: t('log.search'), autocomplete: 'off',
    oninput: () => {
      clearTimeout(typed);
      typed = setTimeout(() => {
        search = field.value;
        begin();
      }, typing);
    },
  });

  // next: the logs that there are.
  function offer(next) {
    const words = { run: t('log.of_run'), launch: t('log.of_launch') };
    logs = [...Object.keys(words).filter((log) => next.includes(log)), ...next.filter((log) => typeof log === 'number')];
    fill(choice, logs.length > 1 ? el('option', { value: 'all' }, t('log.of_all')) : null,
      logs.map((log) => el('option', { value: String(log) }, words[log] ?? t('log.of_rank', { rank: log }))));
    choice.disabled = logs.length === 0;
    which = [...choice.options].some((option) => option.value === chosen) ? chosen : choice.options[0]?.value ?? '';
    choice.value = which;
  }

  // What the launcher said is in the log of the run as well.
  const isWanted = (log) => which === String(log) || (which === 'all' && log !== 'launch');
  const nameOf = (log) => (log === 'run' ? t('log.of_run') : t('log.of_rank', { rank: log }));

  function nodeOf(line) {
    const key = keyOf(line);
    if (!nodes.has(key))
      nodes.set(key, el('li', { class: isBad(line.text) ? 'bad' : null },
        which === 'all' ? el('span', { class: 'of-rank', title: nameOf(line.rank) }, line.rank) : null,
        el('span', {}, marked(line.text, search))));
    return nodes.get(key);
  }

  // Of what is no longer among the lines.
  function forget(lines) {
    const kept = new Set(lines.map(keyOf));
    for (const key of nodes.keys()) if (!kept.has(key)) nodes.delete(key);
  }

  // stay: 'end' shows the newest line, 'place' what is being read.
  function show(stay) {
    const height = log.scrollHeight;
    const top = log.scrollTop;
    const lines = source.lines;
    const wanted = lines.map(nodeOf);
    const had = list.childElementCount;
    const isLonger = had > 0 && wanted.length >= had && wanted[0] === list.firstElementChild && wanted[had - 1] === list.lastElementChild;
    if (isLonger) list.append(...wanted.slice(had));
    else list.replaceChildren(...wanted);
    if (nodes.size > 2 * wanted.length + 1000) forget(lines);
    moreRow.hidden = !source.hasOlder;
    log.hidden = lines.length === 0 && !source.hasOlder;
    fill(told, lines.length > 0 ? null : empty(t(search !== '' ? (source.hasOlder ? 'log.none_found_yet' : 'log.none_found') : 'log.none')));
    setText(found, [t('log.count', { n: lines.length }), source.left > 0 ? t('log.left_out', { n: source.left }) : ''].join(' ').trim());
    if (stay === 'end') log.scrollTop = log.scrollHeight;
    else if (!isLonger) log.scrollTop = top + log.scrollHeight - height;
  }

  async function guarded(act) {
    if (busy) return;
    busy = true;
    const mine = source;
    try {
      await act();
    } catch (error) {
      if (!isAbort(error) && mine === source) fill(told, failed(error));
    }
    if (mine === source) busy = false;
  }

  function older() {
    if (source === null || !source.hasOlder || log.hidden) return;
    guarded(async () => {
      const mine = source;
      more.disabled = true;
      await mine.older();
      more.disabled = false;
      if (mine === source) show('place');
    });
  }

  function newest() {
    guarded(async () => {
      const mine = source;
      const atEnd = log.scrollTop + log.clientHeight > log.scrollHeight - 30;
      if (await mine.newer() && mine === source) show(atEnd ? 'end' : 'place');
    });
  }

  function begin() {
    asking.abort();
    asking = new AbortController();
    source = makeLogSource(name, logs.filter(isWanted), search, asking.signal);
    nodes.clear();
    busy = false;
    guarded(async () => {
      const mine = source;
      await mine.begin();
      if (mine === source) show('end');
    });
  }

  append(parent, [el('section', { class: 'panel', 'aria-label': t('run.tab.logs') },
    el('div', { class: 'panel-head toolbar' },
      el('label', { for: ids.which }, t('log.which')), choice,
      el('label', { class: 'hidden-text', for: ids.search }, t('log.search')), field,
      el('label', { class: 'check', for: ids.follow }, follow, t('log.follow')), found),
    told, log)]);
  log.hidden = true;
  fill(told, empty(t('busy')));

  // Which logs there are: a run that begins has more of them after a while.
  async function look() {
    lookedForLogs = Date.now();
    try {
      const { ranks } = await api.get(api.run(name, 'log'), { rank: 'run', limit: 1 }, { signal: stopping.signal });
      if (source !== null && ranks.join() === there) return;
      there = ranks.join();
      offer(ranks);
      begin();
    } catch (error) {
      if (!isAbort(error)) fill(told, failed(error));
    }
  }

  look();
  timer = setInterval(() => {
    if (!follow.checked || source === null || document.hidden || Date.now() - looked < source.count * betweenLogs) return;
    looked = Date.now();
    if (looked - lookedForLogs > betweenLooks) look();
    newest();
  }, between);

  return {
    unmount() {
      clearInterval(timer);
      clearTimeout(typed);
      asking.abort();
      stopping.abort();
    },
  };
}
