// Exponential smoothing of a curve's columns.

// The mean of what came before with weights `weight`^distance, divided by their sum: the first values are not pulled to zero.
// `weight` is from 0 (nothing) to below 1. Columns without a value (null) stay without one and weigh nothing.
export function smoothed(values, weight) {
  if (!(weight > 0)) return values;
  let sum = 0;
  let share = 0;
  return values.map((value) => {
    if (value === null) return null;
    sum = weight * sum + (1 - weight) * value;
    share = weight * share + (1 - weight);
    return sum / share;
  });
}
