// The kernels for GPUs (module cuda), run on the host, beside those for CPUs: what training needs to be the same bits
// is.

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "cpu/rows.h"
#include "cpu/flat.h"
#include "cpu/grid.h"
#include "cuda/activation_dispatch.h"
#include "cuda/vocabulary_dispatch.h"
#include "cuda/flat_dispatch.h"
#include "cuda/grid_dispatch.h"
#include "cuda/kernel_test_support.h"
#include "kernels/rows.h"
#include "tensor/libtorch_test_support.h"

namespace troika::kernels {
namespace {

using cuda::Guarded;
using cuda::TestRun;

constexpr std::int64_t cuda_counts[] = {1, 15, 1027, 20011};

Guarded<float> normal_values(const char* name, std::int64_t count) { return cuda::normal<float>(name, count); }

// Magnitudes over 60 powers of two, zeros among them.
Guarded<float> values_of_a_grid(std::int64_t count) {
  Guarded<float> x = normal_values("grid", count);
  for (std::int64_t i = 0; i < count; ++i) x[i] = i % 17 == 0 ? 0.0f : std::ldexp(x[i], static_cast<int>(i % 61) - 55);
  return x;
}

struct AdamwArrays {
  explicit AdamwArrays(std::int64_t count)
      : parameter(normal_values("p", count)), gradient(normal_values("g", count)), m(normal_values("m", count)), v(m) {
    for (std::int64_t i = 0; i < count; ++i) v[i] *= v[i];
  }
  std::string bits() const { return cuda::bits_of(parameter, gradient, m, v); }
  Guarded<float> parameter, gradient, m, v;
};

TEST(CudaKernelsParity, AdamwHasTheBitsOfTheCpu) {
  for (const std::int64_t count : cuda_counts) {
    AdamwArrays cpu(count), gpu(count);
    cpu::adamw({3e-4f, 0.9f, 0.95f, 0.1f, 0.05f, 1e-8f, 0.99997f, 3.7f, 7.0f, 0.37f}, count, cpu.parameter.data(),
               cpu.gradient.data(), cpu.m.data(), cpu.v.data());
    cuda::dispatch::adamw(TestRun(1), {3e-4f, 0.9f, 0.95f, 0.1f, 0.05f, 1e-8f, 3.7f, 7.0f, 0.37f}, {{count, 0.99997f}},
                          {gpu.parameter.data(), gpu.gradient.data(), gpu.m.data(), gpu.v.data()}, cuda::Dtype::fp32,
                          nullptr);
    EXPECT_TRUE(gpu.bits() == cpu.bits()) << count;
  }
}

TEST(CudaKernelsParity, DropoutHasTheMaskOfTheCpu) {
  const base::Philox stream(7, "dropout");
  const DropoutRows rows{3, {{20, 4, 8}}};
  const DropoutShare share = dropout_share(0.3);
  for (const std::int64_t first : {0, 13}) {
    const at::Tensor x = at::ones({8, 37});
    Guarded<float> got(8 * 37);
    cuda::dispatch::dropout(TestRun(1), {cuda::Dtype::fp32, 8, 37, first, 4},
                            {{stream.key()[0], stream.key()[1]}, 20, 3, share.threshold, share.kept},
                            x.data_ptr(), got.data());
    const at::Tensor want = dropout(x, stream, rows, first, 0.3).contiguous();
    for (std::int64_t i = 0; i < got.size(); ++i) ASSERT_EQ(got[i], want.data_ptr<float>()[i]) << i;
  }
}

TEST(CudaKernelsParity, ChunkSquaresHaveTheBitsOfTheCpu) {
  for (const std::int64_t count : cuda_counts) {
    for (const std::int64_t chunk : {100, 4096}) {
      const Guarded<float> x = values_of_a_grid(count);
      Guarded<double> cpu((count + chunk - 1) / chunk), gpu = cpu;
      cpu::chunk_squares(count, x.data(), chunk, cpu.data());
      cuda::dispatch::chunk_squares(TestRun(1), {{count}}, x.data(), chunk, gpu.data());
      EXPECT_TRUE(gpu.bits() == cpu.bits()) << count;
    }
  }
}

void expect_grid_of_the_cpu(std::int64_t count, int shift) {
  const Guarded<float> x = values_of_a_grid(count);
  Guarded<float> cpu_x = x, gpu_x = x;
  Guarded<std::int64_t> cpu_sum(count), gpu_sum(count);
  std::uint32_t largest[3] = {};
  EXPECT_EQ(cpu::round_to_grid(count, cpu_x.data(), shift), cpu::set_integers(count, cpu_sum.data(), x.data(), shift));
  const std::uint32_t want = cpu::add_integers(count, cpu_sum.data(), x.data(), shift);
  cuda::dispatch::round_to_grid(TestRun(1), {{count, shift}}, gpu_x.data(), largest);
  cuda::dispatch::set_integers(TestRun(2), {{count, shift}}, gpu_sum.data(), x.data(), largest + 1);
  cuda::dispatch::add_integers(TestRun(3), {{count, shift}}, gpu_sum.data(), x.data(), largest + 2);
  for (const std::uint32_t got : largest) EXPECT_EQ(got, want);
  EXPECT_TRUE(gpu_x.bits() == cpu_x.bits());
  EXPECT_TRUE(gpu_sum.bits() == cpu_sum.bits());
  cpu::from_integers(count, cpu_sum.data(), shift, cpu_x.data());
  cuda::dispatch::from_integers(TestRun(4), {{count, shift}}, gpu_sum.data(), gpu_x.data());
  EXPECT_TRUE(gpu_x.bits() == cpu_x.bits());
  Guarded<double> cpu_squares((count + 4095) / 4096), gpu_squares = cpu_squares;
  cpu::integer_chunk_squares(count, cpu_sum.data(), shift, 4096, cpu_squares.data());
  cuda::dispatch::integer_chunk_squares(TestRun(5), {{count, shift}}, gpu_sum.data(), 4096, gpu_squares.data());
  EXPECT_TRUE(gpu_squares.bits() == cpu_squares.bits());
}

TEST(CudaKernelsParity, TheGridHasTheBitsOfTheCpu) {
  for (const std::int64_t count : cuda_counts) {
    for (const int shift : {50, 3, -20}) {
      SCOPED_TRACE(count);
      expect_grid_of_the_cpu(count, shift);
    }
  }
}

TEST(CudaKernelsParity, TheGradientOfATableHasTheBitsOfTheCpu) {
  constexpr std::int64_t M = 100, first_row = 3, v = 9, D = 36;
  const Guarded<float> dx = normal_values("dx", M * D);
  Guarded<std::int64_t> ids(M), sorted(M), order(M), workspace(v + 1);
  std::int64_t next = 0;
  for (std::int64_t m = 0; m < M; ++m) ids[m] = m * 7919 % 15;
  for (std::int64_t id = 0; id < 15; ++id) {
    for (std::int64_t m = 0; m < M; ++m) {
      if (ids[m] != id) continue;
      sorted[next] = id;
      order[next++] = m;
    }
  }
  Guarded<float> cpu(v * D), gpu(v * D);
  const cpu::NamedRows rows = cpu::named_rows({first_row, v, D}, M, ids.data());
  std::vector<float> gradient(rows.row.size() * D);
  cpu::embedding_backward(rows, {first_row, v, D}, dx.data(), gradient.data());
  for (std::int64_t i = 0; i < v * D; ++i) cpu[i] = 0;
  for (std::size_t i = 0; i < rows.row.size(); ++i) {
    for (std::int64_t d = 0; d < D; ++d) cpu[rows.row[i] * D + d] = gradient[i * D + static_cast<std::size_t>(d)];
  }
  cuda::dispatch::embedding_backward_weight(TestRun(1), {cuda::Dtype::fp32, first_row, v, D}, M,
                                            {sorted.data(), order.data()}, dx.data(), gpu.data(), workspace.data());
  EXPECT_TRUE(gpu.bits() == cpu.bits());
}

}  // namespace
}  // namespace troika::kernels
