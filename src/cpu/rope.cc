#include "cpu/rope.h"

#include "cpu/padded_row.h"
#include "cpu/parallel.h"
#include "cpu/row_sums.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/rope.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "cpu/lanes16-inl.h"

HWY_BEFORE_NAMESPACE();
namespace troika::cpu {
namespace HWY_NAMESPACE {

// Rows [begin, end) of the B x T rows of heads. A head's halves are two rows, a and b, turned together.
void rope_rows(const Rope& op, std::int64_t begin, std::int64_t end, float direction, const Heads& x,
               const MutableHeads& y) {
  const std::int64_t I = op.H / 2, width = padded_width(I);
  PaddedRow xa_row(I), xb_row(I), cos_row(I), sin_row(I), ya_row(I), yb_row(I);
  for (std::int64_t row = begin; row < end; ++row) {
    const std::int64_t b = row / op.T, t = row % op.T;
    const std::int64_t angles = op.rows.at(row, t) * I;
    const float *cos = cos_row.read(op.rows.cos + angles), *sin = sin_row.read(op.rows.sin + angles);
    for (std::int64_t head = 0; head < op.n; ++head) {
      const float *xa = xa_row.read(x.at(b, t, head)), *xb = xb_row.read(x.at(b, t, head) + I);
      float *ya = ya_row.write(y.at(b, t, head)), *yb = yb_row.write(y.at(b, t, head) + I);
      for (std::int64_t j = 0; j < width; j += 16) {
        const F16 xaj = load16(xa + j), xbj = load16(xb + j);
        const F16 cosj = load16(cos + j), sinj = load16(sin + j) * set16(direction);
        store16(neg_mul_add(xbj, sinj, xaj * cosj), ya + j);
        store16(mul_add(xaj, sinj, xbj * cosj), yb + j);
      }
      ya_row.write_back(y.at(b, t, head));
      yb_row.write_back(y.at(b, t, head) + I);
    }
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace troika::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace troika::cpu {

HWY_EXPORT(rope_rows);

void rope(const Rope& op, Turn turn, const Heads& x, const MutableHeads& y) {
  const float direction = turn == Turn::forward ? 1.0f : -1.0f;
  parallel_pieces(op.B * op.T, rows_per_block(op.n * op.H), [&](std::int64_t begin, std::int64_t end) {
    HWY_DYNAMIC_DISPATCH(rope_rows)(op, begin, end, direction, x, y);
  });
}

}  // namespace troika::cpu
#endif
