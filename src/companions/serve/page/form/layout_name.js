// A layout of a plan or a sweep in words: "dp 2 x pp 2, ZeRO 1, interleaved with 2 stages a rank, micro batch 4, bf16".

import { t } from '../texts.js';

const axes = ['dp', 'pp', 'tp', 'cp'];

// Of what the axes leave open, only what is not the default of its kind, and always the micro batch and the precision.
export function layoutName(layout) {
  const split = axes.filter((axis) => Number(layout[axis]) > 1).map((axis) => `${axis} ${layout[axis]}`);
  const parts = [split.length === 0 ? t('layout.one') : split.join(' × ')];
  if (Number(layout.zero) > 0) parts.push(`ZeRO ${layout.zero}`);
  if (Number(layout.pp) > 1) parts.push(String(layout.schedule));
  if (Number(layout.virtual_stages) > 1) parts.push(t('layout.stages', { n: layout.virtual_stages }));
  parts.push(t('layout.micro', { n: layout.micro_batch_size }));
  if (layout.recompute && layout.recompute !== 'none') parts.push(t('layout.recompute', { what: layout.recompute }));
  if (layout.offload && layout.offload !== 'none') parts.push(t('layout.offload', { where: layout.offload }));
  if (layout.precision) parts.push(layout.precision);
  return parts.join(t('layout.comma'));
}
