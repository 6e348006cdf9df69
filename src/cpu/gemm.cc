#include "cpu/gemm.h"

#include <dnnl.h>

#include <algorithm>

#include "cpu/parallel.h"

namespace troika::cpu {
void gemm(std::int64_t M, std::int64_t N, std::int64_t K, const Matrix& a, const Matrix& b, float* c,
          std::int64_t c_stride, const Addend& addend) {
  const char ta = a.column_stride == 1 ? 'N' : 'T', tb = b.column_stride == 1 ? 'N' : 'T';
  dnnl_sgemm(ta, tb, M, N, K, 1.0f, a.data, ta == 'N' ? a.row_stride : a.column_stride, b.data,
             tb == 'N' ? b.row_stride : b.column_stride, addend.kind == Addend::Kind::zero ? 0.0f : 1.0f, c, c_stride);
}
}  // namespace troika::cpu
