// How curves are looked at, kept in the browser from page to page.

import { axes } from './units.js';

const key = 'troika-curves';
const usual = { axis: 'step', smoothing: 0, logarithmic: false };

export const mostSmoothing = 0.99;

export function kept() {
  let found = {};
  try {
    found = JSON.parse(localStorage.getItem(key)) ?? {};
  } catch {
    // Nothing is kept, or nothing that we wrote.
  }
  return {
    axis: axes.includes(found.axis) ? found.axis : usual.axis,
    smoothing: found.smoothing >= 0 && found.smoothing <= mostSmoothing ? found.smoothing : usual.smoothing,
    logarithmic: found.logarithmic === true,
  };
}

export function keep({ axis, smoothing, logarithmic }) {
  try {
    localStorage.setItem(key, JSON.stringify({ axis, smoothing, logarithmic }));
  } catch {
    // It holds until the page is left.
  }
}
