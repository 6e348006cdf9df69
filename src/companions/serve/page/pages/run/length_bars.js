// The bars of a histogram of lengths: their first and last length, and how long they are beside the longest bar (`of`).
export function barsOf({ bins, longest, counted }) {
  const most = Math.max(1, ...bins.map((bin) => bin.samples));
  return bins.map(({ above, up_to: upTo, samples }) =>
    ({ from: above + 1, to: Math.min(upTo, Math.max(longest, above + 1)), samples, of: samples / most, share: samples / counted }));
}
