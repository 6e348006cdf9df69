// The start of the page: the token, then the frame around whatever page the address names.

import { api } from './api.js';
import { fill } from './dom.js';
import { enter } from './entry.js';
import { makeFrame } from './frame.js';
import { live } from './live.js';
import { failed } from './parts.js';
import { hashOf, parseHash } from './routes.js';
import { keepSession } from './session.js';
import { loadTexts, onLanguage, setLanguage, language, t } from './texts.js';

const pauseOfStart = 3000;  // milliseconds until a server that does not answer is asked again

const texts = loadTexts();   // while the server says who may come in
const place = document.getElementById('frame');

let session = null;
let frame = null;
let shown = null;       // {route, page}: what is mounted
let entering = false;   // the form for the token is shown
let navigation = 0;     // counts, so that a page that comes late does not take the place of a newer one

async function take(token) {
  keepSession((await api.post('login', { token })).session);
}

// The token of the address that serve printed is used once and leaves the address, the history and the page.
function takeTokenOfAddress() {
  const found = /^#token=([\w-]+)$/.exec(location.hash);
  if (found === null) return null;
  history.replaceState(null, '', hashOf('runs'));
  return found[1];
}

function unmount() {
  const page = shown?.page;
  shown = null;
  page?.unmount?.();
}

function contextOf(route) {
  return {
    run: route.run, runs: route.runs, sweep: route.sweep, tab: route.tab, query: route.query, api, live, t, session,
    say: frame.say, ask: frame.ask, go: (hash) => { location.hash = hash; },
  };
}

async function show({ focus }) {
  if (frame === null) return;
  const route = parseHash(location.hash);
  frame.mark(route);
  navigation += 1;
  const mine = navigation;
  if (shown !== null && shown.route.key === route.key && shown.page.move) {
    shown.route = route;
    shown.page.move(contextOf(route));
    return;
  }
  let module;
  try {
    module = await route.load();
  } catch (error) {
    module = { mount: (parent) => fill(parent, failed(new Error(t('page.failed', { text: error.message })))) && {} };
  }
  if (mine !== navigation || frame === null) return;
  unmount();
  const parent = frame.newPlace();
  const page = module.mount(parent, contextOf(route)) ?? {};
  shown = { route, page };
  if (focus) frame.focusHead();
}

function makePage() {
  unmount();
  frame?.leave();
  frame = makeFrame(place, { session, live, onLanguage: () => setLanguage(language() === 'en' ? 'zh' : 'en') });
  show({ focus: false });
}

async function begin() {
  session = await api.get('serve');
  await texts;
  entering = false;
  live.start();
  makePage();
}

// `wrong`: a token was tried and is not the one.
function askForToken(wrong) {
  if (entering) return;
  entering = true;
  live.stop();
  unmount();
  frame?.leave();
  frame = null;
  enter(place, {
    wrong,
    async use(token) {
      await take(token);
      await begin();
    },
  });
}

async function start(token = takeTokenOfAddress()) {
  try {
    if (token !== null) await take(token);
    await begin();
  } catch (error) {
    await texts;
    if (error.status === 401 || error.status === 403) {
      askForToken(token !== null);
    } else {
      fill(place, failed(error));
      setTimeout(() => start(token), pauseOfStart);
    }
  }
}

// While texts and session are on their way: the modules of the page that is asked for, and of a run's curves the rows, which the
// server reads once.
function askAhead() {
  const route = parseHash(location.hash);
  const tried = [route.load()];
  if (route.tab === 'curves') tried.push(import('./pages/curves.js'), api.get('curves', { run: route.run, points: 1 }));
  Promise.allSettled(tried);
}

api.onLoggedOut(() => {
  if (frame !== null) askForToken(false);
});
onLanguage(() => {
  if (frame !== null) makePage();
});
addEventListener('hashchange', async () => {
  if (location.hash.startsWith('#token=')) {
    entering = false;
    await start();
  } else {
    await show({ focus: true });
  }
});

askAhead();
await start();
