// What the form of a new run sends, marks and takes from files, and the arithmetic of sweeps.
import assert from 'node:assert/strict';
import test from 'node:test';
import {page_module} from './page_modules.mjs';

const form = await page_module('form/model.js');
const fresh = await page_module('form/beginnings.js');
const sweeps = await page_module('sweeps/rows.js');

const setting = (key, type, value) => ({key, type, default: value, flag: '--' + key, help: '', words: []});
const catalog = form.catalogOf({sections: [
  {name: 'model', title: '', settings: [setting('model.preset', 'text', 'qwen3-tiny'), setting('model.path', 'text', ''),
    setting('model.hidden', 'integer', '64'), setting('model.layers', 'integer', '4')]},
  {name: 'lora', title: '', settings: [setting('lora.rank', 'integer', '0')]},
  {name: 'data', title: '', settings: [setting('data.train', 'text', ''), setting('data.chat_template', 'word', 'auto'),
    setting('data.packing', 'truth', 'false')]},
  {name: 'batch', title: '', settings: [setting('batch.seq_len', 'integer', '256'), setting('batch.micro_batch_size', 'integer', 'null'),
    setting('batch.global_batch_size', 'integer', 'null'), setting('batch.microbatches', 'integer', 'null')]},
  {name: 'parallel', title: '', settings: [setting('parallel.dp', 'integer', '0'), setting('parallel.pp', 'integer', '1'),
    setting('parallel.zero', 'integer', '0'), setting('parallel.schedule', 'word', '1f1b'), setting('parallel.stage_layers', 'list', '')]},
  {name: 'optimizer', title: '', settings: [setting('optimizer.lr', 'number', '0.0003'), setting('optimizer.warmup_ratio', 'number', '0')]},
  {name: 'precision', title: '', settings: [setting('precision.compute', 'word', 'fp32')]},
  {name: 'train', title: '', settings: [setting('train.steps', 'integer', '0'), setting('train.epochs', 'number', '1'),
    setting('train.out', 'text', 'runs/default')]},
  {name: 'log', title: '', settings: [setting('log.on_event', 'text', '')]},
]});
const of = (key) => catalog.byKey.get(key);
const sent = (draft) => form.formOf(draft, catalog).settings;

test('a page offers neither the folder nor a command', () => {
  assert.equal(of('train.out'), undefined);
  assert.equal(of('log.on_event'), undefined);
});

test('a fresh form sends what suits its task, and nothing that is the default', () => {
  const draft = form.newDraft('tune-1');
  assert.deepEqual(sent(draft), {'batch.seq_len': '512', 'batch.global_batch_size': '16', 'optimizer.lr': '2e-5', 'optimizer.warmup_ratio': '0.05',
    'train.epochs': '3'});
  draft.task = 'lora';
  assert.equal(sent(draft)['lora.rank'], '8');
  draft.task = 'scratch';
  assert.deepEqual(sent(draft), {'batch.global_batch_size': '16', 'optimizer.lr': '1e-3', 'optimizer.warmup_ratio': '0.05', 'train.steps': '500'});
});

test('the sequences of a step are a multiple of the processes', () => {
  const draft = form.newDraft('tune-1');
  for (const processes of [1, 2, 3, 5, 7, 40]) {
    draft.processes = processes;
    const sequences = Number(form.offeredValue(draft, of('batch.global_batch_size')));
    assert.equal(sequences % processes, 0, String(processes));
    assert.ok(sequences >= 16);
  }
});

test('a value is changed while it differs from what is offered, however it is written', () => {
  const draft = form.newDraft('tune-1'), lr = of('optimizer.lr');
  form.setValue(draft, lr, ' 1e-4 ');
  assert.ok(form.isChanged(draft, lr));
  assert.equal(sent(draft)['optimizer.lr'], '1e-4');
  form.setValue(draft, lr, '0.00002');
  assert.ok(!form.isChanged(draft, lr));
  assert.equal(form.valueOf(draft, lr), '2e-5');
  form.setValue(draft, lr, '0.0003');
  assert.ok(form.isChanged(draft, lr), 'the default of the table is a change, too');
  assert.ok(!('optimizer.lr' in sent(draft)));
});

test('what belongs to another task is kept and not sent', () => {
  const draft = form.newDraft('tune-1');
  form.setValue(draft, of('model.path'), 'models/a');
  draft.task = 'scratch';
  assert.ok(!('model.path' in sent(draft)));
  draft.task = 'lora';
  assert.equal(sent(draft)['model.path'], 'models/a');
});

test('a model without a chat template is offered with chatml', () => {
  const draft = form.newDraft('tune-1'), models = [{path: 'a', chat_template: false}, {path: 'b', chat_template: true}, {path: 'c'}];
  const offered = (path) => {
    form.setValue(draft, of('model.path'), path);
    form.noteChoices(draft, {models, data: []});
    return form.valueOf(draft, of('data.chat_template'));
  };
  assert.deepEqual(['a', 'b', 'c', 'd'].map(offered), ['chatml', 'auto', 'auto', 'auto']);
});

test('the learning rate suits the size of the model, and few records make smaller steps and more passes', () => {
  const draft = form.newDraft('tune-1');
  const advised = (task, modelBytes, records, processes = 1) => {
    Object.assign(draft, {task, processes, known: {modelBytes, records}});
    return [form.offeredValue(draft, of('optimizer.lr')), form.offeredValue(draft, of('batch.global_batch_size')), form.offeredValue(draft, of('train.epochs'))];
  };
  assert.deepEqual(advised('tune', 2e9, 1000), ['2e-5', '16', '3']);
  assert.deepEqual(advised('tune', 16e9, 100), ['1e-5', '13', '13']);
  assert.deepEqual(advised('lora', 1e9, 5), ['1e-4', '1', '20']);
  assert.deepEqual(advised('lora', 1e9, 20), ['1e-4', '3', '15']);
  assert.deepEqual(advised('tune', 5e6, 5, 3), ['4e-4', '3', '60']);
  assert.deepEqual(advised('tune', 2e9, 0), ['2e-5', '1', '3']);
  assert.deepEqual(advised('lora', 1, undefined), ['3e-3', '16', '3']);
});

test('how long a run is stays as chosen while its number is being typed', () => {
  const draft = form.newDraft('tune-1');
  assert.equal(form.lengthOf(draft, catalog), 'train.epochs');
  form.chooseLength(draft, catalog, 'train.steps');
  assert.equal(sent(draft)['train.steps'], '100');
  assert.ok(!('train.epochs' in sent(draft)));
  form.setValue(draft, of('train.steps'), '');
  assert.equal(form.lengthOf(draft, catalog), 'train.steps');
  form.chooseLength(draft, catalog, 'train.epochs');
  assert.ok(!('train.steps' in sent(draft)));
  assert.equal(sent(draft)['train.epochs'], '3');
});

test('the steps of a run are those stated, else those that the records of the data make', () => {
  const draft = form.newDraft('tune-1'), data = [{path: 'a.jsonl', lines: 100}, {path: 'b.txt'}];
  const steps = () => form.stepsOf(draft, catalog, data, 16);
  assert.deepEqual(steps(), {steps: null, exact: false});
  form.setValue(draft, of('data.train'), 'a.jsonl');
  assert.deepEqual(steps(), {steps: 18, exact: false}, 'three passes, rounded down as the run does');
  form.setValue(draft, of('data.packing'), 'true');
  assert.deepEqual(steps(), {steps: null, exact: false}, 'of packed records nobody knows before');
  draft.task = 'scratch';
  assert.deepEqual(steps(), {steps: 500, exact: true});
  form.chooseLength(draft, catalog, 'train.epochs');
  assert.deepEqual(steps(), {steps: null, exact: false});
});

test('what must be chosen is named until it is', () => {
  const draft = form.newDraft('tune-1');
  assert.deepEqual(form.missingOf(draft, catalog), ['model.path', 'data.train']);
  draft.task = 'scratch';
  assert.deepEqual(form.missingOf(draft, catalog), ['data.train']);
  form.setValue(draft, of('data.train'), 'a.jsonl');
  assert.deepEqual(form.missingOf(draft, catalog), []);
});

test('a file of settings has the defaults of the table where it states nothing, and loses what follows from the rest', () => {
  const settings = {'model.path': 'm', 'lora.rank': '4', 'batch.seq_len': '256', 'batch.micro_batch_size': '1', 'batch.global_batch_size': '12',
    'batch.microbatches': '6', 'parallel.dp': '2', 'train.steps': '60', 'train.epochs': '1'};
  const draft = form.draftOfSettings(settings, catalog, {name: 'a', processes: 2});
  assert.equal(draft.task, 'lora');
  assert.deepEqual(sent(draft), {'model.path': 'm', 'lora.rank': '4', 'batch.micro_batch_size': '1', 'batch.global_batch_size': '12', 'train.steps': '60'});
  assert.equal(form.valueOf(draft, of('optimizer.lr')), '0.0003');
  assert.equal(form.offeredValue(draft, of('optimizer.lr')), '1e-4', 'and back is to what a fresh form suggests');
});

test('a run like another one has its passes, and not what the program filled in', () => {
  const last = {'train.steps': '2666', 'train.epochs': '2', 'batch.micro_batch_size': '1', 'optimizer.lr': '0.001'};
  assert.deepEqual(form.withoutFilledIn(last, {'train.epochs': '2', 'optimizer.lr': '0.001'}), {'train.epochs': '2', 'optimizer.lr': '0.001'});
  assert.deepEqual(form.withoutFilledIn(last, {'train.steps': '2666'})['train.steps'], '2666');
  assert.ok(!('train.steps' in form.withoutFilledIn(last, null)));
  assert.equal(form.withoutFilledIn({'train.steps': '60', 'train.epochs': '1'}, null)['train.steps'], '60');
});

test('a small number is written as people write it', () => {
  const draft = form.draftOfSettings({'model.path': 'm', 'optimizer.lr': '0.003', 'optimizer.warmup_ratio': '0.1'}, catalog, {name: 'a', processes: 1});
  assert.deepEqual([draft.settings['optimizer.lr'], draft.settings['optimizer.warmup_ratio']], ['3e-3', '0.1']);
});

test('what the folder of a model decides is neither offered nor sent', () => {
  const draft = form.newDraft('tune-1'), [hidden, layers] = [of('model.hidden'), of('model.layers')];
  draft.settings['model.hidden'] = '128';
  assert.deepEqual([form.valueOf(draft, hidden), form.valueOf(draft, layers)], ['', '']);
  assert.ok(form.isDecided(draft, 'model.hidden') && !form.isDecided(draft, 'model.layers') && !form.isChanged(draft, hidden));
  form.setValue(draft, layers, '4');
  assert.equal(sent(draft)['model.layers'], '4', 'fewer layers than the folder has, though it is the default of the table');
  assert.ok(!('model.hidden' in sent(draft)));
  draft.task = 'scratch';
  assert.equal(sent(draft)['model.hidden'], '128');
});

test('the examples depend on the data and the model alone', () => {
  const draft = form.newDraft('tune-1');
  form.setValue(draft, of('data.train'), 'a.jsonl');
  assert.equal(form.dataFormOf(draft, catalog), null, 'without a model');
  form.setValue(draft, of('model.path'), 'm');
  assert.deepEqual(form.dataFormOf(draft, catalog), {processes: 1, settings: {'model.path': 'm', 'data.train': 'a.jsonl', 'batch.seq_len': '512'}});
});

test('the one model is chosen already, also once a run has exported another', () => {
  const beginnings = (models) => fresh.freshDraft({models: models.map((path) => ({path})), data: []}, []);
  assert.equal(beginnings(['m', 'runs/a/exports/step-00000020']).settings['model.path'], 'm');
  assert.equal(beginnings(['m', 'n']).settings['model.path'], undefined);
  assert.equal(beginnings([]).task, 'scratch');
});

test('what a model folder and other settings say is not stated again', () => {
  const like = (settings) => Object.keys(form.draftOfSettings(settings, {...catalog, byKey: new Map(Object.keys(settings).map((key) => [key, setting(key, 'text', '')]))},
    {name: 'a', processes: 1}).settings);
  assert.deepEqual(like({'model.path': 'm', 'model.hidden': '64', 'model.layers': '2', 'data.tokenizer': 'm'}), ['model.path', 'model.layers']);
  assert.deepEqual(like({'model.hidden': '64', 'data.tokenizer': 'm'}), ['model.hidden', 'data.tokenizer']);
  assert.deepEqual(like({'optimizer.warmup_steps': '6', 'optimizer.warmup_ratio': '0.1', 'train.steps': '60'}), ['optimizer.warmup_ratio', 'train.steps']);
  assert.deepEqual(like({'optimizer.warmup_steps': '5', 'optimizer.warmup_ratio': '0.1', 'train.steps': '60'}).length, 3);
});

test('a layout is taken whole and left open again', () => {
  const draft = form.newDraft('tune-1');
  form.setValue(draft, of('parallel.stage_layers'), '2,1');
  form.takeLayout(draft, catalog, {dp: 1, pp: 2, tp: 1, cp: 1, zero: 1, schedule: 'zb-h1', micro_batch_size: 4, global_batch_size: 16, precision: 'bf16'});
  const settings = sent(draft);
  assert.deepEqual([settings['parallel.dp'], settings['parallel.pp'], settings['parallel.zero'], settings['parallel.schedule']], ['1', '2', '1', 'zb-h1']);
  assert.deepEqual([settings['batch.micro_batch_size'], settings['precision.compute']], ['4', 'bf16']);
  assert.ok(!('parallel.stage_layers' in settings) && form.hasLayout(draft));
  form.openLayout(draft, catalog);
  assert.ok(!form.hasLayout(draft));
  assert.ok(Object.keys(sent(draft)).every((key) => !key.startsWith('parallel.')));
});

test('an error goes to the setting that it names first, by key or flag', () => {
  const {byKey, others} = form.placeErrors(['optimizer.lr must be at most 1000, not 5000', '--batch.seq-len takes a whole number',
    'no layout fits', 'e.g. nothing'], catalog);
  assert.deepEqual([...byKey.keys()], ['optimizer.lr', 'batch.seq_len']);
  assert.deepEqual(others, ['no layout fits', 'e.g. nothing']);
});

test('names of runs are free, plain and not taken', () => {
  assert.equal(form.freeName('tune', ['tune-1', 'tune-3']), 'tune-2');
  assert.equal(form.nameFault('a_1.b-c', []), null);
  for (const [name, fault] of [['', 'empty'], [' ', 'empty'], ['.a', 'letters'], ['-a', 'letters'], ['a/b', 'letters'], ['a b', 'letters'],
    ['x'.repeat(101), 'letters'], ['old', 'taken']])
    assert.equal(form.nameFault(name, ['old']), `form.name.${fault}`, name);
});

const row = (more) => ({status: 'ok', samples_per_second: 10, tokens_per_second: 1000, step_seconds: 2, predicted_step_seconds: 1.6, global_batch_size: 20,
  communication_share: 0.1, bubble_share: 0.2, ...more});

test('a sweep derives what was predicted in tokens, how far off that was, and the share of computing', () => {
  const [one, failed] = sweeps.withDerived([row({}), row({status: 'failed', tokens_per_second: null, samples_per_second: null, step_seconds: null})]);
  assert.equal(one.predicted_tokens_per_second, 1250);
  assert.ok(Math.abs(one.off - 0.25) < 1e-12 && Math.abs(one.compute_share - 0.7) < 1e-12);
  assert.deepEqual([failed.predicted_tokens_per_second, failed.off, failed.compute_share], [1250, null, null]);
  assert.equal(sweeps.withDerived([row({status: 'timeout', tokens_per_second: null})])[0].predicted_tokens_per_second, null);
});

test('rows are sorted by numbers as numbers, and those without a value come last both ways', () => {
  const rows = [row({x: 10}), row({x: null}), row({x: 9})];
  assert.deepEqual(sweeps.sorted(rows, 'x', 'ascending').map(({x}) => x), [9, 10, null]);
  assert.deepEqual(sweeps.sorted(rows, 'x', 'descending').map(({x}) => x), [10, 9, null]);
  assert.deepEqual(sweeps.fastestFirst([row({}), row({tokens_per_second: 2000}), row({status: 'failed', tokens_per_second: 9999})])
    .map((one) => one.tokens_per_second), [2000, 1000]);
});
