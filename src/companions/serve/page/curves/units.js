// What axes and values of curves are, and how they are told.

import { count, loss, number, seconds, short } from '../format.js';
import { t } from '../texts.js';

export const axes = ['step', 'tokens', 'time'];

// The charts of a page. Of several series in one, the first is the main one.
export const charts = [
  { key: 'loss', series: ['loss', 'valid_loss'] },
  { key: 'grad_norm', series: ['grad_norm'] },
  { key: 'lr', series: ['lr'] },
  { key: 'tokens_per_second', series: ['tokens_per_second'] },
];

// What is written now and then: columns without a value do not part the line.
export const isSparse = (series) => series === 'valid_loss';
// What follows from settings, or is a mean already, is not smoothed.
export const isSmoothed = (series) => series !== 'valid_loss' && series !== 'lr';

export function value(series, x) {
  if (series === 'loss' || series === 'valid_loss') return loss(x);
  if (series === 'tokens_per_second' && x >= 1000) return x < 1e6 ? count(x) : short(x);
  return number(x, 4);
}

export function position(axis, x) {
  if (axis === 'time') return t('curves.at.time', { time: x < 60 ? seconds(x) : clockOf(x) });
  return t(`curves.at.${axis}`, { x: count(x) });
}

// 1:05:00
function clockOf(value) {
  const whole = Math.round(value);
  const two = (part) => String(part).padStart(2, '0');
  const minutes = Math.floor(whole / 60) % 60;
  const hours = Math.floor(whole / 3600);
  return hours > 0 ? `${hours}:${two(minutes)}:${two(whole % 60)}` : `${minutes}:${two(whole % 60)}`;
}

// Ticks of the axis along x, all of them at once: their distance says how exact they must be.
export function ticksX(axis, ticks) {
  const apart = ticks.length > 1 ? ticks[1] - ticks[0] : 1;
  if (axis === 'time') return ticks.map((tick) => (apart < 1 ? number(tick, 8) : clockOf(tick)));
  const greatest = Math.max(...ticks);
  for (const [unit, name, from] of [[1e9, 'G', 1e9], [1e6, 'M', 1e6], [1e3, 'k', 1e5]])
    if (greatest >= from && (apart * 10) % unit === 0) return ticks.map((tick) => (tick === 0 ? '0' : `${number(tick / unit, 8)} ${name}`));
  return ticks.map((tick) => (Number.isInteger(tick) ? count(tick) : ''));
}

// As many digits as tell neighbours apart.
export function ticksY(ticks) {
  const greatest = Math.max(...ticks.map(Math.abs));
  const apart = Math.min(...ticks.slice(1).map((tick, i) => tick - ticks[i]));
  const digits = Math.max(3, Math.min(12, 2 + Math.floor(Math.log10(greatest)) - Math.floor(Math.log10(apart))));
  const exponent = (tick) => Number(tick.toPrecision(digits)).toExponential().replace('e+', 'e');
  if (!Number.isFinite(digits)) return ticks.map((tick) => number(tick, 4));
  return ticks.map((tick) => {
    const size = Math.abs(tick);
    if (size === 0) return '0';
    if (size < 1e-3 || size >= 1e13) return exponent(tick);
    return size >= 1e5 && digits <= 3 ? short(tick) : number(tick, digits);
  });
}
