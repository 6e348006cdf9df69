// node proofs.mjs PROGRAM step WATCHERS | runs FOLDER: what the page costs a run, and folders to look at by hand.
//
//   step WATCHERS  trains two ranks for some seconds while that many pages watch them (0: no server either), and prints "seconds X", the
//                  mean time of a step
//   runs FOLDER    makes 200 folders that look like runs, and one of 10^6 steps
import fs from 'node:fs';
import net from 'node:net';
import path from 'node:path';
import {in_room} from './room.mjs';
import {launch, make_run, rows_of} from './runs.mjs';
import {until} from './webdriver.mjs';

const [what, argument] = process.argv.slice(3);
const steps = 240, left_out = 40;   // the first ones, in which caches and pages warm up

// A page that only listens: what a browser does with its stream, without drawing.
function watcher(server, run) {
  const seen = {views: 0, bytes: 0, whole: true, closed: ''}, begin = Date.now();
  const socket = net.connect(server.port, '127.0.0.1', () => socket.write(
      `GET /api/live?run=${encodeURIComponent(run)} HTTP/1.1\r\nHost: 127.0.0.1:${server.port}\r\nAuthorization: Bearer ${server.token}\r\nAccept: text/event-stream\r\n\r\n`));
  socket.on('data', (data) => {
    seen.bytes += data.length;
    for (let at = data.indexOf('event: view'); at >= 0; at = data.indexOf('event: view', at + 1)) ++seen.views;
  });
  socket.on('error', () => seen.whole = false);
  socket.on('close', () => { seen.whole = false; seen.closed = `after ${Date.now() - begin} ms`; });
  return {seen, end: () => { socket.removeAllListeners('close'); socket.destroy(); }};
}

async function step(room, count) {
  const server = count > 0 ? await room.serve() : null;
  const run = await launch(room, 'watched', 2, {'train.steps': String(steps), 'model.hidden': '128', 'model.head_dim': '32', 'model.ffn': '384', 'batch.seq_len': '128', 'batch.global_batch_size': '8', 'parallel.dp': '2'});
  if (server) await until('the run is in the list', async () => (await server.get('/api/runs')).length === 1);
  const begin = Date.now(), own = process.cpuUsage(), of_server = server?.cpu_seconds() ?? 0;
  const watchers = Array.from({length: count}, () => watcher(server, 'watched'));
  await until('the run ends', () => run.ended !== null, 300, 200);
  if (run.ended !== 0) throw new Error(`the run ended with ${run.ended}`);
  const used = process.cpuUsage(own), wall = (Date.now() - begin) / 1000, taken = (seconds) => (seconds / wall * 1000).toFixed(1);
  const missed = watchers.filter(({seen}) => !seen.whole || seen.views < 3);
  if (missed.length > 0) throw new Error(`${missed.length} of ${count} pages were not told what happened: ${missed.slice(0, 5).map(({seen}) => JSON.stringify(seen)).join(' ')}`);
  for (const one of watchers) one.end();
  const times = rows_of(run.folder).filter((row) => row.step > left_out).map((row) => row.step_seconds);
  const seconds = times.reduce((sum, time) => sum + time, 0) / times.length;
  if (count > 0) console.log(`${count} pages, ${Math.min(...watchers.map(({seen}) => seen.views))} to ${Math.max(...watchers.map(({seen}) => seen.views))} views each, ` +
    `${(watchers.reduce((sum, {seen}) => sum + seen.bytes, 0) / 1e6).toFixed(1)} MB; of a second serve took ${taken(server.cpu_seconds() - of_server)} ms of a processor, the pages ${taken((used.user + used.system) / 1e6)} ms; ` +
    `serve ${(server.peak_bytes() / 2 ** 20).toFixed(0)} MiB`);
  console.log(`seconds ${seconds.toFixed(6)}`);
}

function make_runs(folder) {
  for (let i = 0; i < 200; ++i) make_run(path.join(folder, `run-${String(i).padStart(3, '0')}`), {steps: 1000 + i, seed: i, state: i % 10 === 3 ? 'failed' : 'finished', text: i % 10 === 3 ? 'rank 1 was killed by signal 9' : '', began: Date.now() / 1000 - 86400 + 100 * i});
  make_run(path.join(folder, 'long'), {steps: 1000000, seed: 7});
  console.log(`201 runs in ${folder}`);
}

if (what === 'runs') {
  fs.mkdirSync(argument, {recursive: true});
  make_runs(path.resolve(argument));
} else if (what === 'step') {
  await in_room((room) => room.check(`${argument} pages watch a run`, () => step(room, Number(argument))));
} else {
  console.error('usage: node proofs.mjs PROGRAM step WATCHERS | runs FOLDER');
  process.exit(2);
}
