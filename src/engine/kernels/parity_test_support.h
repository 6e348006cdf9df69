// Shared parts of the parity tests: seeded inputs, leaves in double, gradients by autograd, and the measure of agreement.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/draw_test_support.h"
#include "tensor/libtorch_test_support.h"

namespace troika::kernels {

// The dtypes activations and weights may be stored in.
inline constexpr at::ScalarType dtypes[] = {at::kFloat, at::kBFloat16, at::kHalf};

// Standard normal fp32 values of their own for every (name, sizes).
at::Tensor random_normal(const std::string& name, at::IntArrayRef sizes);
// Integers in [0, below).
at::Tensor random_ids(const std::string& name, std::int64_t count, std::int64_t below);

// first, first + 1, ..., `count` of them.
std::vector<std::int64_t> positions_from(std::int64_t first, std::int64_t count);

// A size of 1, of a few, around a multiple of 16 (every vector width), or any, up to `most`.
std::int64_t random_size(base::Draw& draw, int most);

// A copy in double that autograd differentiates.
at::Tensor leaf(const at::Tensor& x);
// d(sum(y * dy)) / d(leaf), into each leaf's grad(). A leaf that y does not depend on keeps an undefined gradient.
void differentiate(const at::Tensor& y, const at::Tensor& dy);

// max|a - b| / max|b|; where b is zero to within double's rounding, max|a - b|.
double relative_error(const at::Tensor& a, const at::Tensor& b);

// Expects every comparison within `tolerance` and records the largest error per name in the test's XML output.
class Parity {
 public:
  explicit Parity(double tolerance = 1e-5) : tolerance_(tolerance) {}
  // For results stored in `dtype`: 1e-5, and for halves so many units in the last place of the largest value beside it.
  // Half a unit is what the one rounding at the end costs.
  explicit Parity(at::ScalarType dtype, double units = 0.5);
  ~Parity();
  Parity(const Parity&) = delete;
  Parity& operator=(const Parity&) = delete;

  void compare(const std::string& name, const at::Tensor& got, const at::Tensor& want);
  void compare(const std::string& name, double got, double want);

 private:
  double tolerance_;
  std::string suffix_;  // of the recorded names
  std::map<std::string, double> largest_;
};

}  // namespace troika::kernels
