// Small things that several pages show.

import { el, fill, freshId, svg } from './dom.js';
import { percent } from './format.js';
import { lookup, t } from './texts.js';

// The shape says the state as well as the colour does, and the word says it to everybody.
const shapes = {
  training: 'M2 1.5v9l8-4.5z',
  evaluating: 'M6 1 11 6 6 11 1 6z',
  saving: 'M6 10.5 1.5 5H4V1.5h4V5h2.5z',
  preparing: 'M2 2h3v8H2zM7 2h3v8H7z',
  finished: 'M1.2 6.2 2.7 4.7 4.9 6.9 9.3 2.5 10.8 4 4.9 9.9z',
  failed: 'M2.6 1.2 6 4.6 9.4 1.2 10.8 2.6 7.4 6 10.8 9.4 9.4 10.8 6 7.4 2.6 10.8 1.2 9.4 4.6 6 1.2 2.6z',
  stopped: 'M2 2h8v8H2z',
  stopping: 'M2 2h8v8H2zM3.5 3.5v5h5v-5z',
  starting: 'M2 1.5v9l8-4.5zM3.6 4v4l3.6-2z',
  silent: 'M5 1h2v6H5zM5 9h2v2H5z',
  unknown: 'M6 1a5 5 0 1 0 0 10A5 5 0 0 0 6 1zm0 1.6a3.4 3.4 0 1 1 0 6.8 3.4 3.4 0 0 1 0-6.8z',
};
Object.assign(shapes, { works: shapes.training, waits: shapes.preparing, unheard: shapes.unknown, ended: shapes.stopped });
const tones = {
  works: 'good', waits: 'calm',
  training: 'good', evaluating: 'good', saving: 'good', finished: 'done', preparing: 'calm', starting: 'calm', stopping: 'warn',
  failed: 'bad', silent: 'warn', stopped: 'calm', unknown: 'calm', no_record: 'calm',
};

export function stateWord(state) {
  return lookup(`state.${state}`) ?? state;
}

// The state of a run. `word`: what to say instead of its name, as "silent for 20 s".
export function stateMark(state, word = stateWord(state)) {
  return el('span', { class: 'state', dataset: { state, tone: tones[state] ?? 'calm' } },
    svg('svg', { viewBox: '0 0 12 12', 'aria-hidden': 'true' }, svg('path', { d: shapes[state] ?? shapes.unknown, 'fill-rule': 'evenodd' })),
    el('span', {}, word));
}

// share: 0 to 1, or not known. `label` names what progresses.
export function progress(share, label) {
  const known = typeof share === 'number' && Number.isFinite(share);
  const value = known ? Math.min(1, Math.max(0, share)) : 0;
  const fillBar = el('span', { class: 'progress-fill' });
  fillBar.style.width = `${(value * 100).toFixed(2)}%`;
  return el('span', {
    class: 'progress', role: 'progressbar', 'aria-label': label, 'aria-valuemin': 0, 'aria-valuemax': 100,
    'aria-valuenow': known ? Math.floor(value * 100) : null,
    'aria-valuetext': known ? percent(Math.floor(value * 100) / 100) : t('progress.unknown'),
  }, fillBar);
}

// A bar of parts with its words below: [{kind: 'forward', word: 'forward', share: 0.4, said: '40 %'}]. `kind` picks the colour. `of`: how
// much of the width the bar takes (1: all). `words` 'none' where the page says them already. Shares below `least` are not drawn, and those
// below `leastSaid` not told.
export function stackedBar(parts, { label = '', of = 1, words = 'below', least = 0.005, leastSaid = least } = {}) {
  const shown = parts.filter((part) => part.share >= least);
  const bar = el('span', { class: 'stack', 'aria-hidden': 'true' });
  bar.style.width = `${(Math.min(1, of) * 100).toFixed(2)}%`;
  for (const part of shown) {
    const piece = el('span', { class: 'stack-part', title: `${part.word} ${part.said}`, dataset: { kind: part.kind } });
    piece.style.flexGrow = String(part.share);
    bar.append(piece);
  }
  const said = parts.filter((part) => part.share > 0 && part.share >= leastSaid).map((part) =>
    el('span', { class: 'stack-word' }, el('span', { class: 'swatch', 'aria-hidden': 'true', dataset: { kind: part.kind } }),
      `${part.word} ${part.said}`));
  return el('span', { class: 'stack-with-words' }, label === '' ? null : el('span', { class: 'hidden-text' }, label),
    el('span', { class: 'stack-track' }, bar), el('span', { class: words === 'none' ? 'hidden-text' : 'stack-words' }, said));
}

// kind: info, warn, error. The word before the text says it without the colour.
export function note(kind, ...children) {
  return el('div', { class: `note ${kind}`, role: kind === 'error' ? 'alert' : null },
    el('span', { class: 'note-kind' }, t(`note.${kind}`)), el('div', { class: 'note-text' }, children));
}

export function failed(error) {
  return note('error', error?.message ?? String(error));
}

export function busy(text = t('busy')) {
  return el('p', { class: 'empty', role: 'status' }, text);
}

export function empty(text) {
  return el('p', { class: 'empty' }, text);
}

async function copy(text, from) {
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    // Without https a browser may have no clipboard for pages: the text is selected instead, and Ctrl-C takes it.
    const range = document.createRange();
    range.selectNodeContents(from);
    const selection = getSelection();
    selection.removeAllRanges();
    selection.addRange(range);
    return false;
  }
  return true;
}

// A command or a file to copy. Its text can be changed: copyBox(...).show(text).
export function copyBox(text, label) {
  const id = freshId('copy');
  const code = el('code', {}, text);
  const told = el('span', { class: 'copy-told', role: 'status' });
  const button = el('button', {
    type: 'button', class: 'quiet copy-button', 'aria-describedby': id,
    onclick: async () => {
      const done = await copy(code.textContent, code);
      fill(told, t(done ? 'copy.done' : 'copy.selected'));
      setTimeout(() => fill(told), 4000);
    },
  }, t('copy'));
  const box = el('div', { class: 'copy' },
    el('div', { class: 'copy-head' }, el('span', { id, class: 'copy-label' }, label), told, button),
    el('pre', { class: 'code', tabindex: 0, 'aria-labelledby': id }, code));
  box.show = (next) => fill(code, next);
  return box;
}

// A cause that `troika why` has found, with what shows it and what to do.
export function reasons({ sentence, cause, evidence, advice }) {
  return [
    el('p', { class: 'why-sentence' }, el('strong', {}, sentence || cause)),
    evidence.length === 0 ? null : el('ul', {}, evidence.map((text) => el('li', {}, text))),
    advice.map(({ flag, reason }) => copyBox(flag, reason)),
  ];
}

// For a shell of the reader: quoted where it must be.
export function shellWord(text) {
  return /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
}

export function fact(term, ...value) {
  return el('div', { class: 'fact' }, el('dt', {}, term), el('dd', {}, value));
}

// A section with a head that its own landmark is named by.
export function panel(title, ...children) {
  const id = freshId('panel');
  return el('section', { class: 'panel', 'aria-labelledby': id }, el('h2', { id }, title), children);
}

// headers: [{text, n (numbers, to the right)}]
export function table(caption, headers, rows) {
  return el('div', { class: 'table', tabindex: 0, role: 'region', 'aria-label': caption },
    el('table', {}, el('caption', { class: 'hidden-text' }, caption),
      el('thead', {}, el('tr', {}, headers.map((head) => el('th', { scope: 'col', class: head.n ? 'n' : null }, head.text)))),
      el('tbody', {}, rows)));
}
