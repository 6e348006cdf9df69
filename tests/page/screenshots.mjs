// node screenshots.mjs PROGRAM FOLDER: pictures of every page for the guides, by hand: FOLDER/page-*.png, 1280 wide, in English, of a small
// three-process run that is at work.
import fs from 'node:fs';
import path from 'node:path';
import zlib from 'node:zlib';
import {Page, colours_in} from './page.mjs';
import {decoded} from './png.mjs';
import {in_room} from './room.mjs';
import {launch, make_run, make_sweep, write_corpus} from './runs.mjs';
import {until} from './webdriver.mjs';

// The same picture in as few bytes: with a palette where 256 colours are enough, which costs colours that nobody tells apart where not.
function small_png(file) {
  const picture = decoded(file);
  let bits = 8, palette;
  const reduced = (value) => bits === 8 ? value : Math.round(Math.round(value / 255 * ((1 << bits) - 1)) * 255 / ((1 << bits) - 1));
  const at = (x, y) => { const [r, g, b] = picture.at(x, y); return reduced(r) << 16 | reduced(g) << 8 | reduced(b); };
  const plain = new Map();
  for (let y = 0; y < picture.height; ++y) for (let x = 0; x < picture.width; ++x) { const colour = at(x, y); plain.set(colour, (plain.get(colour) ?? 0) + 1); }
  // The colours that are there most, and for each other one the nearest of them.
  palette = [...plain].sort((a, b) => b[1] - a[1]).slice(0, 256).map(([colour]) => colour);
  const index = new Map(palette.map((colour, i) => [colour, i]));
  const nearest = (colour) => {
    if (!index.has(colour)) {
      let best = 0, distance = Infinity;
      palette.forEach((other, i) => {
        const away = [16, 8, 0].reduce((sum, shift) => sum + ((colour >> shift & 255) - (other >> shift & 255)) ** 2, 0);
        if (away < distance) [best, distance] = [i, away];
      });
      index.set(colour, best);
    }
    return index.get(colour);
  };
  const rows = Buffer.alloc((picture.width + 1) * picture.height);
  for (let y = 0; y < picture.height; ++y) for (let x = 0; x < picture.width; ++x) rows[y * (picture.width + 1) + 1 + x] = nearest(at(x, y));
  const chunk = (type, data) => {
    const body = Buffer.concat([Buffer.from(type, 'latin1'), data]), head = Buffer.alloc(4), sum = Buffer.alloc(4);
    head.writeUInt32BE(data.length);
    sum.writeUInt32BE(crc_of(body));
    return Buffer.concat([head, body, sum]);
  };
  const header = Buffer.alloc(13);
  header.writeUInt32BE(picture.width, 0);
  header.writeUInt32BE(picture.height, 4);
  header.set([8, 3, 0, 0, 0], 8);
  return Buffer.concat([file.subarray(0, 8), chunk('IHDR', header), chunk('PLTE', Buffer.from(palette.flatMap((colour) => [colour >> 16, colour >> 8 & 255, colour & 255]))),
    chunk('IDAT', zlib.deflateSync(rows, {level: 9, memLevel: 9})), chunk('IEND', Buffer.alloc(0))]);
}

const table = Array.from({length: 256}, (_, n) => { for (let k = 0; k < 8; ++k) n = n & 1 ? 0xedb88320 ^ n >>> 1 : n >>> 1; return n >>> 0; });
const crc_of = (bytes) => { let crc = ~0; for (const byte of bytes) crc = table[(crc ^ byte) & 255] ^ crc >>> 8; return ~crc >>> 0; };

await in_room(async (room) => {
  const out = path.resolve(process.argv[3] ?? 'docs/guides/images');
  fs.mkdirSync(out, {recursive: true});
  write_corpus(room.folder);
  make_run(path.join(room.runs, 'first'), {steps: 2000, seed: 2, ranks: 1});
  make_run(path.join(room.runs, 'larger-batch'), {steps: 3000, seed: 3, ranks: 2});
  make_run(path.join(room.runs, 'killed'), {steps: 640, planned: 1000, seed: 5, ranks: 3, state: 'failed', text: 'rank 1 on pi1 was killed by signal 9: the system ran out of memory'});
  make_sweep(path.join(room.runs, 'layouts'));
  const server = await room.serve({flags: ['--root', room.folder]}), browser = await room.browse();
  await launch(room, 'pipeline', 3, {'parallel.pp': '3', 'train.steps': '3000', 'checkpoint.every': '200', 'checkpoint.keep': '4', 'data.valid': path.join(room.folder, 'corpus.txt'), 'train.eval_every': '200'}, ['--profile', '100']);
  await until('it has done some steps', async () => (await server.run('pipeline')).step > 700, 120);
  const page = await Page.open(browser, server);
  await browser.hide_scrollbars();
  const keep = async (name, height = 860) => {
    await browser.resize(1280, height);
    await browser.script(() => { document.activeElement.blur(); scrollTo(0, 0); });
    await browser.hover(await browser.find('main h1'));
    await new Promise((resolve) => setTimeout(resolve, 1200));
    const file = path.join(out, `page-${name}.png`);
    fs.writeFileSync(file, small_png(await browser.screenshot()));
    console.log(`       ${file} ${(fs.statSync(file).size / 1024).toFixed(0)} KiB`);
  };
  const drawn = (selector, colour) => until('it is drawn', async () => (await colours_in(browser, await browser.find(selector), [colour]))[colour] > 20);
  await room.check('every page has its picture', async () => {
    await page.go('runs');
    await keep('runs', 420);
    await page.to_run('pipeline');
    await keep('run');
    await page.to_run('pipeline', 'curves');
    await drawn('[data-chart="loss"] canvas', '--s1');
    await keep('curves');
    await page.to_run('pipeline', 'grid');
    await drawn('canvas.step-canvas', '--forward');
    await keep('grid', 700);
    for (const tab of ['memory', 'checkpoints', 'logs']) {
      await page.to_run('pipeline', tab);
      await keep(tab);
    }
    await page.to_run('killed', 'why');
    await keep('why', 640);
    await page.go('new');
    await browser.click(await browser.find('.essentials input[type=radio][value=scratch]'));
    await page.set('data.train', 'corpus.txt');
    await page.set('data.tokenizer', 'bytes');
    await page.plan();
    await keep('new', 1000);
    await page.go('compare', 'first', 'larger-batch');
    await drawn('[data-chart="loss"] canvas', '--s2');
    await keep('compare');
    await page.go('sweep', 'layouts');
    await keep('sweep', 1000);
    await page.to_run('pipeline');
    await browser.resize(390, 844, {phone: true});
    await new Promise((resolve) => setTimeout(resolve, 1200));
    fs.writeFileSync(path.join(out, 'page-phone.png'), small_png(await browser.screenshot()));
  });
}, '/tmp/training');   // which the pictures show
