// Runs for cases: real ones, and folders that look like runs.
import fs from 'node:fs';
import path from 'node:path';
import {spawn} from 'node:child_process';
import {fileURLToPath} from 'node:url';
import {until} from './webdriver.mjs';

export const repository = path.resolve(path.dirname(fileURLToPath(import.meta.url)), '../..');

// A model that takes a few milliseconds a step, as fields of the form.
export const tiny = {'model.layers': '4', 'model.hidden': '64', 'model.heads': '4', 'model.kv_heads': '2', 'model.head_dim': '16', 'model.ffn': '192',
  'model.vocab': '259', 'batch.seq_len': '64', 'batch.micro_batch_size': '2', 'batch.global_batch_size': '6', 'data.tokenizer': 'bytes', 'train.seed': '7', 'train.threads': '1'};

export function write_corpus(folder) {
  const file = path.join(folder, 'corpus.txt');
  fs.writeFileSync(file, fs.readFileSync(path.join(repository, 'LICENSE')).subarray(0, 8000));
  return file;
}

// Starts `processes` ranks of a run in `folder`, and waits until it trains. `settings` over those of `tiny`; `flags` as they are.
// Returns {launcher, folder, end()}.
export async function launch(room, name, processes, settings = {}, flags = []) {
  const folder = path.join(room.runs, name), corpus = write_corpus(room.folder), said = path.join(room.folder, `${name.replaceAll('/', '-')}.text`);
  const all = {...tiny, 'data.train': corpus, 'log.sample_seconds': '1', 'log.progress': 'none', 'train.steps': '100000', ...settings};
  const out = fs.openSync(said, 'w');
  const launcher = spawn('setpriv', ['--pdeathsig', 'KILL', room.troika, 'launch', '--nproc-per-node', String(processes), '--', 'train',
    ...Object.entries(all).flatMap(([key, value]) => [`--${key}`, value]), '--out', folder, ...flags], {env: room.environment, stdio: ['ignore', out, out], cwd: room.folder});
  fs.closeSync(out);
  let ended = null;
  launcher.on('exit', (code, signal) => ended = signal ?? code);
  launcher.on('error', (error) => ended = error.message);
  const began = () => /training|finished/.test(state_of(folder)?.state) && fs.existsSync(path.join(folder, 'metrics.jsonl'));
  await until(`${name} begins`, () => began() || ended !== null, 60);
  if (!began()) throw new Error(`${name} ended with ${ended}: ${fs.readFileSync(said, 'utf8').slice(-1500)}`);
  return {launcher, folder,
    get ended() { return ended; },
    async end(signal = 'SIGKILL') {
      if (ended === null) launcher.kill(signal);
      await until(`${name} ends`, () => ended !== null, 30);
      return ended;
    }};
}

export function state_of(folder) {
  try {
    return JSON.parse(fs.readFileSync(path.join(folder, 'state.json'), 'utf8'));
  } catch {
    return null;
  }
}

export const rows_of = (folder) => fs.readFileSync(path.join(folder, 'metrics.jsonl'), 'utf8').split('\n').filter((line) => line.endsWith('}')).map((line) => JSON.parse(line));

// --- folders that look like runs ------------------------------------------------------------------------------------------

// A course of the loss, in fp32 as a run has it, that no two steps and no two seeds have in common; every 1000th step stands out.
export function made_loss(step, seed) {
  const noise = Math.abs(Math.sin(step * 12.9898 + seed * 78.233) * 43758.5453) % 1;
  return Math.fround(1.5 + 5 / (1 + step / 500) + 0.2 * noise + 0.1 * (seed % 7) + (step % 1000 === 0 ? 0.7 : 0));
}

const bits = Buffer.alloc(4);
function row(step, seed) {
  const loss = made_loss(step, seed);
  bits.writeFloatBE(loss);
  return `{"step": ${step}, "loss": ${loss.toPrecision(9)}, "loss_bits": "${bits.toString('hex')}", "grad_norm": ${(0.5 + 3 / (1 + step / 100)).toPrecision(9)}, ` +
    `"lr": ${(3e-4 / (1 + step / 10000)).toPrecision(9)}, "tokens": 384, "tokens_total": ${384 * step}, "step_seconds": 0.0153, "tokens_per_second": 25098.0392, ` +
    `"memory_bytes": 4465536, "steps_repeated": 0${step % 500 === 0 ? `, "valid_loss": ${(loss + 0.1).toPrecision(9)}, "valid_tokens": 4096` : ''}}\n`;
}

// A run of `ranks` ranks that has finished, or as `state` says, with rows, events and samples. `planned`: steps that it was to do.
export function make_run(folder, {steps, planned = steps, seed = 1, ranks = 3, state = 'finished', text = '', began = Date.now() / 1000 - 3600}) {
  fs.mkdirSync(path.join(folder, 'records'), {recursive: true});
  fs.mkdirSync(path.join(folder, 'logs'), {recursive: true});
  const metrics = fs.openSync(path.join(folder, 'metrics.jsonl'), 'w');
  for (let first = 1; first <= steps; first += 20000) {
    const lines = [];
    for (let step = first; step < Math.min(first + 20000, steps + 1); ++step) lines.push(row(step, seed));
    fs.writeSync(metrics, lines.join(''));
  }
  fs.closeSync(metrics);
  const list = Array.from({length: ranks}, (_, rank) => ({rank, host: 'pi' + rank, pid: 4000000 + rank, dp: 0, pp: rank, tp: 0, cp: 0}));
  fs.writeFileSync(path.join(folder, 'state.json'), JSON.stringify({state, since: began + 3000, began, launch: seed.toString(16).padStart(32, '0'), attempt: 0, folder,
    model: 'qwen3-tiny: 4 layers, width 64, 213.9 K parameters, vocabulary 259', parameters: 213888, layout: `pp ${ranks}, schedule 1f1b`, dp: 1, pp: ranks, tp: 1, cp: 1,
    zero: 0, schedule: '1f1b', precision: 'fp32', device: 'cpu', steps: planned, first_step: 0, tokens_per_step: 384, flops_per_step: 566673408, sample_seconds: 1, text,
    exit_code: state === 'failed' ? 75 : 0, ranks: list}, null, 1));
  fs.writeFileSync(path.join(folder, 'events.jsonl'), [{time: began, event: 'launch', host: 'pi0', attempt: 0, text: `${ranks} ranks on ${ranks} hosts`},
    {time: began + 1, event: 'start', host: 'pi0', attempt: 0, step: 0, text: `step 1 of ${planned} is next`, ranks, steps: planned},
    {time: began + 3000, event: state === 'failed' ? 'failure' : 'finish', host: 'pi0', attempt: 0, step: steps, text: text || `all ${steps} steps are done`}]
      .map((event) => JSON.stringify(event) + '\n').join(''));
  for (const {rank, host} of list) {
    const name = String(rank).padStart(5, '0');
    fs.writeFileSync(path.join(folder, 'records', `rank-${name}.jsonl`), [1, 2, 3].map((number) => JSON.stringify({time: began + 1000 * number, rank, host, attempt: 0, number,
      place: {step: Math.round(steps * number / 3), at: 'fwd 0.1', seconds: 0.002, usual_seconds: 0.003, ...(rank > 0 ? {waits_for: rank - 1} : {})}, pace_seconds: 0.012 + 0.001 * rank,
      elapsed_seconds: 1000 * number, phases: {forward: 200 * number, backward: 400 * number, optimizer: 30 * number, exchange: 20 * number}, waits: {fwd: 100 * number, bwd: 50 * number},
      traffic: list.filter((other) => Math.abs(other.rank - rank) === 1).map((other) => ({peer: other.rank, sent_bytes: 4e8 * number, received_bytes: 3e8 * number, waited_seconds: 20 * number})),
      memory: {parameters: 263552, gradients: 718240, state: 527104, activations: 1902592, resident: 1.9e8}}) + '\n').join(''));
    fs.writeFileSync(path.join(folder, 'logs', `rank-${name}.log`), Array.from({length: 50}, (_, i) => `2026-01-01 12:00:${String(i).padStart(2, '0')}.123 info rank ${rank}: line ${i}\n`).join(''));
  }
  fs.writeFileSync(path.join(folder, 'run.log'), `2026-01-01 12:00:00.123 info rank 0: step 1/${steps} loss 6.2577\n`);
}

// The folder of a sweep that has finished, as docs/formats/sweep.md has it.
export function make_sweep(folder) {
  fs.mkdirSync(folder, {recursive: true});
  const columns = ['dp', 'pp', 'tp', 'cp', 'zero', 'schedule', 'micro_batch_size', 'recompute', 'samples_per_second', 'tokens_per_second', 'step_seconds', 'memory_bytes', 'communication_share', 'bubble_share',
    'predicted_step_seconds', 'predicted_memory_bytes', 'status', 'virtual_stages', 'offload', 'precision', 'global_batch_size', 'resident_bytes', 'predicted_resident_bytes', 'loss_bits', 'seconds', 'reason'];
  const rows = [[3, 1, 1, 1, 0], [1, 3, 1, 1, 0], [3, 1, 1, 1, 1], [3, 1, 1, 1, 2], [3, 1, 1, 1, 3], [1, 1, 3, 1, 0], [1, 1, 1, 3, 0]].map(([dp, pp, tp, cp, zero], i) => {
    const failed = i === 5, step = 0.031 + 0.006 * ((i * 5) % 7), memory = 4465536 + 900000 * ((i * 3) % 7);
    const measured = failed ? ['', '', '', '', '', ''] : [6 / step, 384 / step, step, memory, 0.12 + 0.04 * i, pp > 1 ? 0.22 : 0];
    return [dp, pp, tp, cp, zero, '1f1b', 2, 'none', ...measured, step * (0.9 + 0.03 * i), Math.round(memory * 1.02), failed ? 'failed' : 'ok', 1, 'none', 'fp32', 6,
      failed ? '' : 1.6e8 + 5e6 * i, 1.5e8 + 5e6 * i, failed ? '' : '40b12b44', 6.5, failed ? '"3 heads do not divide by 4, so ""tp 3"" cannot be"' : ''];
  });
  fs.writeFileSync(path.join(folder, 'summary.csv'), [columns, ...rows].map((row) => row.join(',') + '\r\n').join(''));
  fs.writeFileSync(path.join(folder, 'sweep.json'), JSON.stringify({format: 1, nnodes: 1, nproc: 3, settings: 'model:\n  preset: qwen3-tiny\ntrain:\n  steps: 6\n'}));
  fs.writeFileSync(path.join(folder, 'best.yaml'), 'model:\n  preset: qwen3-tiny\n');
}
