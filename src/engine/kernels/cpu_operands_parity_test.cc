#include <gtest/gtest.h>

#include "kernels/cpu_operands.h"
#include "kernels/parity_test_support.h"
#include "tensor/libtorch_test_support.h"

namespace troika::kernels {
namespace {

TEST(Precision, AFloatTensorIsNotCopied) {
  const at::Tensor x = random_normal("x", {3, 5}), strided = x.t();
  EXPECT_TRUE(to_float(x).data() == tensor::Tensor(x).data());
  EXPECT_TRUE(to_float(strided).data() == tensor::Tensor(strided).data());
  EXPECT_TRUE(to_dtype_of(x, x).data() == tensor::Tensor(x).data());
}

TEST(Precision, AHalfIsReadExactlyAndWrittenBackTheSame) {
  for (const at::ScalarType dtype : {at::kBFloat16, at::kHalf}) {
    const at::Tensor half = random_normal("x", {1000}).to(dtype);
    EXPECT_EQ(tensor::theirs(to_float(half)).scalar_type(), at::kFloat);
    EXPECT_TRUE(at::equal(tensor::theirs(to_float(half)).to(at::kDouble), tensor::theirs(half).to(at::kDouble)));
    EXPECT_TRUE(at::equal(to_dtype_of(half, to_float(half)), half));
  }
}

}  // namespace
}  // namespace troika::kernels
