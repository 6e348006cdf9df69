// What of the page's frame can be asked without a browser: addresses, numbers and times in words, logs in the order of time.
import assert from 'node:assert/strict';
import fs from 'node:fs';
import test from 'node:test';
import {page_module} from './page_modules.mjs';

const logs = new Map();  // name -> lines; a line's offset is its index times ten
const asked = [];
const texts = new URL('../../src/companions/serve/page/texts/frame.json', import.meta.url);

// The texts, and logs as page-api.md has them.
async function answer(url) {
  const {pathname, searchParams} = new URL(url);
  if (pathname.endsWith('/texts.json')) return JSON.parse(fs.readFileSync(texts));
  asked.push(Object.fromEntries(searchParams));
  const search = (searchParams.get('search') ?? '').toLowerCase();
  const end = Number(searchParams.get('before') ?? Infinity);
  const all = logs.get(searchParams.get('rank')).map((text, i) => ({offset: 10 * i, rank: searchParams.get('rank'), text})).filter(({offset}) => offset < end);
  const lines = all.filter(({text}) => text.toLowerCase().includes(search)).slice(-Number(searchParams.get('limit')));
  return {lines, before: lines.length > 0 && lines[0].offset > 0 ? lines[0].offset : null, ranks: [...logs.keys()]};
}
globalThis.document = {documentElement: {}};
Object.defineProperty(globalThis, 'navigator', {value: {language: 'en'}, configurable: true});
globalThis.fetch = async (url) => {
  const text = JSON.stringify(await answer(url));
  return {ok: true, status: 200, json: async () => JSON.parse(text), text: async () => text};
};

const {loadTexts, setLanguage, t} = await page_module('texts.js');
const {hashOf, parseHash} = await page_module('routes.js');
const format = await page_module('format.js');
const {shellWord} = await page_module('parts.js');
const {makeLogSource} = await page_module('pages/run/log_source.js');
await loadTexts();

const line = (second, text) => `2026-01-01 12:00:${String(second).padStart(2, '0')}.123 info ${text}`;
const shown = (source) => source.lines.map(({rank, text}) => `${rank} ${text.slice(29)}`);

test('an address names a page, and a name with a slash is one part of it', () => {
  const {page, run, tab} = parseHash(hashOf('run', 'tries/预训练 1', 'logs'));
  assert.deepEqual([page, run, tab], ['run', 'tries/预训练 1', 'logs']);
  assert.equal(parseHash('#/run/a').tab, 'overview');
  assert.equal(parseHash('#/run/a/logs').key, parseHash('#/run/a/curves').key);
  assert.deepEqual(parseHash('#/compare/a%2Fb/c').runs, ['a/b', 'c']);
  assert.equal(parseHash('#/runs?sort=loss').query.get('sort'), 'loss');
  for (const [hash, wanted] of [['', 'runs'], ['#/', 'runs'], ['#/nowhere', 'none'], ['#/run', 'none'], ['#/sweep', 'none'], ['#/constructor', 'none'], ['#/run/%ff', 'run']])
    assert.equal(parseHash(hash).page, wanted, hash);
});

test('what is not known is a dash in every form', () => {
  for (const said of [format.number, format.count, format.short, format.loss, format.bytes, format.rate, format.percent, format.seconds, format.date, format.clock, format.ago])
    for (const value of [null, undefined, NaN, Infinity]) assert.equal(said(value), '–');
});

test('numbers and spans of time are said in few letters', () => {
  assert.deepEqual([0.00012345, 0.5, 12345678].map((value) => format.number(value)), ['1.23e-4', '0.5', '1.23e7']);
  assert.deepEqual([2, 12345.6, 0.00001].map(format.loss), ['2.0000', '12,350', '1.00e-5']);
  assert.deepEqual([1023, 1536, 3 * 2 ** 30].map(format.bytes), ['1,023 B', '1.5 KiB', '3 GiB']);
  assert.deepEqual([0, 0.0005, 0.0123, 4.25, 60, 200, 7500, 86400 * 3 + 3600 * 4].map(format.seconds), ['0 s', '500 µs', '12.3 ms', '4.3 s', '1 min', '3 min 20 s', '2 h 5 min', '3 d 4 h']);
  assert.equal(format.ago(1000, 1000 + 125), '2 min ago');
  setLanguage('zh');
  assert.deepEqual([format.seconds(200), format.ago(1000, 1000 + 125), document.documentElement.lang], ['3 分 20 秒', '2 分钟前', 'zh-CN']);
  setLanguage('en');
});

test('a text has its values, and a place without one stays', () => {
  assert.equal(t('time.m_s', {m: 3, s: '{m}'}), '3 min {m} s');
  assert.equal(t('time.m_s', {m: 3}), '3 min {s} s');
});

test('a word for a shell is quoted where it must be', () => {
  assert.deepEqual(['/runs/a-1', 'a b', "it's", '$(id)', ''].map(shellWord), ['/runs/a-1', "'a b'", "'it'\\''s'", "'$(id)'", "''"]);
});

test('several logs are one, in the order of time, and lines without a time stay behind theirs', async () => {
  logs.clear();
  logs.set('0', [line(1, 'a'), '  of a'.padEnd(29, '.') + 'a+', line(4, 'd')]);
  logs.set('1', ['torn'.padEnd(29, '.') + 'b-', line(2, 'b'), line(3, 'c')]);
  const source = makeLogSource('run', [0, 1], '');
  await source.begin();
  assert.deepEqual(shown(source).map((text) => text.replace('info ', '')), ['0 a', '0 a+', '1 b-', '1 b', '1 c', '0 d']);
  assert.equal(source.hasOlder, false);
});

test('what the log of the run repeats of rank 0 is there once', async () => {
  logs.clear();
  logs.set('run', ['2026-01-01 12:00:01 the steps begin', '2026-01-01 12:00:02 step 5/9', '2026-01-01 12:00:03 summary', '    steps  9']);
  logs.set('0', [line(1, 'rank 0: the steps begin'), line(3, 'rank 0: summary'), '    steps  9']);
  const source = makeLogSource('run', ['run', 0], '');
  await source.begin();
  assert.deepEqual(source.lines.map(({rank}) => rank), ['0', 'run', '0', '0']);
});

test('of several logs nothing is shown from before where one of them has not been read', async () => {
  logs.clear();
  logs.set('0', Array.from({length: 600}, (_, i) => line(i % 60, `x${i}`)).map((text, i) => text.replace('12:00', `12:${String(Math.floor(i / 60)).padStart(2, '0')}`)));
  logs.set('1', [line(0, 'first'), line(0, 'last').replace('12:00', '12:09')]);
  const source = makeLogSource('run', [0, 1], '');
  await source.begin();
  assert.equal(source.lines.some(({text}) => text.endsWith('first')), false);
  assert.equal(source.hasOlder, true);
  await source.older();
  assert.equal(source.lines.length, 602);
  assert.equal(source.lines.some(({text}) => text.endsWith('first')), true);
  assert.equal(source.hasOlder, false);
});

test('new lines are found once, those of a search alone, and without searching the whole log again', async () => {
  logs.clear();
  logs.set('run', Array.from({length: 50}, (_, i) => line(i, i === 3 ? 'LOSS found' : 'else')));
  const source = makeLogSource('run', ['run'], 'loss');
  await source.begin();
  assert.equal(source.lines.length, 1);
  asked.length = 0;
  assert.equal(await source.newer(), false);
  logs.get('run').push(line(51, 'else'), line(52, 'the Loss again'));
  assert.equal(await source.newer(), true);
  assert.equal(await source.newer(), false);
  assert.equal(source.lines.length, 2);
  assert.equal(asked.some((query) => 'search' in query), false);
});

test('where more came than one look shows, the gap is read with the older lines', async () => {
  logs.clear();
  logs.set('run', Array.from({length: 10}, (_, i) => line(i, `n${i}`)));
  const source = makeLogSource('run', ['run'], '');
  await source.begin();
  for (let i = 10; i < 400; ++i) logs.get('run').push(line(i % 60, `n${i}`));
  await source.newer();
  assert.equal(source.lines.at(-1).text.endsWith('n399'), true);
  while (source.hasOlder) await source.older();
  assert.deepEqual(source.lines.map(({offset}) => offset), Array.from({length: 400}, (_, i) => 10 * i));
});
