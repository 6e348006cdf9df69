// Arithmetic of curves, of the grid of a step and of settings that differ.
import assert from 'node:assert/strict';
import test from 'node:test';
import {page_module} from './page_modules.mjs';

const {smoothed} = await page_module('smoothing.js');
const columns = await page_module('columns.js');
const grid = await page_module('grid/model.js');
const {differing, settingsOf} = await page_module('compare/settings.js');

const close = (a, b) => assert.ok(Math.abs(a - b) < 1e-12, `${a} beside ${b}`);
const curve = (x, mean, more = {}) => ({x, mean, low: mean, high: mean, from: x[0] ?? null, to: x.at(-1) ?? null, ...more});

test('smoothing begins at the first value and keeps what does not change', () => {
  const values = smoothed([4, 2, 2], 0.5);
  assert.equal(values[0], 4);
  close(values[1], (0.5 * 4 + 2) / 1.5);
  close(values[2], (0.25 * 4 + 0.5 * 2 + 2) / 1.75);
  for (const value of smoothed(new Array(50).fill(3), 0.99)) close(value, 3);
});

test('a column without a value stays without one and does not pull the others', () => {
  const values = smoothed([4, null, null, 2], 0.5);
  assert.deepEqual(values.slice(0, 3), [4, null, null]);
  close(values[3], (0.5 * 4 + 2) / 1.5);
});

test('no smoothing gives the values themselves', () => {
  const values = [1, null, 3];
  assert.equal(smoothed(values, 0), values);
});

test('the whole range holds all curves, and a run without steps counts for nothing', () => {
  assert.deepEqual(columns.wholeRange([curve([1, 5], [1, 1]), curve([3, 9], [1, 1]), curve([], [])]), {from: 1, to: 9});
  assert.equal(columns.wholeRange([curve([], [])]), null);
});

test('a range stays within the whole, is never narrower than the least, and is null where it is all', () => {
  const whole = {from: 0, to: 100};
  assert.deepEqual(columns.withinWhole({from: -10, to: 10}, whole, 2), {from: 0, to: 20});
  assert.deepEqual(columns.withinWhole({from: 95, to: 115}, whole, 2), {from: 80, to: 100});
  assert.deepEqual(columns.withinWhole({from: 50, to: 50.2}, whole, 2), {from: 49.1, to: 51.1});
  assert.equal(columns.withinWhole({from: -50, to: 150}, whole, 2), null);
});

test('zoom keeps its centre where it is', () => {
  assert.deepEqual(columns.zoomed({from: 0, to: 100}, 0.5, 20), {from: 10, to: 60});
  assert.deepEqual(columns.moved({from: 10, to: 20}, -0.25), {from: 7.5, to: 17.5});
});

test('as many columns are asked for as the plot has pixels, within limits', () => {
  assert.equal(columns.columnsFor(500, 1), 550);
  assert.equal(columns.columnsFor(500, 3), 1100);
  assert.equal(columns.columnsFor(9000, 2), 4000);
  assert.equal(columns.columnsFor(20, 1), 100);
});

test('the closest column is found, and the closest that has a value', () => {
  assert.equal(columns.nearest([1, 4, 9], 6), 1);
  assert.equal(columns.nearest([1, 4, 9], 7), 2);
  assert.equal(columns.nearest([1, 4, 9], 100), 2);
  assert.equal(columns.nearest([], 1), -1);
  const sparse = curve([1, 2, 3, 4, 5], [7, null, null, null, 9]);
  assert.equal(columns.nearestWithValue(sparse, 2.4), 0);
  assert.equal(columns.nearestWithValue(sparse, 4.4), 4);
  assert.equal(columns.nearestWithValue(curve([1, 2], [null, null]), 1), -1);
});

test('heights are those of the range alone, and of positive values on a logarithmic axis', () => {
  const one = {x: [1, 2, 3, 4], mean: [9, 2, null, 1], low: [9, -1, null, 0.5], high: [9, 3, null, 4], from: 1, to: 4};
  assert.deepEqual(columns.extent([one], {from: 2, to: 4}, false), {low: -1, high: 4});
  assert.deepEqual(columns.extent([one], {from: 2, to: 4}, true), {low: 0.5, high: 4});
  assert.equal(columns.extent([one], {from: 3, to: 3.5}, false), null);
  const [low, high] = columns.paddedExtent({low: 2, high: 2}, false);
  assert.ok(low < 2 && high > 2);
});

test('rows of several curves are joined by x in order', () => {
  const a = {x: [1, 3], mean: [10, 30], low: [9, 29], high: [11, 31]};
  const b = {x: [2, 3], mean: [null, 5], low: [null, 4], high: [null, 6]};
  assert.deepEqual(columns.joinedRows([a, b]), [[1, 10, 9, 11, null, null, null], [3, 30, 29, 31, 5, 4, 6]]);
});

test('CSV quotes what needs it, and no text becomes a formula', () => {
  assert.equal(columns.csvOf(['x', 'a "b", c', '=1+1'], [[1, null, 2.5]]), 'x,"a ""b"", c",\'=1+1\r\n1,,2.5\r\n');
});

test('every instruction has its kind', () => {
  const kind = (activity, text) => grid.kinds[grid.kindOf(activity, text)].key;
  for (const text of ['fwd 3.1', 'refwd 0.0.2']) assert.equal(kind(0, text), 'forward');
  for (const text of ['bwd 3.1', 'bwd_input 0.0', 'bwd_weight 0.0']) assert.equal(kind(0, text), 'backward');
  for (const text of ['reduce_grads *.1', 'gather_params *.1.7', 'norm', 'send_act 0.0', 'reduce_tied *.0', 'loss']) assert.equal(kind(0, text), 'exchange');
  assert.equal(kind(0, 'step *.0.4'), 'optimizer');
  assert.equal(kind(0, 'load 1'), 'load');
  assert.equal(kind(1, 'fwd 3.1'), 'wait');
  assert.equal(kind(2, 'send_act 3.1'), 'transfer');
});

const answer = {lanes: [{rank: 4, host: 'oak', events: [
  [0, 1, 0, 'fwd 0.0', 0], [1, 3, 1, 'recv_grad 0.0', 0], [0.5, 2, 2, 'send_act 0.0', 8], [0.6, 1, 2, 'send_act 1.0', 8], [3, 4, 0, 'bwd 0.0']]}]};

test('transfers that overlap stand below each other', () => {
  const [lane] = grid.lanesOf(answer);
  assert.deepEqual([...lane.transfers.rows], [0, 1]);
  assert.equal(lane.transfers.rowCount, 2);
  assert.equal(lane.work.rowCount, 1);
  assert.equal(lane.work.bytes[2], 0);
});

test('shares are of the step, and what nothing was recorded of is told', () => {
  const {sums, idle} = grid.sharesOf(grid.lanesOf(answer)[0], 5);
  const of = (key) => sums[grid.kinds.findIndex((kind) => kind.key === key)];
  assert.deepEqual([of('forward'), of('backward'), of('wait'), idle], [1, 1, 2, 1]);
});

test('the event at a time is found, and the closest one where there is none', () => {
  const {work, transfers} = grid.lanesOf(answer)[0];
  assert.equal(grid.eventAt(work, 2), 1);
  assert.equal(grid.eventAt(work, 9), -1);
  assert.equal(grid.eventAt(transfers, 0.8, 0), 0);
  assert.equal(grid.eventAt(transfers, 0.8, 1), 1);
  assert.equal(grid.closestEvent(work, 9), 2);
});

test('a pixel has the kind that takes most of it, and what is wider is told as it is', () => {
  const events = [[0, 0.2, 0, 'fwd 0.0'], [0.2, 0.9, 0, 'bwd 0.0'], [1, 3, 0, 'fwd 1.0']];
  const [{work}] = grid.lanesOf({lanes: [{rank: 0, host: '', events}]});
  const small = [], large = [];
  grid.layOut(work, 0, 10, 10, {small: (...pixel) => small.push(pixel), each: (...rectangle) => large.push(rectangle)});
  assert.deepEqual(small, [[1, 0, 0]]);
  assert.deepEqual(large, [[2, 1, 3]]);
});

test('settings that differ are found by section and key', () => {
  const one = settingsOf('model:\n  preset: tiny\n  heads: 4\ndata:\n  weights:\n    - 1\n    - 2\ntrain:\n  steps: 10\n');
  const other = settingsOf('model:\n  preset: tiny\n  heads: 8\ndata:\n  weights:\n    - 1\n    - 3\n  text_key: text\ntrain:\n  steps: 10\n');
  assert.equal(one.get('data.weights'), '1, 2');
  assert.deepEqual(differing([one, other]), [['model.heads', ['4', '8']], ['data.weights', ['1, 2', '1, 3']], ['data.text_key', [undefined, 'text']]]);
});
