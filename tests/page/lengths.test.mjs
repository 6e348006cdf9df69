// The bars of a run's lengths.
import assert from 'node:assert/strict';
import test from 'node:test';
import {page_module} from './page_modules.mjs';

const {barsOf} = await page_module('pages/run/length_bars.js');

test('a bar is as long as its bin beside the fullest, and the last ends with the longest sample', () => {
  const bars = barsOf({bins: [{above: 16, up_to: 32, samples: 2}, {above: 32, up_to: 64, samples: 0}, {above: 64, up_to: 128, samples: 8}], longest: 100, counted: 10});
  assert.deepEqual(bars.map(({from, to}) => [from, to]), [[17, 32], [33, 64], [65, 100]]);
  assert.deepEqual(bars.map(({of}) => of), [0.25, 0, 1]);
  assert.deepEqual(bars.map(({share}) => share), [0.2, 0, 0.8]);
});
