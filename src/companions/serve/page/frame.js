// What is around every page: navigation, whether the connection stands, the language, the line that tells, questions.

import { el, fill, svg } from './dom.js';
import { note } from './parts.js';
import { language, t } from './texts.js';

const longLost = 4000;      // milliseconds until a lost connection is told in a sentence
const toldFor = 4000;      // a note goes then
const stickyFor = 8000;    // a warning or an error stays at the head of the page, and no longer goes along with scrolling
const connections = {       // a shape for each state
  connecting: 'M6 1.5a4.5 4.5 0 0 1 4.5 4.5',
  open: 'M1.5 6.5 4.5 9.5 10.5 2.5',
  lost: 'M2 2l8 8M10 2l-8 8',
};

export function brand() {
  return el('a', { class: 'brand', href: '#/runs' },
    svg('svg', { viewBox: '0 0 16 16', 'aria-hidden': 'true' }, svg('rect', { width: 16, height: 16, rx: 3 }),
      svg('path', { d: 'M3 4.5h7M5 8h8M4 11.5h6', fill: 'none', 'stroke-width': 2, 'stroke-linecap': 'round' })),
    t('troika'));
}

function makeNavigation(session) {
  const links = { runs: t('nav.runs') };
  if (!session.view_only) links.new = t('nav.new');
  links.sweeps = t('nav.sweeps');
  const all = Object.entries(links).map(([page, text]) => el('a', { href: `#/${page}`, dataset: { page } }, text));
  return { node: el('nav', { 'aria-label': t('nav.main') }, all), all };
}

function makeSayer() {
  const node = el('div', { class: 'say', role: 'status', 'aria-live': 'polite' });
  let timer = 0;
  function say(text, kind = 'info') {
    clearTimeout(timer);
    const told = note(kind, text);
    told.removeAttribute('role');  // the line itself is the live region
    told.append(el('button', { type: 'button', class: 'quiet', onclick: () => fill(node) }, t('close')));
    fill(node, told);
    node.dataset.kind = kind;
    node.dataset.sticky = 'true';
    timer = kind === 'info' ? setTimeout(() => fill(node), toldFor) : setTimeout(() => { node.dataset.sticky = 'false'; }, stickyFor);
  }
  // An error is of the page that was asked for something.
  function leavePage() {
    if (node.dataset.kind === 'error') fill(node);
  }
  return { node, say, leavePage };
}

// A question that is answered with yes or not at all; the way out has the focus.
export function ask(text, yes) {
  return new Promise((resolve) => {
    const end = (answer) => {
      dialog.close();
      dialog.remove();
      resolve(answer);
    };
    const no = el('button', { type: 'button', onclick: () => end(false) }, t('cancel'));
    const dialog = el('dialog', { 'aria-labelledby': 'question', oncancel: (event) => { event.preventDefault(); end(false); } },
      el('p', { id: 'question' }, text),
      el('div', { class: 'toolbar' }, no, el('button', { type: 'button', class: 'danger', onclick: () => end(true) }, yes)));
    document.body.append(dialog);
    dialog.showModal();
    no.focus();
  });
}

function makeConnection(live, sayer) {
  const word = el('span', {});
  const shape = svg('path', {});
  const node = el('span', { class: 'connection', role: 'status' }, svg('svg', { viewBox: '0 0 12 12', 'aria-hidden': 'true' }, shape), word);
  let timer = 0;
  let told = false;
  const off = live.onState((state) => {
    node.dataset.state = state;
    shape.setAttribute('d', connections[state]);
    fill(word, t(`connection.${state}`));
    clearTimeout(timer);
    if (state === 'lost')
      timer = setTimeout(() => {
        told = true;
        sayer.say(t('connection.lost_long'), 'warn');
      }, told ? 0 : longLost);
    if (state === 'open' && told) {
      told = false;
      sayer.say(t('connection.back'));
    }
  });
  return { node, leave: () => { clearTimeout(timer); off(); } };
}

function titleOf(route) {
  if (route.run !== undefined) return route.run;
  if (route.runs !== undefined) return route.runs.join(' · ');
  if (route.sweep !== undefined) return route.sweep;
  return t(route.page === 'none' ? 'not_found.title' : `nav.${route.page}`);
}

const parents = { run: 'runs', compare: 'runs', sweep: 'sweeps' };  // which link of the navigation a page is under

export function makeFrame(place, { session, live, onLanguage }) {
  const navigation = makeNavigation(session);
  const sayer = makeSayer();
  const connection = makeConnection(live, sayer);
  const main = el('main', { id: 'main', tabindex: -1 });
  const skip = el('a', {
    class: 'skip', href: '#main',
    onclick: (event) => {
      event.preventDefault();  // the address is the page's
      main.focus();
    },
  }, t('skip'));
  const other = language() === 'en' ? 'zh-CN' : 'en';
  fill(place, skip,
    el('header', { class: 'top' }, brand(), navigation.node,
      el('div', { class: 'top-end' },
        session.view_only ? el('span', { class: 'badge', title: t('view_only.why') }, t('view_only')) : null,
        connection.node,
        el('button', { type: 'button', class: 'quiet language', lang: other, 'aria-label': t('nav.language_to'), onclick: onLanguage },
          t('nav.language')))),
    sayer.node, main);

  return {
    say: sayer.say,
    ask,

    mark(route) {
      for (const link of navigation.all)
        if (link.dataset.page === (parents[route.page] ?? route.page)) link.setAttribute('aria-current', 'page');
        else link.removeAttribute('aria-current');
      document.title = `${titleOf(route)} – ${t('troika')}`;
    },

    // An empty place for the next page.
    newPlace() {
      const next = el('div', {});
      sayer.leavePage();
      fill(main, next);
      scrollTo(0, 0);
      return next;
    },

    // Where reading goes on after another page was asked for.
    focusHead() {
      const head = main.querySelector('h1');
      if (head === null) return main.focus();
      head.tabIndex = -1;
      head.focus();
    },

    leave() {
      connection.leave();
    },
  };
}
