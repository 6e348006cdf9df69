// What happened in a run, as a table: the last ones of it and all of it look alike.

import { el } from '../../dom.js';
import { clock, count, date, loss, seconds } from '../../format.js';
import { makeLiveTable } from '../../live_table.js';
import { language, lookup, t } from '../../texts.js';

const bad = new Set(['save_failed', 'rank_failed', 'rank_ended', 'failure']);
const good = new Set(['finish', 'save']);
const look = new Set(['notice', 'skipped_step', 'rolled_back', 'restart', 'repeated_step']);

const explained = new Set(['repeated_step', 'skipped_step', 'rolled_back', 'restart', 'save_failed']);

const inWords = { steps: count, ranks: count, saved_step: count, seconds, valid_loss: loss };

// What happened, in the page's language: made of the event's kind and its numbers where the language is not the one that runs speak.
// Nothing for a kind that is not known, or where a number is missing.
function told(event) {
  if (event.event === 'stop_requested') return t('event.said.stop_requested');
  if (language() === 'en') return null;
  const values = Object.entries(inWords).filter(([name]) => Number.isFinite(event[name]));
  const sentence = lookup(`event.tells.${event.event}`, Object.fromEntries(values.map(([name, show]) => [name, show(event[name])])));
  return sentence === null || sentence.includes('{') ? null : sentence;
}

// What the table shows of it in the page's language.
export function eventWords(event) {
  return [eventWord(event.event), told(event)].filter((part) => part !== null).join(' ');
}

function eventWord(event) {
  return lookup(`event.${event}`) ?? event;
}

function tone(event) {
  return bad.has(event) ? 'bad' : look.has(event) ? 'warn' : good.has(event) ? 'good' : '';
}

// What the run said, in English as it says it, below the same in the page's language; of some kinds with what that means to people who
// have not read of it.
function textCell(event) {
  const text = event.text ?? '', sentence = told(event);
  const said = () => (sentence === null ? text : el('details', {}, el('summary', {}, sentence), el('span', { lang: 'en' }, text)));
  if (!explained.has(event.event)) return sentence === null ? text : { key: text, make: said };
  return { key: text, make: () => [said(), el('div', { class: 'muted' }, t(`event.how.${event.event}`))] };
}

const keyOf = (event) => `${event.time} ${event.event} ${event.host} ${event.rank ?? ''} ${event.step ?? ''} ${event.text}`;

export function makeEventTable(caption) {
  const today = new Date().toDateString();
  return makeLiveTable({
    caption, className: 'events', keyOf,
    columns: [
      {
        id: 'time', head: t('event.time'), class: 'nowrap',
        show: (event) => ({
          key: String(event.time),
          make: () => el('time', { title: date(event.time), datetime: new Date(event.time * 1000).toISOString() },
            new Date(event.time * 1000).toDateString() === today ? clock(event.time) : date(event.time)),
        }),
      },
      {
        id: 'what', head: t('event.what'), class: 'what', rowHead: true,
        show: (event) => ({ key: event.event, make: () => el('span', { class: `badge ${tone(event.event)}`, title: lookup(`event.how.${event.event}`) }, eventWord(event.event)) }),
      },
      { id: 'step', head: t('event.step'), n: true, show: (event) => (event.step === undefined || event.step === null ? '' : count(event.step)) },
      {
        id: 'who', head: t('event.who'), class: 'anywhere',
        show: (event) => (event.rank === undefined || event.rank === null ? event.host : t('event.rank_of', { rank: event.rank, host: event.host })),
      },
      { id: 'text', head: t('event.text'), class: 'whole', show: textCell },
    ],
    mark(row, event) {
      row.dataset.event = event.event;
    },
  });
}
