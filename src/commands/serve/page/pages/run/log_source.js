// The lines of one log or of all ranks' logs in the order of time, as far as they have been read. Knows no page.

import { api } from '../../api.js';

const atOnce = 6;         // requests
const ofAll = 1000;       // lines, of all ranks together, a step further back
const ofOne = 500;
const mostFollowed = 64;  // ranks

const stamp = /^\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d(\.\d+)?/;

async function inTurns(list, act) {
  for (let at = 0; at < list.length; at += atOnce) await Promise.all(list.slice(at, at + atOnce).map(act));
}

// A line without a time of its own belongs to the one before it.
function addTimes(lines) {
  let time = '';
  for (const line of lines) {
    time = stamp.exec(line.text)?.[0] ?? time;
    line.time = time;
  }
  return lines;
}

// which: 'run', 'launch', 'all', or a rank. ranks: those that have logs (for 'all').
export function makeLogSource(name, which, ranks, search, signal) {
  const logs = (which === 'all' ? ranks.slice(0, mostFollowed) : [which]).map((rank) => ({ rank, lines: [], before: null }));
  const limit = which === 'all' ? Math.max(40, Math.floor(ofAll / Math.max(1, logs.length))) : ofOne;

  function ask(log, before) {
    return api.get(api.run(name, 'log'), { rank: log.rank, search: search === '' ? null : search, before, limit }, { signal });
  }

  function merged() {
    if (logs.length === 1) return logs[0].lines;
    // Before the oldest line of a log that has older ones, lines of that log would be missing between those of the others.
    let from = '';
    for (const log of logs)
      if (log.before !== null && log.lines.length > 0 && log.lines[0].time > from) from = log.lines[0].time;
    const all = logs.flatMap((log) => log.lines.filter((line) => line.time >= from));
    return all.sort((a, b) => (a.time < b.time ? -1 : a.time > b.time ? 1 : 0));
  }

  return {
    left: which === 'all' ? Math.max(0, ranks.length - mostFollowed) : 0,

    get lines() {
      return merged();
    },
    get hasOlder() {
      return logs.some((log) => log.before !== null);
    },

    // The end of each log. True where lines came that were not there.
    async newer() {
      let came = false;
      await inTurns(logs, async (log) => {
        const page = await ask(log, null);
        const last = log.lines.at(-1)?.offset ?? -1;
        const next = page.lines.filter((line) => line.offset > last);
        if (next.length === 0) {
          if (log.lines.length === 0) log.before = page.before;
          return;
        }
        came = true;
        // More than one page came since: what lies between is read again when older lines are asked for.
        if (last < 0 || (next.length === page.lines.length && page.before !== null)) log.before = page.before;
        const isJoined = last < 0 || next.length < page.lines.length || page.before === null;
        log.lines = addTimes(isJoined ? [...log.lines, ...next] : next);
      });
      return came;
    },

    async older() {
      await inTurns(logs.filter((log) => log.before !== null), async (log) => {
        const page = await ask(log, log.before);
        log.before = page.before;
        log.lines = addTimes([...page.lines, ...log.lines]);
      });
    },
  };
}
