// What the head of a run's page says: one state at a time, with what may be asked of it.
import assert from 'node:assert/strict';
import test from 'node:test';
import {page_module} from './page_modules.mjs';

const {makeStanding} = await page_module('pages/run/standing.js');

const view = (state, ...events) => ({state, state_text: state, silent_seconds: 0, events: events.map((event) => ({event}))});
const training = {state: 'training', can: ['stop']}, stopped = {state: 'stopped', can: ['resume']};

function standing_of(summary, seen) {
  const standing = makeStanding();
  standing.learnSummary(summary);
  standing.learnView(seen);
  return standing;
}

test('a state that one of the two has left is not told again by the other', () => {
  const standing = standing_of(training, view('training'));
  assert.deepEqual(standing.now().can, ['stop']);
  assert(standing.learnView(view('stopped')));
  standing.learnSummary(training);
  assert.deepEqual([standing.now().state, standing.now().can, standing.agrees], ['stopped', [], false]);
  standing.learnSummary(stopped);
  assert.deepEqual([standing.now().state, standing.now().can, standing.agrees], ['stopped', ['resume'], true]);
});

test('between asking and its end a run is stopping, or starting', () => {
  const standing = standing_of(training, view('training'));
  standing.ask('stop');
  standing.learnView(view('saving'));
  assert.equal(standing.now().state, 'stopping');
  assert(!standing.now().underWay, 'no time is left to tell');
  standing.learnView(view('stopped'));
  standing.learnSummary(stopped);
  standing.ask('resume');
  assert.deepEqual([standing.now().state, standing.now().can], ['starting', []]);
  standing.learnSummary({state: 'preparing', can: ['stop']});
  assert.deepEqual([standing.now().state, standing.now().can, standing.asked], ['preparing', ['stop'], null]);
});

test('a run that somebody else has asked to stop is stopping, until it begins anew', () => {
  assert.equal(standing_of(training, view('training', 'start', 'stop_requested', 'save')).now().state, 'stopping');
  assert.equal(standing_of(training, view('training', 'stop_requested', 'stop', 'resume')).now().state, 'training');
});

test('what is asked in vain is taken back, and where the two go on to differ the summary is taken', () => {
  const standing = standing_of(stopped, view('stopped'));
  standing.ask('resume');
  standing.ask(null);
  assert.equal(standing.now().state, 'stopped');
  standing.learnView(view('failed'));
  assert.equal(standing.now().state, 'failed');
  standing.takeSummary();
  assert.deepEqual([standing.now().state, standing.now().can], ['stopped', ['resume']]);
});
