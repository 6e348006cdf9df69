// What happens as it happens. One stream for the whole page: it is opened again when the set of watched runs changes.

import { api } from './api.js';
import { onLanguage } from './texts.js';

const firstPause = 500;      // milliseconds until a lost stream is asked for again
const longestPause = 10000;

const watchers = new Map();  // name -> set of {view, rows}
const lastViews = new Map();  // of the watched runs: what a new watcher is told at once
const runListeners = new Set();
const stateListeners = new Set();

let source = null;           // ends the open stream
let watched = '';            // of the open stream
let missing = [];            // watched names that the server did not know yet, and so left out of the stream
let state = 'connecting';
let wasLost = false;
let pause = firstPause;
let timer = 0;
let planned = false;
let running = false;

function setState(next) {
  if (state === next) return;
  state = next;
  for (const listener of stateListeners) listener(state);
}

function names() {
  return [...watchers.keys()].sort();
}

function each(name, what, value) {
  for (const watcher of watchers.get(name) ?? []) watcher[what]?.(value);
}

function opened() {
  setState('open');
  pause = firstPause;
  if (!wasLost) return;
  wasLost = false;
  for (const name of names()) each(name, 'rows', null);
}

function close() {
  clearTimeout(timer);
  source?.();
  source = null;
}

async function failed() {
  close();
  wasLost = true;
  setState('lost');
  timer = setTimeout(open, pause);
  pause = Math.min(longestPause, pause * 2);
  try {
    await api.get('serve');  // a server that was started again does not know this page: the frame asks for the token
  } catch {
    // Said already: the connection is lost.
  }
}

const news = {
  runs(list) {
    const known = new Set(list.map((run) => run.name));
    const appeared = missing.some((name) => known.has(name));
    missing = names().filter((name) => !known.has(name));
    live.runs = list;
    for (const listener of runListeners) listener(list);
    if (appeared) open();
  },
  view({ name, view }) {
    if (!watchers.has(name)) return;
    lastViews.set(name, view);
    each(name, 'view', view);
  },
  rows({ name, step }) {
    each(name, 'rows', step);
  },
};

function open() {
  close();
  if (!running || document.hidden) return;
  watched = names().join('\n');
  missing = live.runs === null ? [] : names().filter((name) => !live.runs.some((run) => run.name === name));
  source = api.follow('live', { run: names() }, { opened, ended: failed, event: (name, data) => news[name]?.(JSON.parse(data)) });
}

// Several changes of one moment (a page leaves, the next one comes) are one new stream, or none.
function plan() {
  if (planned) return;
  planned = true;
  setTimeout(() => {
    planned = false;
    if (running && (source === null || watched !== names().join('\n'))) open();
  }, 30);
}

export const live = {
  runs: null,  // the last list

  start() {
    running = true;
    open();
  },

  stop() {
    running = false;
    close();
  },

  get state() {
    return state;
  },

  // act: {view(view), rows(step)}, either may be absent. rows(null): everything may have changed, the connection was lost.
  watch(name, act) {
    if (!watchers.has(name)) watchers.set(name, new Set());
    watchers.get(name).add(act);
    if (lastViews.has(name)) act.view?.(lastViews.get(name));
    plan();
    return () => {
      watchers.get(name)?.delete(act);
      if (watchers.get(name)?.size === 0) {
        watchers.delete(name);
        lastViews.delete(name);
      }
      plan();
    };
  },

  onRuns(listener) {
    runListeners.add(listener);
    if (live.runs !== null) listener(live.runs);
    return () => runListeners.delete(listener);
  },

  onState(listener) {
    stateListeners.add(listener);
    listener(state);
    return () => stateListeners.delete(listener);
  },
};

onLanguage(() => {
  live.runs = null;
  lastViews.clear();
  open();
});
addEventListener('online', open);

// A browser has six connections to a server for all of its tabs and for the pages that it keeps to go back to; nobody looks at those.
document.addEventListener('visibilitychange', () => {
  if (document.hidden) {
    wasLost ||= source !== null;
    close();
  } else {
    open();
  }
});
