// Numbers, sizes and times as people read them, in the page's language. What is not known is a dash.

import { language, t } from './texts.js';

export const unknown = '–';

const formats = new Map();

function tag() {
  return language() === 'zh' ? 'zh-CN' : 'en-GB';
}

function format(kind, options) {
  const key = `${tag()} ${JSON.stringify(options)}`;
  if (!formats.has(key)) formats.set(key, new kind(tag(), options));
  return formats.get(key);
}

export function isKnown(value) {
  return typeof value === 'number' && Number.isFinite(value);
}

// `digits` significant ones: 0.0012, 12.3, 4.5e-6.
export function number(value, digits = 4) {
  if (!isKnown(value)) return unknown;
  const size = Math.abs(value);
  if (size !== 0 && (size < 1e-3 || size >= 1e7)) return value.toExponential(Math.max(0, digits - 2)).replace('e+', 'e');
  return format(Intl.NumberFormat, { maximumSignificantDigits: digits }).format(value);
}

// 12,345
export function count(value) {
  if (!isKnown(value)) return unknown;
  return format(Intl.NumberFormat, { maximumFractionDigits: 0 }).format(value);
}

// 950, 12.3 k, 4.56 M: for what is told in few letters.
export function short(value) {
  if (!isKnown(value)) return unknown;
  for (const [unit, name] of [[1e12, 'T'], [1e9, 'G'], [1e6, 'M'], [1e3, 'k']])
    if (Math.abs(value) >= unit) return `${fixed(value / unit, 3)} ${name}`;
  return fixed(value, 3);
}

function fixed(value, digits) {
  return format(Intl.NumberFormat, { maximumSignificantDigits: Math.max(digits, String(Math.trunc(Math.abs(value))).length) })
    .format(value);
}

// A loss: always four decimals while it is of the usual size, so that columns of them compare at a glance.
export function loss(value) {
  if (!isKnown(value)) return unknown;
  if (Math.abs(value) >= 1e4 || (value !== 0 && Math.abs(value) < 1e-3)) return number(value, 4);
  return format(Intl.NumberFormat, { minimumFractionDigits: 4, maximumFractionDigits: 4, useGrouping: false }).format(value);
}

export function bytes(value) {
  if (!isKnown(value)) return unknown;
  let size = value;
  let unit = 0;
  const names = ['B', 'KiB', 'MiB', 'GiB', 'TiB', 'PiB'];
  while (Math.abs(size) >= 1024 && unit < names.length - 1) {
    size /= 1024;
    unit += 1;
  }
  return `${fixed(size, 3)} ${names[unit]}`;
}

export function rate(value) {
  return isKnown(value) ? `${bytes(value)}/s` : unknown;
}

export function percent(share, decimals = 0) {
  if (!isKnown(share)) return unknown;
  return format(Intl.NumberFormat, { style: 'percent', maximumFractionDigits: decimals }).format(share);
}

// A span of time: "12.3 ms", "4.2 s", "3 min 20 s", "2 h 5 min", "3 d 4 h".
export function seconds(value) {
  if (!isKnown(value)) return unknown;
  const size = Math.abs(value);
  if (size === 0) return t('time.s', { s: 0 });
  if (size < 0.001) return t('time.us', { us: fixed(value * 1e6, 3) });
  if (size < 1) return t('time.ms', { ms: fixed(value * 1e3, 3) });
  if (size < 60) return t('time.s', { s: fixed(value, size < 10 ? 2 : 3) });
  const whole = Math.round(value);
  const d = Math.floor(whole / 86400);
  const h = Math.floor((whole % 86400) / 3600);
  const m = Math.floor((whole % 3600) / 60);
  if (d > 0) return h > 0 ? t('time.dh', { d, h }) : t('time.d', { d });
  if (h > 0) return m > 0 ? t('time.hm', { h, m }) : t('time.h', { h });
  return whole % 60 > 0 ? t('time.m_s', { m, s: whole % 60 }) : t('time.m', { m });
}

// Times are seconds since 1970.
export function date(time) {
  if (!isKnown(time)) return unknown;
  return format(Intl.DateTimeFormat, { dateStyle: 'medium', timeStyle: 'short', hour12: false }).format(time * 1000);
}

export function clock(time) {
  if (!isKnown(time)) return unknown;
  return format(Intl.DateTimeFormat, { hour: '2-digit', minute: '2-digit', second: '2-digit', hour12: false }).format(time * 1000);
}

export function ago(time, now = Date.now() / 1000) {
  if (!isKnown(time)) return unknown;
  const span = Math.max(0, now - time);
  if (span < 5) return t('time.now');
  return t('time.ago', { span: seconds(span < 60 ? Math.round(span) : coarse(span)) });
}

function coarse(span) {
  return span < 3600 ? Math.floor(span / 60) * 60 : span;
}
