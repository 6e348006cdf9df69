#include "weights/low_rank_sum.h"

#include <algorithm>
#include <array>

#include "cpu/parallel.h"
#include "tensor/operations.h"
#include "tensor/tensor.h"

namespace troika::weights {
namespace {

constexpr std::int64_t piece_elements = 1 << 20, sum_grain = 1 << 13, block = 512;

using Block = std::array<double, block>;

// sum += left_row right[:, at ...], four products at a time in the order of r.
void add_products(const double* left_row, const double* right, std::int64_t rank, std::int64_t stride,
                  std::int64_t count, double* sum) {
  std::int64_t k = 0;
  for (; k + 4 <= rank; k += 4) {
    const double l0 = left_row[k], l1 = left_row[k + 1], l2 = left_row[k + 2], l3 = left_row[k + 3];
    const double *r0 = right + k * stride, *r1 = r0 + stride, *r2 = r1 + stride, *r3 = r2 + stride;
    for (std::int64_t i = 0; i < count; ++i) sum[i] = sum[i] + l0 * r0[i] + l1 * r1[i] + l2 * r2[i] + l3 * r3[i];
  }
  for (; k < rank; ++k)
    for (std::int64_t i = 0; i < count; ++i) sum[i] += left_row[k] * right[k * stride + i];
}

class Sum {
 public:
  Sum(const Factors& factors, double scale, const shape::Region& region, std::int64_t columns)
      : left_(factors.left.data<double>()),
        right_(factors.right.data<double>()),
        rank_(factors.left.size(1)),
        width_(factors.right.size(1)),
        scale_(scale),
        region_(region),
        columns_(columns),
        box_(box_of(region, columns)) {}

  // Elements [begin, begin + count) of the region.
  void write(std::int64_t begin, std::int64_t count, float* to) const {
    for (std::int64_t done = 0; done < count;) {
      const std::int64_t element = begin + done, in_run = element % region_.run;
      const std::int64_t index = region_.offset + element / region_.run * region_.stride + in_run;
      const std::int64_t now = std::min({count - done, region_.run - in_run, columns_ - index % columns_, block});
      write_part_of_row(index / columns_ - box_.rows.begin, index % columns_ - box_.columns.begin, now, to + done);
      done += now;
    }
  }

 private:
  void write_part_of_row(std::int64_t row, std::int64_t column, std::int64_t count, float* to) const {
    Block sum;
    std::fill_n(sum.begin(), count, 0.0);
    add_products(left_ + row * rank_, right_ + column, rank_, width_, count, sum.data());
    for (std::int64_t i = 0; i < count; ++i) to[i] = static_cast<float>(scale_ * sum[static_cast<std::size_t>(i)]);
  }

  const double *left_, *right_;
  const std::int64_t rank_, width_;
  const double scale_;
  const shape::Region region_;
  const std::int64_t columns_;
  const Box box_;
};

}  // namespace

Box box_of(const shape::Region& region, std::int64_t columns) {
  const std::int64_t last = region.offset + (region.count - 1) * region.stride + region.run - 1;
  const std::int64_t first_row = region.offset / columns, first_column = region.offset % columns;
  const bool in_one_row = region.count == 1 || region.stride % columns == 0;
  Box box{{first_row, last / columns + 1 - first_row}, {0, columns}};
  if (in_one_row && first_column + region.run <= columns) box.columns = {first_column, region.run};
  return box;
}

void add_low_rank(const Factors& factors, double scale, const shape::Region& region, std::int64_t columns,
                  const tensor::Tensor& data) {
  const Sum sum(factors, scale, region, columns);
  for (std::int64_t begin = 0; begin < data.elements(); begin += piece_elements) {
    const std::int64_t count = std::min(piece_elements, data.elements() - begin);
    const tensor::Tensor piece = tensor::empty({count}, tensor::Dtype::fp32);
    float* to = piece.data<float>();
    cpu::parallel_pieces(count, sum_grain, [&](std::int64_t from, std::int64_t end) {
      sum.write(begin + from, end - from, to + from);
    });
    tensor::add(data.narrow(0, begin, count), piece.to(data.device()));
  }
}

}  // namespace troika::weights
