// node full.mjs PROGRAM: what core.mjs leaves out of the page in a browser: the grid of a step by its pixels, comparing, phones, the keyboard, dark
// mode, many runs and long ones, and that neither page nor server matters to a run.
import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import {execFileSync} from 'node:child_process';
import {setTimeout as pause} from 'node:timers/promises';
import {english_of} from './english.mjs';
import {colours_of, focus_is_seen, hard_to_read, nearest_colour, sticks_out, without_names} from './faults.mjs';
import {Page, colours_in, tabs} from './page.mjs';
import {in_room, processes_of} from './room.mjs';
import {launch, made_loss, make_run, make_sweep, rows_of, state_of, write_corpus} from './runs.mjs';
import {key, until} from './webdriver.mjs';

const lost = /ERR_(CONNECTION_REFUSED|INCOMPLETE_CHUNKED_ENCODING|EMPTY_RESPONSE|CONNECTION_RESET|NETWORK_IO_SUSPENDED)/;
// [what, parts of its address] of every page and part of a page.
const all_pages = [['runs', 'runs'], ...tabs.map((tab) => [tab, 'run', 'grid', tab]), ['why of a failure', 'run', 'failed', 'why'], ['overview of a failure', 'run', 'failed'], ['new', 'new'], ['new like another', 'new', 'grid'],
  ['compare', 'compare', 'grid', 'made/one'], ['sweeps', 'sweeps'], ['sweep', 'sweep', 'layouts'], ['none', 'nowhere']];
const alive = (pid) => fs.existsSync(`/proc/${pid}`) && !/State:\s+Z/.test(fs.readFileSync(`/proc/${pid}/status`, 'utf8'));

await in_room(async (room) => {
  write_corpus(room.folder);
  make_run(path.join(room.runs, 'made/one'), {steps: 3000, seed: 3});
  make_run(path.join(room.runs, 'failed'), {steps: 700, seed: 5, state: 'failed', text: 'rank 1 on pi1 was killed by signal 9'});
  make_sweep(path.join(room.runs, 'layouts'));
  const server = await room.serve({flags: ['--root', room.folder]}), browser = await room.browse();
  const grid = await launch(room, 'grid', 3, {'parallel.pp': '3', 'train.steps': '40', 'checkpoint.every': '20'}, ['--profile', '5,20-22']);
  await until('the run ends', () => grid.ended === 0, 60);
  const page = await Page.open(browser, server);
  const each_page = async (look) => {
    const found = [];
    for (const [what, ...parts] of all_pages) {
      await page.go(...parts);
      await pause(200);   // what a part asks for when it is there
      found.push(...(await look(what)).map((text) => `${what}: ${text}`));
    }
    for (const fault of found) console.log(`       ${fault}`);
    assert.deepEqual(found, []);
  };

  await room.check('the grid of a step has, at every place, the colour of what the rank did then', async () => {
    await page.to_run('grid', 'grid');
    const canvas = await browser.find('canvas.step-canvas');
    const {step, seconds, lanes} = await server.get('/api/runs/grid/grid');
    assert.equal(lanes.length, 3);
    assert([5, 20, 21, 22].includes(step), step);
    await until('it is drawn', async () => (await colours_in(browser, canvas, ['--forward']))['--forward'] > 20);
    const gutter = 46, axis = 24, picture = await browser.pixels(canvas), lane_height = (picture.height - axis) / lanes.length, room_wide = picture.width - gutter;
    const names = ['--forward', '--backward', '--optimizer', '--save', '--other', '--wait', '--panel', '--text', '--line'], colours = await colours_of(browser, names);
    const kind_of = (activity, text) => activity === 1 ? '--wait' : /^(fwd|refwd)/.test(text) ? '--forward' : /^bwd/.test(text) ? '--backward' : /^step/.test(text) ? '--optimizer' : /^load/.test(text) ? '--other' : '--save';
    let right = 0, all = 0;
    lanes.forEach((lane, n) => {
      for (const [begin, end, activity, text] of lane.events) {
        const from = gutter + begin / seconds * room_wide, to = gutter + end / seconds * room_wide;
        if (activity === 2 || to - from < 6) continue;
        for (let x = Math.ceil(from) + 1; x < to - 2; ++x) {
          const counts = new Array(names.length).fill(0);
          for (let y = axis + n * lane_height + 2; y < axis + n * lane_height + lane_height * 0.55; ++y) ++counts[nearest_colour(picture.at(x, y), colours)];
          const seen = names[counts.slice(0, 6).indexOf(Math.max(...counts.slice(0, 6)))];
          ++all;
          if (Math.max(...counts.slice(0, 6)) > 0 && seen === kind_of(activity, text)) ++right;
        }
      }
    });
    console.log(`       ${right} of ${all} columns of pixels, step ${step}`);
    assert(all > 500, `${all} columns`);
    assert(right / all > 0.93, `${right} of ${all}`);
  });
  await room.check('recorded steps can be chosen, and what was not recorded is as the plan has it', async () => {
    const recorded = await server.get('/api/runs/grid/grid');
    assert.deepEqual(recorded.steps, [5, 20, 21, 22]);
    assert.equal((await server.get('/api/runs/grid/grid?step=5')).step, 5);
    const choice = await browser.find('.tab select');
    await browser.choose(choice, '5');
    await until('step 5 is shown', async () => /\b5\b/.test(await browser.text(await browser.find('.tab'))));
    assert.equal((await server.get('/api/runs/made%2Fone/grid').catch(() => ({simulated: true}))).simulated, true);
  });
  await room.check('two runs are compared: both curves are there, and one can be taken away', async () => {
    await page.go('runs');
    for (const name of ['grid', 'made/one']) await browser.click(await browser.find(`[data-run="${name}"] input[type=checkbox]`));
    await browser.click(await browser.find('button.compare:not(:disabled)'));
    await until('its page opens', async () => (await browser.address_bar()).includes('#/compare/'));
    await page.ready();
    const canvas = await browser.find('[data-chart="loss"] canvas'), counts = () => colours_in(browser, canvas, ['--s1', '--s2']);
    await until('both are drawn', async () => Object.values(await counts()).every((count) => count > 30));
    await browser.click(await browser.find('.run-switches button[data-run="made/one"]'));
    await until('one is gone', async () => { const {'--s1': one, '--s2': two} = await counts(); return Math.min(one, two) < 10 && Math.max(one, two) > 30; });
    assert((await browser.text(await browser.find('main'))).includes('made/one'));
  });
  await room.check('on a phone of 390 pixels no page scrolls sideways', async () => {
    await browser.resize(390, 844, {phone: true});
    await each_page(async () => sticks_out(browser));
    await browser.resize(1280, 900);
  });
  for (const scheme of ['light', 'dark']) {
    await room.check(`in the ${scheme} scheme every text has a contrast of 4.5 (large ones 3)`, async () => {
      await browser.scheme(scheme);
      await page.go('runs');
      const [ground] = await colours_of(browser, ['--page']);
      assert.equal(ground[0] < 80, scheme === 'dark');
      await each_page(async () => hard_to_read(browser));
    });
  }
  await room.check('curves and grid follow the scheme at once', async () => {
    for (const [tab, selector, colour] of [['curves', '[data-chart="loss"] canvas', '--s1'], ['grid', 'canvas.step-canvas', '--forward']]) {
      await page.to_run('grid', tab);
      const canvas = await browser.find(selector);
      for (const scheme of ['light', 'dark']) {
        await browser.scheme(scheme);
        await until(`${tab} is ${scheme}`, async () => (await colours_in(browser, await browser.find(selector), [colour]))[colour] > 15);
      }
      assert(canvas);
    }
    await browser.scheme('light');
  });
  await room.check('everything that can be used has a name, and every page one head and one main part', async () => each_page(async () => without_names(browser)));

  await room.check('a wrong setting, a wrong path and a plan that does not fit are drawn in Chinese', async () => {
    await page.go('runs');
    await browser.click(await browser.find('button.language'));
    const drawn = async (what, wanted) => until(() => `${what} is drawn in Chinese`, async () => wanted.test(await browser.text(await browser.find('main'))), 60);
    const begin = async () => {
      await page.go('runs');
      await browser.script(() => sessionStorage.clear());  // what was typed before
      await page.go('new');
      await browser.click(await browser.find('.essentials input[type=radio][value=scratch]'));
    };
    await begin();
    await page.set('optimizer.lr', '-1');
    await drawn('a wrong setting', /optimizer\.lr 至少为 0/);
    await begin();
    await page.set('data.train', '../../etc/passwd');
    await drawn('a wrong path', /路径“[^”]*passwd”不在 .* 之下/);
    await begin();
    await page.set('model.preset', 'qwen3-32b');
    await page.set('parallel.offload', 'none');
    await drawn('a plan that does not fit', /没有布局能放进|放不下：需要/);
    await page.go('runs');
    await browser.script(() => sessionStorage.clear());
  });
  await room.check('no page shows an English sentence to who reads it in Chinese', async () => each_page(async () => english_of(browser)));
  await room.check('the page goes back to English', async () => {
    await browser.click(await browser.find('button.language'));
    await until('it is English', async () => await browser.script(() => document.documentElement.lang) === 'en');
  });

  await room.check('a conversation is held: an answer, one that goes on from it, one that is stopped, and the next at once', async () => {
    const data = path.join(room.folder, 'talk.jsonl');
    fs.writeFileSync(data, Array.from({length: 40}, (_, i) => JSON.stringify({messages: [{role: 'user', content: `say ${i}`}, {role: 'assistant', content: `yes ${i}`}]}) + '\n').join(''));
    const talk = await launch(room, 'talk', 1, {'data.train': data, 'data.chat_template': 'chatml', 'batch.seq_len': '128', 'train.steps': '3'});
    await until('it ends', () => talk.ended === 0, 60);
    await page.to_run('talk', 'chat');
    const turns = () => browser.script(() => document.querySelector('.chat-log').childElementCount);
    const send = async (text) => {
      await browser.fill(await browser.find('.chat-form textarea'), text);
      await browser.click(await browser.find('.chat-form button[data-action="chat"]:not(:disabled)'));
    };
    await browser.fill(await browser.find('.chat-form input[type=number][max="4096"]'), '8');
    await send('hello');
    await until('it answers', async () => await turns() === 2, 60);
    await send('and?');
    await until('it goes on', async () => await turns() === 4, 60);
    await browser.fill(await browser.find('.chat-form input[type=number][max="4096"]'), '4096');
    await send('for long');
    await browser.click(await browser.find('.chat-form button', {text: page.t('chat.stop')}));
    await until('the turn is taken back', async () => await turns() === 4);
    await pause(1000);  // the server hears of it several times a second
    await browser.fill(await browser.find('.chat-form input[type=number][max="4096"]'), '8');
    await send('again');
    await until('it answers again', async () => await turns() === 6, 60);
    assert(!await browser.has('.tab [role=alert]'), await browser.text(await browser.find('.tab')));
  });

  await room.check('by keyboard alone: the token, the list, a run, its parts, a curve, and a run from the form', async () => {
    const tab_to = async (what, wanted, limit = 120) => {
      for (let i = 0; i < limit; ++i) {
        await browser.keys(key.tab);
        const at = await browser.script(() => { const e = document.activeElement; return {text: (e.innerText || e.getAttribute('aria-label') || '').trim(), href: e.getAttribute('href'), kind: e.type ?? '', tag: e.tagName, value: e.value ?? '', key: e.closest('.field')?.dataset.key ?? '', label: [...(e.labels ?? [])].map((l) => l.innerText).join(' '), start: e.classList.contains('start'), chart: e.closest('[data-chart]')?.dataset.chart ?? ''}; });
        if (at.tag !== 'BODY' && !await focus_is_seen(browser)) throw new Error(`the focus is not seen on ${JSON.stringify(at)}`);
        if (wanted(at)) return at;
      }
      throw new Error(`Tab does not lead to ${what}`);
    };
    await browser.script(() => localStorage.clear());
    browser.permit(/401/);
    await browser.open('about:blank');
    await browser.open(server.origin + '/');
    await browser.find('form input[type=password]');
    await browser.keys(server.token + key.enter);
    await page.ready();
    await tab_to('the run', ({href}) => href === '#/run/grid');
    await browser.keys(key.enter);
    await page.state('finished');
    assert.equal(await browser.script(() => document.activeElement.tagName), 'H1', 'reading goes on at the head');
    for (const tab of ['curves', 'grid', 'logs']) {
      await tab_to(tab, ({href}) => href === `#/run/grid/${tab}`);
      await browser.keys(key.enter);
      await browser.find(`nav.tabs a[data-tab="${tab}"][aria-current]`);
      await page.ready();
      if (tab === 'curves') {
        await tab_to('the chart', ({chart, tag}) => chart === 'loss' && tag === 'DIV');
        const range = () => browser.script(() => performance.getEntriesByName('curves-zoom').length), before = await range();
        await browser.keys('++');
        await until('the keys zoom', async () => await range() > before);
        await browser.keys(key.left + key.left + '0');
      }
      await browser.script(() => { document.querySelector('main h1').tabIndex = -1; document.querySelector('main h1').focus(); });
    }
    await browser.script(() => document.activeElement.blur());
    await browser.keys(key.escape);
    await tab_to('New run', ({href, tag}) => tag === 'A' && href === '#/new');
    await browser.keys(key.enter);
    await page.ready();
    await tab_to('the name', ({label}) => label === page.t('form.name'));
    await browser.keys('a', key.control);
    await browser.keys('by-keys');
    await tab_to('the task', ({kind}) => kind === 'radio');
    for (let i = 0; i < 4 && (await browser.script(() => document.activeElement.value)) !== 'scratch'; ++i) await browser.keys(key.up);
    await tab_to('the data', ({key: of}) => of === 'data.train');
    await browser.keys('corpus');
    await browser.script(() => document.activeElement.value).then((value) => assert.equal(value, 'corpus.txt'));
    for (const [of, value] of [['data.tokenizer', 'bytes'], ['train.steps', '5'], ['batch.global_batch_size', '6'], ['batch.seq_len', '64']]) {
      await tab_to(of, ({key: at, tag}) => at === of && tag === 'INPUT');
      await browser.keys('a', key.control);
      await browser.keys(value);
    }
    await tab_to('Start', ({start}) => start);
    await browser.keys(key.enter);
    await until('its page opens', async () => (await browser.address_bar()).endsWith('#/run/by-keys'), 30);
    await page.state('finished', 60);
  });

  await room.check('what a run wrote is text: markup and escape codes of its logs do nothing', async () => {
    const odd = path.join(room.runs, 'odd');
    make_run(odd, {steps: 30, ranks: 1, state: 'failed', text: '<img src=x onerror="document.title=1"> \u001b[31mred'});
    fs.appendFileSync(path.join(odd, 'logs/rank-00000.log'), '<script>document.title="1"</script><img src="http://127.0.0.2:9/x"> \u001b[2Jescaped\u001b[0m &amp; end\n');
    await page.to_run('odd', 'logs');
    const log = await browser.find('.log', {text: '<script>document.title="1"</script>', seconds: 15});
    const text = await browser.text(log);
    assert(text.includes('escaped') && text.includes('&amp; end') && !text.includes('\u001b'), text.slice(-400));
    for (const tab of ['overview', 'why', 'events']) await page.to_run('odd', tab);
    assert.equal(await browser.script(() => document.querySelectorAll('main img, main script').length), 0);
    await page.to_run('odd', 'logs');
    await browser.fill(await browser.find('.tab input[type=search]'), 'ESCAPED');
    await until('the search finds the line', async () => (await browser.all('.log li')).length === 1);
  });
  await room.check('a run is exported, and resumed from a checkpoint that is not its last', async () => {
    await page.to_run('grid', 'checkpoints');
    await browser.click(await browser.find('tr[data-step="20"] button[data-action="export"]'));
    const folder = () => browser.script(() => [...document.querySelectorAll('.tab .copy code')].map((code) => code.textContent).find((text) => text.startsWith('/'))).catch(() => null);
    const at = await until('its folder is named', folder, 30);
    await until('it is there', () => fs.existsSync(path.join(at, 'config.json')) && fs.readdirSync(at).some((name) => name.endsWith('.safetensors')), 60);
    const before = rows_of(grid.folder).map(({loss_bits}) => loss_bits);
    await browser.click(await browser.find('tr[data-step="20"] button[data-action="resume"]:not(:disabled)', {seconds: 20}));
    await page.say_yes();
    await until('the run has begun anew and ended', () => state_of(grid.folder)?.first_step === 20 && state_of(grid.folder).state === 'finished', 60);
    await page.state('finished', 20);
    assert.deepEqual(rows_of(grid.folder).map(({loss_bits}) => loss_bits), before);
    const [curve] = (await server.get('/api/curves?run=grid&series=loss&x=step')).runs;
    assert.deepEqual(curve.x, Array.from({length: 40}, (_, i) => i + 1));
  });
  await room.check('with --view-only nothing on any page can start, stop or change a run', async () => {
    const other = await room.serve({flags: ['--view-only']}), viewer = await room.browse(), there = await Page.open(viewer, other);
    for (const [, ...parts] of all_pages) {
      await there.go(...parts);
      assert(!await viewer.has('[data-action], button.start, .page-head a[href="#/new"], nav a[href="#/new"]'), parts.join('/'));
    }
    await viewer.end();
    room.browsers.splice(room.browsers.indexOf(viewer), 1);
    await other.end();
  });

  await room.check('killing the page and the server changes nothing in a run', async () => {
    const settings = {'train.steps': '400', 'parallel.dp': '3'}, alone = await launch(room, 'alone', 3, settings);
    await until('it ends', () => alone.ended === 0, 120);
    const other = await room.serve({flags: ['--root', room.folder]}), victim = await room.browse(), there = await Page.open(victim, other);
    const form = {name: 'watched', processes: 3, settings: {'model.layers': '4', 'model.hidden': '64', 'model.heads': '4', 'model.kv_heads': '2', 'model.head_dim': '16', 'model.ffn': '192', 'model.vocab': '259', 'batch.seq_len': '64',
      'batch.micro_batch_size': '2', 'batch.global_batch_size': '6', 'data.tokenizer': 'bytes', 'data.train': path.join(room.folder, 'corpus.txt'), 'train.seed': '7', 'train.threads': '1', 'log.sample_seconds': '1', ...settings}};
    const started = await other.post('/api/runs', form);
    assert.equal(started.status, 201, started.text);
    const folder = path.join(room.runs, 'watched');
    await there.to_run('watched', 'curves');
    await until('it is on its way', () => fs.existsSync(path.join(folder, 'metrics.jsonl')) && rows_of(folder).length > 20, 60);
    victim.driver.kill('SIGKILL');
    process.kill(other.pid, 'SIGKILL');
    await until('both are gone', () => !alive(other.pid) && victim.driver.signalCode !== null, 10);
    room.browsers.splice(room.browsers.indexOf(victim), 1);
    const there_then = rows_of(folder).length;
    assert(there_then < 400, 'the run was still at work');
    await until('the run ends', () => state_of(folder)?.state === 'finished', 120);
    assert.deepEqual(rows_of(folder).map(({step, loss_bits}) => [step, loss_bits]), rows_of(alone.folder).map(({step, loss_bits}) => [step, loss_bits]));
  });
  await room.check('a server that was started again asks the page for its token, and the page goes on', async () => {
    const first = await room.serve(), visitor = await room.browse();
    await Page.open(visitor, first);
    visitor.permit(lost);
    visitor.permit(/401/);
    await first.end('SIGKILL');
    await visitor.find('.connection[data-state="lost"]', {seconds: 20});
    const second = await room.serve({port: first.port});
    const field = await visitor.find('form input[type=password]', {seconds: 40});
    await visitor.fill(field, first.token);
    await visitor.keys(key.enter);
    await visitor.find('form [role=alert]');
    await visitor.fill(await visitor.find('form input[type=password]'), second.url);
    await visitor.keys(key.enter);
    await visitor.find('.runs a', {text: 'grid', seconds: 20});
    assert.deepEqual(await visitor.complaints(), []);
    await visitor.end();
    room.browsers.splice(room.browsers.indexOf(visitor), 1);
    await second.end();
  });
  await browser.end();
  room.browsers.length = 0;
  await server.end();

  // --- many runs, and a long one ---------------------------------------------------------------------------------------------

  const many = path.join(room.folder, 'many'), long_steps = 1000000;
  for (let i = 0; i < 200; ++i) make_run(path.join(many, `run-${String(i).padStart(3, '0')}`), {steps: 1000 + i, seed: i, state: i % 10 === 3 ? 'failed' : 'finished', text: i % 10 === 3 ? 'rank 1 was killed by signal 9' : ''});
  make_run(path.join(many, 'long'), {steps: long_steps, seed: 7});
  execFileSync('sync');   // what was just written costs what is measured nothing
  let big = await room.serve({folder: many});
  const viewer = await room.browse(), there = new Page(viewer, big);
  // Other programs may be at work: what is measured is the least of up to three rounds.
  const within = async (limit, measure) => {
    const rounds = [];
    do rounds.push(await measure(rounds.length)); while (rounds.at(-1) >= limit && rounds.length < 3);
    assert(rounds.at(-1) < limit, `${rounds.map((time) => time.toFixed(0)).join(', ')} ms`);
  };
  const shown = (what, times) => console.log(`       ${what}: ${times.map((time) => time.toFixed(0)).join(', ')} ms`);
  const zooms = () => viewer.script(() => performance.getEntriesByName('curves-zoom').map(({duration}) => duration));
  const first_picture = async () => {
    await viewer.open('about:blank');
    await viewer.open(`${big.origin}/#/run/long/curves`);
    return until('the first curves are drawn', () => viewer.script(() => performance.getEntriesByName('curves-first')[0]?.startTime), 30);
  };
  const restarted = async () => {
    await viewer.open('about:blank');
    await big.end();
    big = there.server = await room.serve({folder: many});
    await viewer.open(big.url);
  };

  await room.check('200 runs and one of 10^6 steps: the list is there within 1 s of the address', async () => {
    await within(1000, async (round) => {
      await restarted();
      await viewer.find('.runs a', {text: 'run-199'});
      const time = await viewer.script(() => performance.now());
      shown(`round ${round + 1}`, [time]);
      return time;
    });
    assert.equal((await viewer.all('tr[data-run]')).length, 201);
  });
  await room.check('the first picture of 10^6 steps is there within 1 s of the address, of a server that has not read them before', async () => {
    await within(1000, async (round) => {
      await restarted();
      const times = [await first_picture(), await first_picture(), await first_picture()];
      shown(`round ${round + 1}, cold, then warm`, times);
      return Math.max(...times);
    });
  });
  await room.check('a zoom into 10^6 steps is drawn within 100 ms, down to single steps', async () => {
    await within(100, async (round) => {
      await first_picture();
      const over = await viewer.find('[data-chart="loss"] .u-over');
      for (let i = 0; i < 3; ++i) {
        const before = (await zooms()).length;
        await viewer.drag(over, [0.3, 0.5], [0.7, 0.5]);
        await until('the zoom is drawn', async () => (await zooms()).length > before, 10);
      }
      await viewer.script((chart) => chart.focus(), await viewer.find('[data-chart="loss"] .chart'));
      for (let i = 0; i < 12; ++i) {
        const before = (await zooms()).length;
        await viewer.keys('+');
        await until('the zoom is drawn', async () => (await zooms()).length > before, 10);
      }
      const times = await zooms();
      shown(`round ${round + 1}`, times);
      assert(times.length >= 15, `${times.length} zooms`);
      return Math.max(...times);
    });
  });
  await room.check('the curve of 10^6 steps has every extreme, and zoomed in every value', async () => {
    const value = (step) => made_loss(step, 7);
    const [whole] = (await big.get('/api/curves?run=long&series=loss&x=step&points=1000')).runs;
    assert.equal(whole.exact, false);
    assert.equal(whole.steps, long_steps);
    let from = 0;
    whole.x.forEach((to, i) => {
      let [low, high, sum] = [Infinity, -Infinity, 0];
      for (let step = from + 1; step <= to; ++step) { const at = value(step); low = Math.min(low, at); high = Math.max(high, at); sum += at; }
      assert(Math.abs(whole.low[i] - low) < 1e-6 && Math.abs(whole.high[i] - high) < 1e-6 && Math.abs(whole.mean[i] - sum / (to - from)) < 1e-5, `column ${i}, steps ${from + 1} to ${to}: ${[whole.low[i], low, whole.high[i], high, whole.mean[i], sum / (to - from)]}`);
      from = to;
    });
    assert.equal(from, long_steps);
    const [part] = (await big.get('/api/curves?run=long&series=loss&x=step&from=499800&to=500200&points=1000')).runs;
    assert.equal(part.exact, true);
    part.x.forEach((step, i) => assert.equal(Math.fround(part.mean[i]), value(step), `step ${step}`));
    assert.equal(part.x.length, 401);
  });
  await room.check('with all that, serve took less than 150 MiB', async () => {
    for (let i = 0; i < 200; i += 7) await big.ask(`/api/runs/run-${String(i).padStart(3, '0')}/view`);
    await big.ask('/metrics');
    for (const series of ['grad_norm', 'lr', 'tokens_per_second', 'step_seconds', 'valid_loss']) for (const x of ['step', 'tokens', 'time']) await big.ask(`/api/curves?run=long&series=${series}&x=${x}`);
    await big.ask(`/api/runs/long/metrics?from=1&limit=10000`);
    console.log(`       ${(big.peak_bytes() / 2 ** 20).toFixed(0)} MiB at most`);
    assert(big.peak_bytes() < 150 * 2 ** 20);
  });
  await viewer.end();
  room.browsers.length = 0;
  await room.check('nothing is left running', async () => {
    await big.end();
    const left = () => processes_of(room.folder).map((pid) => { try { return `${pid} ${fs.readFileSync(`/proc/${pid}/cmdline`, 'latin1').replaceAll('\0', ' ').slice(0, 200)}`; } catch { return ''; } }).filter(Boolean);
    await until(() => `these are left: ${left().join('\n')}`, () => left().length === 0, 30);
  });
});
