// What happened in a run, as a table: the last ones of it and all of it look alike.

import { el } from '../../dom.js';
import { clock, count, date } from '../../format.js';
import { makeLiveTable } from '../../live_table.js';
import { lookup, t } from '../../texts.js';

const bad = new Set(['save_failed', 'rank_failed', 'rank_ended', 'failure']);
const good = new Set(['finish', 'save']);
const look = new Set(['notice', 'skipped_step', 'rolled_back', 'restart', 'repeated_step']);

const explained = new Set(['repeated_step', 'skipped_step', 'rolled_back', 'restart', 'save_failed']);

// What the table shows of it in the page's language.
export function eventWords(event) {
  return event.event === 'stop_requested' ? `${eventWord(event.event)} ${t('event.said.stop_requested')}` : eventWord(event.event);
}

function eventWord(event) {
  return lookup(`event.${event}`) ?? event;
}

function tone(event) {
  return bad.has(event) ? 'bad' : look.has(event) ? 'warn' : good.has(event) ? 'good' : '';
}

// What the run said, in English as it says it; of some kinds with what that means to people who have not read of it.
function textCell(event) {
  const text = event.text ?? '';
  if (event.event === 'stop_requested')
    return { key: text, make: () => el('details', {}, el('summary', {}, t('event.said.stop_requested')), text) };
  if (!explained.has(event.event)) return text;
  return { key: text, make: () => [text, el('div', { class: 'muted' }, t(`event.how.${event.event}`))] };
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
