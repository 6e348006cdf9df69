// The lines of one log or of several in the order of time, as far as they have been read. Knows no page.

import { api } from '../../api.js';

const atOnce = 6;         // requests
const ofAll = 1000;       // lines, of all logs together, a step further back
const ofOne = 500;
const ofEnd = 100;        // when looking for new ones
const mostKept = 8000;    // lines of a log, while it is followed
const mostLogs = 64;

const stamp = /^\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d(\.\d+)?/;

// What a line says and in which second, without who says it.
function saying(line) {
  return `${line.time.slice(0, 19)} ${line.text.replace(stamp, '').replace(/^ \w+ rank \d+:/, '').trim()}`;
}

// The log of the run repeats what rank 0 says.
function withoutRepeats(logs) {
  const said = new Set(logs.filter((log) => log.rank === 0).flatMap((log) => log.lines.map(saying)));
  return logs.flatMap((log) => (log.rank === 'run' ? log.lines.filter((line) => !said.has(saying(line))) : log.lines));
}

async function inTurns(list, act) {
  for (let at = 0; at < list.length; at += atOnce) await Promise.all(list.slice(at, at + atOnce).map(act));
}

// A line without a time of its own belongs to the one before it, the first ones to the first that has one.
function addTimes(lines) {
  let time = lines.map((line) => stamp.exec(line.text)?.[0]).find((found) => found !== undefined) ?? '';
  for (const line of lines) {
    time = stamp.exec(line.text)?.[0] ?? time;
    line.time = time;
  }
  return lines;
}

// wanted: the logs to read: 'run', 'launch', ranks.
export function makeLogSource(name, wanted, search, signal) {
  const logs = wanted.slice(0, mostLogs).map((rank) => ({ rank, lines: [], before: null, end: -1 }));
  const limit = logs.length > 1 ? Math.max(40, Math.floor(ofAll / logs.length)) : ofOne;

  const isWanted = (line) => line.text.toLowerCase().includes(search.toLowerCase());

  function ask(log, query) {
    return api.get(api.run(name, 'log'), { rank: log.rank, limit, ...query }, { signal });
  }

  async function first(log) {
    const last = search === '' ? null : await ask(log, { limit: 1 });
    const page = await ask(log, { search: search === '' ? null : search });
    log.lines = addTimes(page.lines);
    log.before = page.before;
    log.end = (last ?? page).lines.at(-1)?.offset ?? -1;
    log.lines = log.lines.filter((line) => line.offset <= log.end);
  }

  // Asks for the last lines whatever is searched: to search a long log again and again would keep the server busy. `end`: the last line
  // that was seen. True where wanted lines came.
  async function next(log) {
    const page = await ask(log, { limit: ofEnd });
    const fresh = page.lines.filter((line) => line.offset > log.end);
    if (fresh.length === 0) return false;
    // More than a page came at once: what lies between is read again with the older lines.
    const isTorn = log.end >= 0 && fresh.length === page.lines.length && page.before !== null;
    log.end = fresh.at(-1).offset;
    const wanted = fresh.filter(isWanted);
    if (isTorn) log.before = page.before;
    log.lines = addTimes(isTorn ? wanted : [...log.lines, ...wanted]);
    if (log.lines.length > mostKept) {
      log.lines = log.lines.slice(-mostKept / 2);
      log.before = log.lines[0].offset;
    }
    return isTorn || wanted.length > 0;
  }

  function merged() {
    if (logs.length === 1) return logs[0].lines;
    // Before the oldest line of a log that has older ones, lines of that log would be missing between those of the others.
    let from = '';
    for (const log of logs)
      if (log.before !== null && log.lines.length > 0 && log.lines[0].time > from) from = log.lines[0].time;
    const all = withoutRepeats(logs).filter((line) => line.time >= from);
    return all.sort((a, b) => (a.time < b.time ? -1 : a.time > b.time ? 1 : 0));
  }

  return {
    left: wanted.length - logs.length,
    count: logs.length,

    get lines() {
      return merged();
    },
    get hasOlder() {
      return logs.some((log) => log.before !== null);
    },

    async begin() {
      await inTurns(logs, first);
    },

    // True where lines came that were not there.
    async newer() {
      const came = [];
      await inTurns(logs, async (log) => came.push(await next(log)));
      return came.includes(true);
    },

    async older() {
      await inTurns(logs.filter((log) => log.before !== null), async (log) => {
        const page = await ask(log, { search: search === '' ? null : search, before: log.before });
        log.before = page.before;
        log.lines = addTimes([...page.lines, ...log.lines]);
      });
    },
  };
}
