// Views, copies, conversions and the small arithmetic beside libtorch's, over random chains of views: unaligned, of size 0 and 1.
#include <gtest/gtest.h>

#include <random>
#include <string>

#include "base/error.h"
#include "tensor/libtorch_test_support.h"
#include "tensor/operations.h"
#include "tensor/tensor.h"

namespace troika::tensor {
namespace {

constexpr Dtype dtypes[] = {Dtype::fp32, Dtype::bf16, Dtype::fp16, Dtype::fp64, Dtype::int64, Dtype::int32, Dtype::uint8};

class Draw {
 public:
  explicit Draw(std::uint64_t seed) : engine_(seed) {}
  std::int64_t below(std::int64_t end) { return static_cast<std::int64_t>(engine_() % static_cast<std::uint64_t>(end)); }
  Dtype dtype() { return dtypes[below(base::dtype_count)]; }
  Sizes sizes() {
    std::vector<std::int64_t> sizes(static_cast<std::size_t>(1 + below(4)));
    for (std::int64_t& size : sizes) size = below(8) == 0 ? below(2) : 1 + below(7);
    return sizes;
  }

 private:
  std::mt19937_64 engine_;
};

// One tensor as both see it, made by the same calls.
struct Both {
  Tensor ours;
  at::Tensor theirs;
};

Both random(Draw& draw, const Sizes& sizes, Dtype dtype) {
  at::Tensor numbers = at::randn(theirs(sizes), at::kDouble).mul_(dtype == Dtype::uint8 ? 0 : 50).add_(dtype == Dtype::uint8 ? 7 : 0);
  if (draw.below(3) == 0) numbers.mul_(1e-6);
  const Tensor tensor = empty(sizes, dtype);
  theirs(tensor).copy_(numbers.to(theirs(dtype)));
  return {tensor, theirs(tensor)};
}

bool step(Draw& draw, Both& x) {
  const int dims = x.ours.dims();
  if (dims == 0) return false;
  const int dim = static_cast<int>(draw.below(dims)), other = static_cast<int>(draw.below(dims));
  const std::int64_t size = x.ours.size(dim);
  switch (draw.below(5)) {
    case 0: {
      const std::int64_t begin = draw.below(size + 1), count = draw.below(size - begin + 1);
      x = {x.ours.narrow(dim, begin, count), x.theirs.narrow(dim, begin, count)};
      return true;
    }
    case 1:
      if (size == 0 || dims == 1) return true;
      x = {x.ours.select(dim, size - 1), x.theirs.select(dim, size - 1)};
      return true;
    case 2:
      x = {x.ours.transpose(dim, other), x.theirs.transpose(dim, other)};
      return true;
    case 3:
      if (dims == max_dims) return true;
      x = {x.ours.unsqueeze(dim), x.theirs.unsqueeze(dim)};
      return true;
    default:
      x = {x.ours.flatten(std::min(dim, other), std::max(dim, other)), x.theirs.flatten(std::min(dim, other), std::max(dim, other))};
      return true;
  }
}

void expect_same(const Both& x, const std::string& what) {
  ASSERT_EQ(x.ours.sizes(), ours(x.theirs.sizes())) << what;
  ASSERT_EQ(x.ours.dtype(), ours(x.theirs.scalar_type())) << what;
  ASSERT_TRUE(at::equal(theirs(x.ours), x.theirs)) << what;
}

TEST(TensorParity, ChainsOfViewsSeeTheSameElements) {
  Draw draw(1);
  for (int turn = 0; turn < 4000; ++turn) {
    Both x = random(draw, draw.sizes(), draw.dtype());
    for (int i = 0; i < 6; ++i) {
      step(draw, x);
      expect_same(x, std::to_string(turn));
    }
    const Dtype to = draw.dtype();
    ASSERT_EQ(x.ours.is_contiguous(), x.theirs.is_contiguous()) << turn;
    expect_same({x.ours.clone(), x.theirs.contiguous()}, "clone");
    ASSERT_TRUE(x.ours.clone().is_contiguous());
    if (to != Dtype::uint8) expect_same({x.ours.to(to), x.theirs.to(theirs(to))}, std::string("to ") + base::name_of(to));
    Both target = random(draw, Sizes{x.ours.elements() + 3}, to == Dtype::uint8 ? Dtype::fp32 : to);
    target = {target.ours.narrow(0, 2, x.ours.elements()).view(x.ours.sizes()), target.theirs.narrow(0, 2, x.ours.elements()).view(theirs(x.ours.sizes()))};
    target.ours.copy_from(x.ours);
    expect_same({target.ours, x.theirs.to(target.theirs.scalar_type())}, "a copy to an unaligned place");
  }
}

TEST(TensorParity, ViewsOfOtherSizesAreMadeWhereLibtorchMakesThem) {
  Draw draw(2);
  int views = 0, refused = 0;
  for (int turn = 0; turn < 4000; ++turn) {
    Both x = random(draw, draw.sizes(), Dtype::fp32);
    for (int i = 0; i < 3; ++i) step(draw, x);
    std::vector<std::int64_t> sizes;
    std::int64_t rest = x.ours.elements();
    for (const std::int64_t factor : {2, 3, 5, 7, 1}) {
      if (rest % factor == 0 && sizes.size() < 3 && draw.below(2) == 0) {
        sizes.push_back(factor);
        rest /= factor;
      }
    }
    sizes.insert(sizes.begin() + draw.below(static_cast<std::int64_t>(sizes.size()) + 1), rest);
    bool theirs_made = true;
    at::Tensor seen;
    try {
      seen = x.theirs.view(sizes);
    } catch (const c10::Error&) {
      theirs_made = false;
    }
    if (theirs_made) {
      ++views;
      expect_same({x.ours.view(sizes), seen}, text_of(sizes));
      ASSERT_EQ(x.ours.view(sizes).data(), x.ours.data());
    } else {
      ++refused;
      EXPECT_THROW(x.ours.view(sizes), base::BugError) << text_of(x.ours.sizes()) << text_of(x.ours.strides()) << text_of(sizes);
    }
    expect_same({x.ours.reshape(sizes), x.theirs.reshape(sizes)}, "reshape");
  }
  EXPECT_GT(views, 1000);
  EXPECT_GT(refused, 300);
}

TEST(TensorParity, HalvesAreRoundedAsLibtorchRoundsThem) {
  const Tensor bits = empty({1 << 20}, Dtype::int32);
  Draw draw(3);
  for (std::int64_t i = 0; i < bits.elements(); ++i) bits.data<std::int32_t>()[i] = static_cast<std::int32_t>(draw.below(std::int64_t{1} << 32));
  const Tensor floats = bits.bits_as(Dtype::fp32);
  for (const Dtype half : {Dtype::bf16, Dtype::fp16}) {
    const at::Tensor got = theirs(floats.to(half)), want = theirs(floats).to(theirs(half));
    EXPECT_TRUE(at::equal(got.isnan(), want.isnan()));
    EXPECT_TRUE(at::equal(got.nan_to_num(0, 1, -1), want.nan_to_num(0, 1, -1)));
  }
  const Tensor all = empty({1 << 16}, Dtype::int32);
  for (std::int64_t i = 0; i < all.elements(); ++i) all.data<std::int32_t>()[i] = static_cast<std::int32_t>(i);
  const at::Tensor shorts = theirs(all).to(at::kShort);
  for (const Dtype half : {Dtype::bf16, Dtype::fp16}) {
    const at::Tensor halves = shorts.view(theirs(half));
    EXPECT_TRUE(at::equal(theirs(ours(halves).to(Dtype::fp32)).nan_to_num(0), halves.to(at::kFloat).nan_to_num(0))) << base::name_of(half);
  }
}

TEST(TensorParity, SumsJoinsAndRowsAreLibtorchs) {
  Draw draw(4);
  for (int turn = 0; turn < 1000; ++turn) {
    const Dtype floats[] = {Dtype::fp32, Dtype::bf16, Dtype::fp64};
    const Dtype dtype = floats[draw.below(3)];
    const Sizes sizes{1 + draw.below(40), 1 + draw.below(30)};
    const Both a = random(draw, sizes, dtype), b = random(draw, sizes, dtype), bias = random(draw, {sizes[1]}, dtype);
    Tensor sum = a.ours.t().clone().t();
    add(sum, b.ours, turn % 2 == 0 ? 1 : 0.5);
    EXPECT_TRUE(at::equal(theirs(sum), at::add(a.theirs, b.theirs, turn % 2 == 0 ? 1 : 0.5)));
    add(sum, bias.ours);
    EXPECT_TRUE(at::equal(theirs(sum), at::add(a.theirs, b.theirs, turn % 2 == 0 ? 1 : 0.5).add_(bias.theirs)));
    const Tensor product = a.ours.clone();
    multiply(product, 0.3);
    // libtorch rounds the factor to bf16 before it multiplies.
    const at::Tensor wide = dtype == Dtype::bf16 ? a.theirs.to(at::kFloat) : a.theirs;
    EXPECT_TRUE(at::equal(theirs(product), (wide * 0.3).to(theirs(dtype))));
    expect_same({cat({a.ours, b.ours.narrow(0, 0, 1)}), at::cat({a.theirs, b.theirs.narrow(0, 0, 1)})}, "cat");
    expect_same({cat({a.ours, b.ours}, 1), at::cat({a.theirs, b.theirs}, 1)}, "cat of columns");
    expect_same({stack({a.ours, b.ours}, 2), at::stack({a.theirs, b.theirs}, 2)}, "stack");
    expect_same({repeat(a.ours, 3), a.theirs.repeat({3, 1})}, "repeat");
    std::vector<std::int64_t> index;
    for (int i = 0; i < 5; ++i) index.push_back(draw.below(sizes[0]));
    expect_same({rows_of(a.ours, of(index)), a.theirs.index_select(0, at::tensor(index, at::kLong))}, "rows");
    const Both rows = random(draw, {5, sizes[1]}, dtype);
    const Tensor added = a.ours.clone();
    add_rows(added, of(index), rows.ours);
    if (dtype != Dtype::bf16) expect_same({added, a.theirs.clone().index_add_(0, at::tensor(index, at::kLong), rows.theirs)}, "rows added");
    EXPECT_TRUE(equal(a.ours, a.ours.t().clone().t()));
    added[0].fill(1e4);
    EXPECT_FALSE(equal(a.ours, added));
    EXPECT_EQ(largest(a.ours), a.theirs.max().item<double>());
    EXPECT_EQ(smallest(a.ours), a.theirs.min().item<double>());
  }
}

TEST(TensorParity, LargeCopiesOnSeveralThreadsMoveEveryElement) {
  for (const Sizes& sizes : {Sizes{1000, 777}, Sizes{3, 1 << 18}, Sizes{1 << 18, 3}, Sizes{64, 64, 129}}) {
    Draw draw(5);
    const Both x = random(draw, sizes, Dtype::fp32);
    const int last = x.ours.dims() - 1;
    const Tensor turned = x.ours.transpose(0, last).clone();
    EXPECT_TRUE(at::equal(theirs(turned), x.theirs.transpose(0, last))) << text_of(sizes);
    EXPECT_TRUE(at::equal(theirs(x.ours.to(Dtype::bf16)), x.theirs.to(at::kBFloat16)));
  }
}

TEST(Tensor, WhatDoesNotFitIsABugWithItsNumbers) {
  const Tensor x = zeros({2, 3});
  EXPECT_THROW(x.narrow(1, 2, 2), base::BugError);
  EXPECT_THROW(x.select(0, 2), base::BugError);
  EXPECT_THROW(x.size(2), base::BugError);
  EXPECT_THROW(x.data<double>(), base::BugError);
  EXPECT_THROW(x.view({4, 2}), base::BugError);
  EXPECT_THROW(x.copy_from(zeros({3, 2})), base::BugError);
  EXPECT_THROW(x.bits_as(Dtype::fp64), base::BugError);
  EXPECT_THROW(rows_of(x, of(std::vector<std::int64_t>{2})), base::BugError);
  EXPECT_THROW(add(x, zeros({2})), base::BugError);
  EXPECT_THROW(value_of(x), base::BugError);
  EXPECT_THROW(zeros({1, 1, 1, 1, 1, 1, 1}), base::BugError);
}

TEST(Tensor, BorrowedMemoryIsReleasedWithItsLastView) {
  float numbers[6] = {0, 1, 2, 3, 4, 5};
  int released = 0;
  Tensor part;
  {
    const Tensor whole = borrow(numbers, {2, 3}, Dtype::fp32, [&] { ++released; });
    part = whole[1].narrow(0, 1, 1);
  }
  EXPECT_EQ(released, 0);
  EXPECT_EQ(value_of(part), 4);
  part = {};
  EXPECT_EQ(released, 1);
}

}  // namespace
}  // namespace troika::tensor
