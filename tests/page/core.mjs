// node core.mjs PROGRAM: the page of `troika serve` in a browser, as people use it first: open the address, watch a run, start one, stop it
// after a save, resume it, read it in Chinese. full.mjs has what proves more.
import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import {Page, colours_in, tabs} from './page.mjs';
import {in_room, processes_of} from './room.mjs';
import {launch, make_run, rows_of, state_of, write_corpus} from './runs.mjs';
import {until} from './webdriver.mjs';

await in_room(async (room) => {
  write_corpus(room.folder);
  const [server, browser, live] = await Promise.all([room.serve({flags: ['--root', room.folder]}), room.browse(), launch(room, 'live', 3, {'parallel.pp': '3', 'checkpoint.every': '1000'}, ['--profile', '5'])]);
  let page;

  await room.check('a console error and a request to another server are noticed', async () => {
    await browser.open('data:text/html,<script>console.error("planted")</script><img src="http://127.0.0.2:9/planted.png">');
    const found = await until('both are noticed', async () => { const all = await browser.complaints(); return all.length > 0 && all; });
    assert(found.some((text) => text.includes('planted"')) && found.some((text) => text.includes('127.0.0.2')), String(found));
    await browser.read_logs();
    browser.errors = [];
  });
  await room.check('the address that serve prints lets in, and the token leaves it', async () => {
    page = await Page.open(browser, server);
    assert.equal(await page.heading(), page.t('runs.title'));
    await browser.find('.runs a', {text: 'live'});
    assert(!(await browser.address_bar()).includes(server.token));
    assert.deepEqual(await browser.cookies(), []);  // another server of this address would get it
    assert.equal(await browser.script(() => document.cookie + JSON.stringify({...localStorage, ...sessionStorage})).then((kept) => kept.includes(server.token)), false);
    await browser.reload();
    await page.ready();
    await browser.find('.runs a', {text: 'live'});
  });
  await room.check('a running three-process run moves, in the list, in its page and in its curve', async () => {
    const listed = () => browser.find('[data-run="live"] .steps').then((cell) => browser.text(cell));
    const before = await listed();
    await until('the list moves', async () => await listed() !== before, 15);
    await browser.click(await browser.find('.runs a', {text: 'live'}));
    await page.ready();
    await page.state(['training', 'saving']);
    await page.moves_beyond(await page.step());
    await until('three ranks', async () => (await browser.all('.ranks tbody tr')).length === 3, 20);
    await page.to_run('live', 'curves');
    const canvas = await browser.find('[data-chart="loss"] canvas');
    await until('a curve is drawn', async () => (await colours_in(browser, canvas, ['--s1']))['--s1'] > 50, 15);
    const position = () => browser.find('[data-chart="loss"] .chart-head').then((head) => browser.text(head)), first = await position();
    await until('the curve grows', async () => await position() !== first, 15);
  });
  await room.check('every part of a run opens', async () => {
    for (const tab of tabs) {
      await page.to_run('live', tab);
      await browser.find(`nav.tabs a[data-tab="${tab}"][aria-current]`);
      assert(!await browser.has('.tab [role=alert]'), `${tab}: ${await browser.text()}`);
      assert((await browser.text(await browser.find('.tab'))).length > 20, tab);
    }
  });
  await live.end();

  const folder = path.join(room.runs, 'first');
  await room.check('a run is started from the form, which says what it will take and the equal command', async () => {
    await page.go('new');
    await browser.click(await browser.find('.essentials input[type=radio][value=scratch]'));
    await browser.fill(await page.named(page.t('form.name')), 'first');
    for (const [key, value] of [['data.train', 'corpus.txt'], ['data.tokenizer', 'bytes'], ['train.steps', '20000'], ['batch.seq_len', '64'], ['batch.global_batch_size', '6'],
      ['model.layers', '2'], ['model.hidden', '64'], ['model.heads', '4'], ['model.kv_heads', '2'], ['model.head_dim', '16'], ['model.ffn', '128'], ['train.threads', '1']]) await page.set(key, value);
    await until('the plan is there', async () => /\d (MiB|GiB)/.test(await page.plan()), 30);
    await until('the command has what was typed', async () => (await browser.script(() => document.querySelector('.plan .copy code').textContent)).includes('20000'), 20);
    await browser.click(await browser.find('.plan button.start'));
    await until('its page opens', async () => (await browser.address_bar()).endsWith('#/run/first'), 30);
    await page.state('training', 60);
    await page.moves_beyond(20, 60);
    assert.equal(state_of(folder).state, 'training');
  });
  await room.check('it stops after a save when the page asks', async () => {
    await page.act('stop-save');
    await page.state('stopped', 60);
    const saved = fs.readdirSync(path.join(folder, 'checkpoints')).sort();
    assert(saved.length > 0);
    assert.equal(Number(/step-0*(\d+)/.exec(saved.at(-1))[1]), rows_of(folder).at(-1).step, 'the checkpoint is that of the last step');
    await until('its processes have ended', () => !processes_of(room.folder).some((pid) => { try { return fs.readFileSync(`/proc/${pid}/cmdline`, 'latin1').includes(folder); } catch { return false; } }), 20);
  });
  await room.check('it is resumed from there, and no step is there twice', async () => {
    const before = rows_of(folder).at(-1).step;
    await page.act('resume');
    await page.state('training', 60);
    await page.moves_beyond(before + 20, 60);
    const steps = rows_of(folder).map(({step}) => step);  // the run goes on meanwhile
    assert.deepEqual(steps, Array.from(steps, (_, i) => i + 1));
    await page.act('stop-now');
    await page.say_yes();
    await page.state(['stopped', 'failed'], 30);
  });
  await room.check('a start that is refused is one box with its cause and the remedy, which the next change takes away', async () => {
    await page.go('new');
    await browser.click(await browser.find('.essentials input[type=radio][value=scratch]'));
    for (const [key, value] of [['data.train', 'corpus.txt'], ['data.tokenizer', 'bytes'], ['train.steps', '5']]) await page.set(key, value);
    await page.plan();
    await browser.script(() => {
      const real = window.fetch, why = {cause: 'data_refused', sentence: 'a file is wrong', evidence: ['data.train: line 1 is no JSON'], advice: [{flag: '--data.train FILE', reason: 'another file'}]};
      window.fetch = (url, options) => {
        if (options?.method !== 'POST' || !new URL(url).pathname.endsWith('/api/runs')) return real(url, options);
        window.fetch = real;
        return Promise.resolve(new Response(JSON.stringify({error: 'optimizer.lr\ndata.train\nand more', why}), {status: 400}));
      };
    });
    await browser.click(await browser.find('.plan button.start'));
    const box = await browser.find('main .note.error', {text: 'a file is wrong'});
    assert((await browser.text(box)).includes('line 1 is no JSON') && (await browser.text(box)).includes('--data.train FILE'));
    assert.equal((await browser.all('main .note.error')).length, 1);
    assert.equal(await browser.script(() => document.activeElement.closest('.field')), null);
    await page.set('train.steps', '6');
    await browser.gone('main .note.error');
  });
  await room.check('the page of a run that failed begins with the cause, and offers its settings also where it has recorded none', async () => {
    make_run(path.join(room.runs, 'failed'), {steps: 20, seed: 5, state: 'failed', text: 'rank 1 on pi1 was killed by signal 9'});
    const {sentence} = await until('the server knows it', async () => { const {status, json} = await server.ask('/api/runs/failed/why'); return status === 200 && json; }, 20);
    await page.to_run('failed');
    const end = await browser.text(await browser.find('.run-end', {text: sentence, seconds: 20}));
    assert(end.indexOf(sentence) < end.indexOf('killed by signal 9'), end);
    await browser.click(await browser.find('.actions [data-action="again"]', {text: page.t('run.again')}));
    await until('the form opens', async () => await page.heading() === page.t('form.title.like', {name: 'failed'}), 20);
    assert(!await browser.has('main [role=alert]'));
  });
  await room.check('the page is in Chinese when it is asked for, every part of it', async () => {
    await page.go('runs');
    await browser.click(await browser.find('button.language'));
    assert.equal(await browser.script(() => document.documentElement.lang), 'zh-CN');
    await until('the head is Chinese', async () => await page.heading() === page.t('runs.title', {}, 'zh'));
    const chinese = async (what) => {
      const text = await browser.text(await browser.find('#frame'));
      assert(/[\u4e00-\u9fff]/.test(text), `${what}: ${text.slice(0, 200)}`);
      // A sentence that stayed English: six words of letters alone.
      const left = /(?:\b[A-Za-z]{2,}\b[ ,]+){6,}/.exec(await browser.script(() => [...document.querySelectorAll('main h1, main h2, main h3, main p:not(.mono), main label, main button, main th, nav a')].map((e) => e.innerText).join('\n')));
      assert.equal(left, null, `${what}: ${left?.[0]}`);
    };
    for (const tab of tabs) {
      await page.to_run('first', tab);
      await chinese(tab);
    }
    for (const parts of [['new'], ['sweeps'], ['compare', 'first', 'live'], ['nowhere']]) {
      await page.go(...parts);
      await chinese(parts[0]);
    }
    await browser.reload();
    await until('it stays Chinese', async () => await browser.script(() => document.documentElement.lang) === 'zh-CN');
  });
  await room.check('what is wrong is told to a Chinese page in Chinese, and so are the reasons of a plan', async () => {
    const asked = async (path, body) => (await server.ask(`${path}?lang=zh`, body === undefined ? {}
      : {method: 'POST', headers: {'x-troika': '1', 'content-type': 'application/json'}, body: JSON.stringify(body)})).json;
    const form = (settings) => ({name: 'wrong', processes: 1, settings});
    const told = [
      (await asked('/api/runs/nowhere/plan')).error, (await asked('/api/runs/nowhere/stop', {how: 'save'})).error,
      (await asked('/api/runs', form({'train.steps': 'many'}))).error, (await asked('/api/runs', {...form({}), name: '-'})).error,
      (await asked('/api/runs', form({}))).error,
      ...(await asked('/api/plan', form({'data.train': '../../etc/passwd', 'optimizer.lr': '-1', 'trian.steps': '5'}))).errors,
      ...(await asked('/api/plan', form({'batch.seq_len': '100000', 'parallel.pp': '9'}))).errors];
    const large = await asked('/api/plan', form({'model.preset': 'qwen3-32b', 'parallel.offload': 'none'}));
    if (large.nearest !== null) told.push(large.nearest);
    const small = await asked('/api/plan', form({}));
    told.push(...small.questions, ...small.helps, ...small.layouts[0].reasons);
    assert(told.length >= 12, told.join('\n'));
    for (const text of told) {
      assert(/[\u4e00-\u9fff]/.test(text), text);
      assert.doesNotMatch(text, /(?:\b[A-Za-z]{2,}\b[ ,]+){6,}/);
    }
  });
  await room.check('serve ends by its signal', async () => {
    browser.permit(/ERR_(CONNECTION_REFUSED|INCOMPLETE_CHUNKED_ENCODING|EMPTY_RESPONSE|CONNECTION_RESET)/);
    assert.equal(await server.end(), 0);
  });
});
