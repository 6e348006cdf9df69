// One run: its head, what may be asked of it, and its tabs.

import { api, isAbort } from '../api.js';
import { append, el, fill, setText } from '../dom.js';
import { count, isKnown, loss, percent, seconds } from '../format.js';
import { live } from '../live.js';
import { makeLivePart } from '../live_table.js';
import { busy, failed, note, progress, stateMark } from '../parts.js';
import { hashOf } from '../routes.js';
import { t } from '../texts.js';
import { makeActions } from './run/actions.js';
import { makeStanding } from './run/standing.js';

const soon = 400;  // milliseconds until a summary that is behind is asked for again
const patience = 30000;  // until a start that was asked for and came to nothing is no longer told

const tabs = {
  overview: () => import('./run/overview.js'),
  curves: () => import('./curves.js'),
  grid: () => import('./grid.js'),
  memory: () => import('./run/memory.js'),
  checkpoints: () => import('./run/checkpoints.js'),
  chat: () => import('./run/chat.js'),
  logs: () => import('./run/logs.js'),
  events: () => import('./run/events.js'),
  why: () => import('./run/why.js'),
  settings: () => import('./run/settings.js'),
};

function makeProgress() {
  const bar = el('div', {});
  const left = el('span', {});
  const right = el('span', {});
  const node = el('div', { class: 'run-head' }, bar, el('div', { class: 'count' }, left, right));
  let last;
  return {
    node,
    show({ step, steps, loss: ofStep, tokens_per_second: speed, eta_seconds: eta }, underWay) {
      const share = steps > 0 ? step / steps : null;
      if (share !== last) fill(bar, progress(share, t('run.progress')));
      last = share;
      setText(left, steps > 0
        ? t('run.step_of', { step: count(step), steps: count(steps), share: percent(Math.floor(share * 1000) / 1000, 1) })
        : t('run.step', { step: count(step) }));
      const said = [];
      if (isKnown(ofStep)) said.push(t('run.loss', { loss: loss(ofStep) }));
      if (isKnown(speed)) said.push(t('run.speed', { speed: count(speed) }));
      if (underWay && eta > 0) said.push(t('run.eta', { eta: seconds(eta) }));
      setText(right, said.join(' · '));
    },
  };
}

// Why a run failed, in a sentence, and behind it what it said at its end; why one cannot be read.
function endPart(name) {
  return makeLivePart({ class: 'run-end', 'aria-live': 'polite' }, ({ state, text, sentence }) => {
    if (text === '' || !['failed', 'stopped', 'unknown'].includes(state)) return null;
    const said = state !== 'failed' ? note(state === 'stopped' ? 'info' : 'error', text)
      : note('error', sentence === '' ? null : el('p', {}, el('strong', {}, sentence)), el('p', {}, text), el('p', {}, el('a', { href: hashOf('run', name, 'why') }, t('run.why'))));
    said.removeAttribute('role');
    return said;
  });
}

export function mount(parent, context) {
  const name = context.run;
  const stopping = new AbortController();
  let summary = null;
  let view = null;
  let tab = null;      // {id, part}
  let wanted = context.tab;
  let known = live.runs === null || live.runs.some((run) => run.name === name);  // to the server, as far as this page has heard
  let changes = 0;
  let renewal = 0;
  let waiting = 0;
  let reason = { of: null, sentence: '' };  // as `why` has it
  const listeners = new Set();

  const state = makeLivePart({ class: 'run-state' }, ({ word, text }) => stateMark(word, text));
  const standing = makeStanding();
  const actions = makeActions(context, name, { asked, answered });
  const steps = makeProgress();
  const end = endPart(name);
  const errors = el('div', {});
  const links = Object.keys(tabs).map((id) => el('a', { href: hashOf('run', name, id), dataset: { tab: id } }, t(`run.tab.${id}`)));
  const place = el('div', { class: 'tab' });

  append(parent, [
    el('p', { class: 'crumb' }, el('a', { href: '#/runs' }, t('nav.runs'))),
    el('div', { class: 'page-head' }, el('h1', {}, name), state, actions.node),
    steps.node, errors, end,
    el('nav', { class: 'tabs', 'aria-label': t('run.parts') }, links), place,
  ]);

  function showHead() {
    if (summary === null && view === null) return;
    const now = standing.now();
    state.show({ word: now.state, text: now.text });
    actions.show(now);
    steps.show(view?.progress ?? summary, now.underWay);
    const told = now.state === 'unknown' ? summary : view?.run ?? summary;
    const text = told?.text ?? '';
    if (now.state === 'failed') askWhy(text);
    else reason = { of: null, sentence: '' };
    end.show({ state: now.state, text, sentence: reason.sentence });
  }

  // Once for each failure.
  async function askWhy(failure) {
    if (failure === reason.of) return;
    reason = { of: failure, sentence: '' };
    try {
      const { cause, sentence } = await api.get(api.run(name, 'why'), {}, { signal: stopping.signal });
      if (failure !== reason.of || cause === 'none') return;
      reason.sentence = sentence;
      showHead();
    } catch {
      // What the run said is told.
    }
  }

  // The summary, until it and the view say the same.
  async function renew(tries = 10) {
    clearTimeout(renewal);
    renewal = 0;
    try {
      learn([await api.get(api.run(name), {}, { signal: stopping.signal })]);
    } catch {
      return;  // the list brings it
    }
    clearTimeout(renewal);
    renewal = 0;
    if (stopping.signal.aborted || (standing.agrees && standing.asked === null)) return;
    if (tries > 1) {
      renewal = setTimeout(() => renew(tries - 1), soon);
    } else if (!standing.agrees) {
      standing.takeSummary();
      showHead();
    }
  }

  // what: 'stop' or 'resume', from the click until the run has done it.
  function asked(what) {
    standing.ask(what);
    clearTimeout(waiting);
    if (what === 'resume') waiting = setTimeout(() => asked(null), patience);
    showHead();
  }

  function answered(taken) {
    if (!taken) asked(null);
    renew();
  }

  function learn(next) {
    const is = next.find((run) => run.name === name);
    if (is === undefined) {
      if (summary !== null) fill(errors, note('warn', t('run.gone')));
      return;
    }
    summary = is;
    fill(errors);
    if (standing.learnSummary(summary) && view !== null && !standing.agrees) renewal ||= setTimeout(() => renew(), soon);
    showHead();
    for (const listener of listeners) listener(summary);
    if (known) return;
    known = true;
    open();
  }

  function close() {
    tab?.part.unmount?.();
    tab = null;
    changes += 1;
  }

  async function open() {
    const id = Object.hasOwn(tabs, wanted) ? wanted : 'overview';
    for (const link of links)
      if (link.dataset.tab === id) link.setAttribute('aria-current', 'page');
      else link.removeAttribute('aria-current');
    if (tab?.id === id) return;
    close();
    if (!known) {
      fill(place, note('info', t('run.not_yet')));
      return;
    }
    tab = { id, part: {} };
    const mine = changes;
    fill(place, busy());
    try {
      const module = await tabs[id]();
      if (mine !== changes) return;
      tab.part = module.mount(fill(place), tabContext()) ?? {};
    } catch (error) {
      if (mine === changes) fill(place, failed(new Error(t('page.failed', { text: error.message }))));
    }
  }

  function tabContext() {
    return {
      ...context,
      act: actions,
      summary: () => summary,
      goesOn: () => standing.now().underWay,
      // Called at once with what is known, and with every change.
      onSummary(listener) {
        listeners.add(listener);
        if (summary !== null) listener(summary);
        return () => listeners.delete(listener);
      },
    };
  }

  const offRuns = live.onRuns(learn);
  const offView = live.watch(name, {
    view(next) {
      view = next;
      const changed = standing.learnView(view);
      showHead();
      if (changed && !standing.agrees) renew();
    },
  });
  // A run that has just been started may not be in the list yet; then there is nothing to ask for.
  if (known)
    api.get(api.run(name), {}, { signal: stopping.signal }).then((run) => learn([run]), (error) => {
      if (isAbort(error) || summary !== null) return;
      if (error.status === 404) {
        known = false;
        close();
        open();
      } else {
        fill(errors, failed(error));
      }
    });
  open();

  return {
    // Another tab of the same run.
    move(next) {
      wanted = next.tab;
      open();
    },
    unmount() {
      close();
      offRuns();
      offView();
      clearTimeout(renewal);
      clearTimeout(waiting);
      stopping.abort();
    },
  };
}
