#include "kernels/parity_test_support.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <torch/csrc/autograd/autograd.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/random.h"
#include "tensor/libtorch_test_support.h"

namespace troika::kernels {

constexpr std::uint64_t seed = 20240607;

at::Tensor random_normal(const std::string& name, at::IntArrayRef sizes) {
  at::Tensor x = at::empty(sizes, at::kFloat);
  base::Philox(seed, name + fmt::format("{}", fmt::join(sizes, "x"))).fill_normal(0, x.numel(), x.data_ptr<float>());
  return x;
}

at::Tensor random_ids(const std::string& name, std::int64_t count, std::int64_t below) {
  const base::Philox random(seed, name);
  at::Tensor ids = at::empty({count}, at::kLong);
  for (std::int64_t i = 0; i < count; ++i) {
    ids.data_ptr<std::int64_t>()[i] =
        static_cast<std::int64_t>(random.uniform(static_cast<std::uint64_t>(i)) * static_cast<double>(below));
  }
  return ids;
}

std::vector<std::int64_t> positions_from(std::int64_t first, std::int64_t count) {
  std::vector<std::int64_t> positions(static_cast<std::size_t>(count));
  std::iota(positions.begin(), positions.end(), first);
  return positions;
}

std::int64_t random_size(base::Draw& draw, int most) {
  const int around = 16 * draw.from(1, std::max(1, most / 16)) + draw.from(-1, 1);
  return std::min(most, draw.any<int>({1, draw.from(2, 15), around, around, draw.from(1, most)}));
}

at::Tensor leaf(const at::Tensor& x) { return x.detach().to(at::kDouble).clone().set_requires_grad(true); }

void differentiate(const at::Tensor& y, const at::Tensor& dy) {
  torch::autograd::backward({y}, {dy.to(at::kDouble).reshape(y.sizes())});
}

double relative_error(const at::Tensor& a, const at::Tensor& b) {
  if (b.numel() == 0) return 0;
  const at::Tensor exact = b.detach().to(at::kDouble), other = a.detach().to(exact.options());
  const double error = (other - exact).abs().max().item<double>(), scale = exact.abs().max().item<double>();
  return scale < 1e-12 ? error : error / scale;  // below: an exact 0 that double rounded
}

static double last_place(at::ScalarType dtype) {
  return dtype == at::kBFloat16 ? std::ldexp(1.0, -7) : dtype == at::kHalf ? std::ldexp(1.0, -10) : 0.0;
}

Parity::Parity(at::ScalarType dtype, double units)
    : tolerance_(1e-5 + units * last_place(dtype)),
      suffix_(dtype == at::kFloat ? "" : fmt::format(" {}", c10::toString(dtype))) {}

Parity::~Parity() {
  for (const auto& [name, error] : largest_) testing::Test::RecordProperty(name, fmt::format("{:.2e}", error));
}

void Parity::compare(const std::string& name, const at::Tensor& got, const at::Tensor& want) {
  ASSERT_TRUE(got.defined() && want.defined()) << name;
  ASSERT_EQ(got.sizes(), want.sizes()) << name;
  const double error = relative_error(got, want);
  EXPECT_LT(error, tolerance_) << name << " " << want.sizes();  // false for a NaN too
  auto& largest = largest_[name + suffix_];
  largest = std::isnan(error) ? error : std::max(largest, error);
}

void Parity::compare(const std::string& name, double got, double want) {
  compare(name, at::scalar_tensor(got, at::kDouble), at::scalar_tensor(want, at::kDouble));
}

}  // namespace troika::kernels
