#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "kernels/cpu_operands.h"
#include "kernels/parity_test_support.h"

namespace troika::kernels {
namespace {

TEST(Precision, AFloatTensorIsNotCopied) {
  const at::Tensor x = random_normal("x", {3, 5}), strided = x.t();
  EXPECT_TRUE(to_float(x).is_same(x));
  EXPECT_TRUE(to_float(strided).is_same(strided));
  EXPECT_TRUE(to_dtype_of(x, x).is_same(x));
}

TEST(Precision, AHalfIsReadExactlyAndWrittenBackTheSame) {
  for (const at::ScalarType dtype : {at::kBFloat16, at::kHalf}) {
    const at::Tensor half = random_normal("x", {1000}).to(dtype);
    EXPECT_EQ(to_float(half).scalar_type(), at::kFloat);
    EXPECT_TRUE(at::equal(to_float(half).to(at::kDouble), half.to(at::kDouble)));
    EXPECT_TRUE(at::equal(to_dtype_of(half, to_float(half)), half));
  }
}

}  // namespace
}  // namespace troika::kernels
