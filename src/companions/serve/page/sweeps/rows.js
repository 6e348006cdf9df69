// The rows of a sweep: what was measured and predicted of each layout, and orders of them. No element of the page is known here.

const isNumber = (value) => typeof value === 'number' && Number.isFinite(value);

export const isMeasured = (row) => row.status === 'ok' && isNumber(row.tokens_per_second);

// Tokens of one sequence, which every row of a sweep has alike; null where nothing was measured.
function tokensOfSequence(rows) {
  const one = rows.find((row) => isMeasured(row) && row.samples_per_second > 0);
  return one === undefined ? null : one.tokens_per_second / one.samples_per_second;
}

// The rows with what follows from them: predicted_tokens_per_second, off (of the measured step to the predicted one: 0.1 is a tenth longer),
// compute_share.
export function withDerived(rows) {
  const tokens = tokensOfSequence(rows);
  return rows.map((row) => ({
    ...row,
    predicted_tokens_per_second: tokens !== null && row.predicted_step_seconds > 0
      ? (tokens * row.global_batch_size) / row.predicted_step_seconds : null,
    off: isMeasured(row) && row.predicted_step_seconds > 0 ? row.step_seconds / row.predicted_step_seconds - 1 : null,
    compute_share: isMeasured(row) ? Math.max(0, 1 - row.communication_share - row.bubble_share) : null,
  }));
}

// key: a column, or a function of a row. Rows without a value come last in both directions; equal ones keep their order.
export function sorted(rows, key, direction) {
  const valueOf = typeof key === 'function' ? key : (row) => row[key];
  const sign = direction === 'descending' ? -1 : 1;
  const known = (value) => value !== null && value !== undefined && value !== '';
  return [...rows].sort((a, b) => {
    const [x, y] = [valueOf(a), valueOf(b)];
    if (!known(x) || !known(y)) return Number(known(y)) - Number(known(x));
    return sign * (isNumber(x) && isNumber(y) ? x - y : String(x).localeCompare(String(y)));
  });
}

export const fastestFirst = (rows) => sorted(rows.filter(isMeasured), 'tokens_per_second', 'descending');
