// The row of controls above the charts, and the switches of runs.

import { el, freshId, setText } from '../dom.js';
import { number } from '../format.js';
import { t } from '../texts.js';
import { mostSmoothing } from './choices.js';
import { step } from './navigation.js';
import { lookOf } from './paint.js';
import { swatch } from './panel.js';
import { axes } from './units.js';

function axisChoice(board) {
  const id = freshId('axis');
  return el('span', { class: 'control' }, el('label', { for: id }, t('curves.by')),
    el('select', { id, value: board.view.axis, onchange: ({ target }) => board.choose({ axis: target.value }) },
      axes.map((axis) => el('option', { value: axis }, t(`curves.axis.${axis}`)))));
}

function smoothingChoice(board) {
  const id = freshId('smoothing');
  const told = el('output', { for: id, class: 'n' }, number(board.view.smoothing, 2));
  return el('span', { class: 'control' }, el('label', { for: id }, t('curves.smoothing')),
    el('input', {
      id, type: 'range', min: 0, max: mostSmoothing, step: 0.01, value: board.view.smoothing,
      oninput: ({ target }) => {
        setText(told, number(Number(target.value), 2));
        board.choose({ smoothing: Number(target.value) });
      },
    }), told);
}

function logarithmChoice(board) {
  return el('label', { class: 'control' },
    el('input', { type: 'checkbox', checked: board.view.logarithmic, onchange: ({ target }) => board.choose({ logarithmic: target.checked }) }),
    t('curves.logarithmic'));
}

function zoomButtons(board) {
  const button = (how, sign) => el('button', {
    type: 'button', class: 'quiet', title: t(`curves.zoom.${how}`), 'aria-label': t(`curves.zoom.${how}`), onclick: () => step(board, how),
  }, sign);
  const whole = el('button', { type: 'button', class: 'quiet', disabled: true, onclick: () => step(board, 'whole') }, t('curves.zoom.whole'));
  board.rangeChanged = (range) => (whole.disabled = range === null);
  return el('span', { class: 'control', role: 'group', 'aria-label': t('curves.zoom') },
    button('in', '+'), button('out', '−'), button('left', '←'), button('right', '→'), whole);
}

export function controls(board) {
  return el('div', { class: 'toolbar curve-controls' }, axisChoice(board), smoothingChoice(board), logarithmChoice(board), zoomButtons(board));
}

// For several runs: a button for each, which takes its curves away and brings them back.
export function runSwitches(board) {
  const { names } = board.view;
  if (names.length < 2) return null;
  return el('div', { class: 'toolbar run-switches', role: 'group', 'aria-label': t('curves.shown') }, names.map((name, n) => {
    const look = lookOf(n);
    const button = el('button', {
      type: 'button', class: 'quiet', 'aria-pressed': 'true', dataset: { run: name },
      onclick: () => {
        const shown = button.getAttribute('aria-pressed') !== 'true';
        button.setAttribute('aria-pressed', String(shown));
        board.show(name, shown);
      },
    }, swatch(look), el('b', {}, look.letter), ' ', el('span', { class: 'name' }, name));
    return button;
  }));
}
