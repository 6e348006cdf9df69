// Operations on a device beside the same on the CPU. B sequences, T query positions, S key positions, n query heads, k key/value
// heads, H head width; M rows, D width, V vocabulary.
#include <gtest/gtest.h>

#include <cmath>

#include "gpu/host_accelerator_test_support.h"
#include "base/error.h"
#include "base/random.h"
#include "kernels/attention.h"
#include "kernels/rows.h"
#include "kernels/vocabulary.h"
#include "kernels/flat.h"
#include "kernels/grid.h"
#include "kernels/linear.h"
#include "kernels/on_cuda/on_cuda.h"
#include "kernels/output_loss.h"
#include "kernels/parity_test_support.h"
#include "tensor/libtorch_test_support.h"
#include "tensor/operations.h"

namespace troika::kernels {
namespace {

const std::unique_ptr<const RowLoss> of_logits = row_loss(config::Loss::cross_entropy);
using tensor::Tensor;

struct Here {
  gpu::HostAccelerator accelerator;
  const tensor::Device device{accelerator, 0};
  Tensor there(const Tensor& x) const { return x.defined() ? x.to(device) : x; }
};

// Views of a device's tensor with the strides of x, where those have no gaps.
Tensor normal(const std::string& name, at::IntArrayRef sizes, at::ScalarType dtype) { return random_normal(name, sizes).to(dtype); }

TEST(DevicesParity, LinearAgreesWithTheCpu) {
  const Here here;
  for (const at::ScalarType dtype : dtypes) {
    Parity stored(dtype, 1), exact;
    for (const auto& s : std::vector<std::vector<std::int64_t>>{{1, 1, 1}, {3, 5, 7}, {33, 17, 65}, {40, 48, 24}}) {
      for (const bool by_inputs : {false, true}) {
        const std::int64_t M = s[0], I = s[1], O = s[2];
        const Tensor x = normal("x", {M, I}, dtype), dy = normal("dy", {M, O}, dtype), bias = normal("bias", {O}, dtype);
        const Tensor stored_w = by_inputs ? normal("w", {I, O}, dtype) : normal("w", {O, I}, dtype);
        const auto as_OI = [&](const Tensor& w) { return by_inputs ? w.t() : w; };
        const Tensor w = as_OI(stored_w), w_there = as_OI(here.there(stored_w)), x_there = here.there(x), dy_there = here.there(dy);
        stored.compare("y", linear_forward(x_there, w_there, here.there(bias)).cpu(), linear_forward(x, w, bias));
        stored.compare("y + plus", linear_forward(x_there, w_there, here.there(bias), dy_there).cpu(),
                       linear_forward(x, w, bias, dy));
        stored.compare("dx", linear_backward_input(dy_there, w_there).cpu(), linear_backward_input(dy, w));
        const Tensor y = tensor::full({M, O + 3}, 42), y_there = here.there(y);
        linear_forward_float(x, w, y.narrow(1, 2, O));
        linear_forward_float(x_there, w_there, y_there.narrow(1, 2, O));
        exact.compare("y in fp32", y_there.cpu(), y);
        const Tensor dw = tensor::empty(stored_w.sizes()), dw_there = here.there(dw);
        linear_backward_weight(dy, x, as_OI(dw));
        linear_backward_weight(dy_there, x_there, as_OI(dw_there));
        exact.compare("dw", dw_there.cpu(), dw);
        linear_backward_weight(dy, x, as_OI(dw), tensor::Sum::added);
        linear_backward_weight(dy_there, x_there, as_OI(dw_there), tensor::Sum::added);
        exact.compare("dw twice", dw_there.cpu(), dw);
      }
    }
  }
  EXPECT_GT(here.accelerator.products(), 0);
}

struct DeviceLossCase {
  std::int64_t M, D, V;
  std::vector<std::int64_t> parts;  // of the vocabulary
};

struct LossResult {
  double loss = 0;
  std::int64_t tokens = 0;
  Tensor lse, dx, dw;
};

// The vocabulary's parts one after the other, as ranks have them.
LossResult loss_of(const Tensor& x, const Tensor& w, const Tensor& targets, const std::vector<std::int64_t>& counts) {
  std::vector<OutputLossPart> parts;
  std::vector<OutputLossSaved> saved(counts.size());
  std::int64_t first = 0;
  for (std::size_t i = 0; i < counts.size(); first += counts[i++])
    parts.push_back(output_loss_forward(x, w.narrow(0, first, counts[i]), targets, first, &saved[i]));
  const OutputLossPart whole = output_loss_join(parts);
  const LossSum sum = read_loss(of_logits->sum(whole, targets));
  LossResult result{sum.loss, sum.tokens, whole.lse_M, {}, tensor::empty(w.sizes(), w.type().of(tensor::Dtype::fp32))};
  first = 0;
  for (std::size_t i = 0; i < counts.size(); first += counts[i++]) {
    const Tensor dx = output_loss_backward_input(*of_logits, w.narrow(0, first, counts[i]), targets, first, whole.lse_M, 0.25, saved[i]);
    if (result.dx.defined()) {
      tensor::add(result.dx, dx);
    } else {
      result.dx = dx.to(tensor::Dtype::fp32);
    }
    output_loss_backward_weight(x, saved[i], 11, [&](std::int64_t row, std::int64_t rows) {
      return tensor::Destination{result.dw.narrow(0, first + row, rows)};
    });
  }
  return result;
}

LossResult loss_with_gradients(const Tensor& x, const Tensor& w, const Tensor& targets) {
  OutputLossSaved saved;
  const OutputLossPart part =
      output_loss_forward_with_gradients(*of_logits, x, w, targets, 0.25, saved, LossGradients::input_and_weight);
  const LossSum sum = read_loss(of_logits->sum(part, targets));
  return {sum.loss, sum.tokens, part.lse_M, saved.dx_MD, saved.dw_vD};
}

void expect_close(Parity& exact, Parity& gradients, const LossResult& got, const LossResult& want) {
  exact.compare("loss", got.loss, want.loss);
  EXPECT_EQ(got.tokens, want.tokens);
  exact.compare("lse", got.lse.cpu(), want.lse);
  gradients.compare("dx", got.dx.cpu(), want.dx);
  gradients.compare("dw", got.dw.cpu(), want.dw);
}

TEST(DevicesParity, TheLossAgreesWithTheCpu) {
  const Here here;
  for (const at::ScalarType dtype : dtypes) {
    Parity exact(2e-5), gradients(dtype, 2);
    for (const DeviceLossCase& c : {DeviceLossCase{1, 1, 1, {1}}, {5, 7, 11, {11}}, {37, 16, 64, {64}}, {140, 24, 50, {20, 13, 17}}}) {
      const Tensor x = normal("x", {c.M, c.D}, dtype), w = normal("w", {c.V, c.D}, dtype);
      at::Tensor targets = random_ids("targets", c.M, c.V);
      for (std::int64_t m = 3; m < c.M; m += 4) targets[m] = -100;
      const Tensor x_there = here.there(x), w_there = here.there(w), targets_there = here.there(targets);
      expect_close(exact, gradients, loss_of(x_there, w_there, targets_there, c.parts), loss_of(x, w, targets, c.parts));
      expect_close(exact, gradients, loss_with_gradients(x_there, w_there, targets_there), loss_with_gradients(x, w, targets));
    }
  }
}

struct DeviceAttentionCase {
  std::int64_t B, T, S, k, H;
  std::vector<std::int64_t> kv_of_head;
  std::int64_t q_offset = 0, k_offset = 0;
  std::vector<AttentionPart> parts = {};
};

AttentionInput input_of(const DeviceAttentionCase& c, at::ScalarType dtype) {
  AttentionInput input;
  input.q_BTnH = normal("q", {c.B, c.T, static_cast<std::int64_t>(c.kv_of_head.size()), c.H}, dtype);
  input.k_BSkH = normal("k", {c.B, c.S, c.k, c.H}, dtype);
  input.v_BSkH = normal("v", {c.B, c.S, 2 * c.k, c.H}, dtype).narrow(2, c.k, c.k);
  input.kv_of_head = c.kv_of_head;
  input.q_offset = c.q_offset;
  input.k_offset = c.k_offset;
  input.parts = c.parts;
  return input;
}

// v stays a view beside other heads.
AttentionInput moved(const Here& here, AttentionInput input) {
  for (Tensor* x : {&input.q_BTnH, &input.k_BSkH}) *x = here.there(*x);
  const Tensor v = input.v_BSkH.contiguous();
  input.v_BSkH = here.there(tensor::cat({v, v}, 2)).narrow(2, v.size(2), v.size(2));
  return input;
}

// Weights and the gradients of scores are rounded to halves before they are multiplied.
void expect_device_attention(const DeviceAttentionCase& c, at::ScalarType dtype, std::int64_t scores_bytes) {
  const Here here;
  Parity out(dtype, 1), lse, gradients(dtype, 3);
  const AttentionInput input = input_of(c, dtype), there = moved(here, input);
  const AttentionOutput want = attention_forward(input), got = on_cuda::attention_forward(there, scores_bytes);
  const Tensor dout = normal("dout", {c.B, c.T, want.out_BTnH.size(2), c.H}, dtype);
  const at::Tensor wanted_lse = want.lse_BnT, got_lse = got.lse_BnT.cpu(), blind = at::isneginf(wanted_lse);
  EXPECT_EQ(got.out_BTnH.dtype(), input.q_BTnH.dtype());
  EXPECT_TRUE(got.out_BTnH.is_contiguous());
  EXPECT_TRUE(at::equal(at::isneginf(got_lse), blind));
  lse.compare("lse", got_lse.masked_fill(blind, 0.0), wanted_lse.masked_fill(blind, 0.0));
  out.compare("out", got.out_BTnH.cpu(), want.out_BTnH);
  const AttentionGradients wanted = attention_backward(dout, input, want),
                           found = on_cuda::attention_backward(here.there(dout), there, got, scores_bytes);
  for (const Tensor& x : {found.dq_BTnH, found.dk_BSkH, found.dv_BSkH}) {
    EXPECT_TRUE(x.is_contiguous());
    EXPECT_EQ(x.dtype(), input.q_BTnH.dtype());
  }
  gradients.compare("dq", found.dq_BTnH.cpu(), wanted.dq_BTnH);
  gradients.compare("dk", found.dk_BSkH.cpu(), wanted.dk_BSkH);
  gradients.compare("dv", found.dv_BSkH.cpu(), wanted.dv_BSkH);
}

const std::vector<DeviceAttentionCase>& device_attention_cases() {
  static const std::vector<DeviceAttentionCase> cases{
      {2, 24, 24, 4, 16, {0, 1, 2, 3}},
      {1, 1, 1, 1, 1, {0}},
      {2, 24, 24, 2, 16, {0, 0, 1, 1}},
      {2, 9, 9, 1, 8, {0, 0, 0, 0, 0, 0}},
      {2, 11, 11, 2, 8, {0, 0, 0, 1}},
      {1, 13, 13, 3, 6, {2, 0, 2, 1, 0}},
      {2, 5, 5, 4, 4, {1, 3, 1}},                // heads 0 and 2 are read by nobody
      {2, 1, 9, 2, 16, {0, 0, 1, 1}, 8, 0},      // a token against a cache
      {2, 8, 8, 2, 8, {0, 1}, 16, 8},            // earlier keys
      {2, 8, 6, 2, 8, {0, 1, 1}, 0, 3},          // the first three queries see nothing
      {1, 4, 4, 1, 8, {0, 0}, 0, 4},             // nobody sees anything
      {1, 24, 24, 2, 8, {0, 0, 1, 1}, 0, 0, equal_parts(3, 8)},
      {1, 90, 90, 2, 8, {0, 0, 1, 1}, 0, 0, {{{0, 70}, {0, 70}}, {{70, 1}, {70, 1}}, {{71, 15}, {71, 15}}}},
      {1, 9, 15, 1, 6, {0, 0}, 0, 0, {{{4, 3}, {2, 9}, 5}, {{0, 2}, {12, 3}, 3}}},
      {1, 60, 140, 1, 8, {0, 0}, 80, 0}};
  return cases;
}

TEST(DevicesParity, AttentionAgreesWithTheCpu) {
  for (const DeviceAttentionCase& c : device_attention_cases()) {
    for (const at::ScalarType dtype : dtypes) expect_device_attention(c, dtype, shape::most_scores_bytes);
  }
}

TEST(DevicesParity, AttentionInChunksOfFewQueriesAgreesWithTheCpu) {
  for (const DeviceAttentionCase& c : device_attention_cases()) {
    expect_device_attention(c, at::kFloat, 1);     // one query at a time
    expect_device_attention(c, at::kBFloat16, 1000);  // a few
  }
}

TEST(DevicesParity, ScoresOfAChunkAreBounded) {
  EXPECT_EQ(shape::chunk_queries(16, 2048, 2048, 64 << 20), 512);
  EXPECT_EQ(shape::scores_bytes(16, 100, 100), 4 * 16 * 104 * 100);
  EXPECT_LE(shape::scores_bytes(32, 1 << 20, 1 << 14), shape::most_scores_bytes);
  EXPECT_EQ(shape::scores_bytes(1, 10, shape::most_scores_bytes), 4 * shape::most_scores_bytes);  // one query
}

// Pieces of the keys against the merged output, in fp32.
TEST(DevicesParity, AMergeAgreesWithTheCpu) {
  const Here here;
  for (const at::ScalarType dtype : dtypes) {
    const AttentionInput whole = input_of({2, 12, 16, 2, 8, {0, 0, 1}, 2, 0}, dtype);
    const auto part = [&](std::int64_t begin, std::int64_t count) {
      AttentionInput piece = whole;
      piece.k_BSkH = whole.k_BSkH.narrow(1, begin, count);
      piece.v_BSkH = whole.v_BSkH.narrow(1, begin, count);
      piece.k_offset = begin;
      return piece;
    };
    const std::vector<AttentionInput> parts{part(0, 5), part(5, 6), part(11, 5)};
    std::vector<AttentionInput> parts_there;
    for (const AttentionInput& one : parts) parts_there.push_back(moved(here, one));
    AttentionOutput want = attention_forward(parts[0]), got = attention_forward(parts_there[0]);
    for (std::size_t i = 1; i < parts.size(); ++i) {
      attention_merge(want, attention_forward(parts[i]));
      attention_merge(got, attention_forward(parts_there[i]));
    }
    Parity(dtype, 1).compare("merged out", got.out_BTnH.cpu(), want.out_BTnH);
    Parity().compare("merged lse", got.lse_BnT.cpu(), want.lse_BnT);
    const Tensor dout = normal("dout", {2, 12, 3, 8}, at::kFloat);
    Parity gradients(dtype, 3);
    for (std::size_t i = 0; i < parts.size(); ++i) {
      const AttentionGradients wanted = attention_backward(dout, parts[i], want),
                               found = attention_backward(here.there(dout), parts_there[i], got);
      gradients.compare("dq", found.dq_BTnH.cpu(), wanted.dq_BTnH);
      gradients.compare("dk", found.dk_BSkH.cpu(), wanted.dk_BSkH);
      gradients.compare("dv", found.dv_BSkH.cpu(), wanted.dv_BSkH);
    }
  }
}

TEST(DevicesParity, AMergeWithWhatSawNothingChangesNoValue) {
  const Here here;
  const AttentionInput seen = moved(here, input_of({2, 6, 6, 2, 8, {0, 1}}, at::kFloat)),
                       unseen = moved(here, input_of({2, 6, 6, 2, 8, {0, 1}, 0, 6}, at::kFloat));
  const AttentionOutput want = attention_forward(seen);
  AttentionOutput first = want, last = attention_forward(unseen), neither = last;
  attention_merge(first, last);
  attention_merge(last, want);
  attention_merge(neither, attention_forward(unseen));
  for (const AttentionOutput& sum : {first, last}) {
    EXPECT_TRUE(tensor::equal(sum.out_BTnH, want.out_BTnH));
    EXPECT_TRUE(tensor::equal(sum.lse_BnT, want.lse_BnT));
  }
  EXPECT_EQ(tensor::largest(neither.lse_BnT), -INFINITY);
  EXPECT_EQ(tensor::largest(neither.out_BTnH), 0);
}

TEST(DevicesParity, SumsOfBitsAndRowsOnTheGridAreThoseOfTheCpu) {
  const Here here;
  for (const at::ScalarType dtype : {at::kFloat, at::kBFloat16}) {
    const Tensor x = normal("x", {5000}, dtype);
    EXPECT_TRUE(tensor::equal(bits_sum(here.there(x)).cpu(), bits_sum(x)));
  }
  const Tensor x_rD = random_normal("rows", {3, 20}), row_r = tensor::of(std::vector<std::int64_t>{1, 2, 5});
  const Tensor sum = tensor::full({50}, 9, tensor::Dtype::int64), sum_there = here.there(sum);
  const Tensor largest = tensor::zeros({1}, tensor::Dtype::int32), largest_there = here.there(largest);
  add_rows_on_grid({sum, 33}, row_r, x_rD, 20, largest);
  add_rows_on_grid({sum_there, 33}, here.there(row_r), here.there(x_rD), 20, largest_there);
  EXPECT_TRUE(tensor::equal(sum_there.cpu(), sum));
  EXPECT_TRUE(tensor::equal(largest_there.cpu(), largest));
}

TEST(DevicesParity, SumsOfPartsAreThoseOfTheCpu) {
  const Here here;
  for (const at::ScalarType dtype : {at::kFloat, at::kBFloat16, at::kHalf}) {
    for (const int count : {2, 8, 11}) {
      std::vector<Tensor> parts, there;
      for (int r = 0; r < count; ++r) parts.push_back(normal("part " + std::to_string(r), {5, 100}, dtype));
      for (const Tensor& part : parts) there.push_back(here.there(part));
      sum_of_parts(there, there[1]);
      sum_of_parts(parts, parts[1]);
      EXPECT_TRUE(tensor::equal(there[1].cpu(), parts[1])) << count;
    }
  }
}

TEST(DevicesParity, AStepWithSumsHasThoseOfTheCpu) {
  const Here here;
  const std::vector<DecayStretch> stretches{{100, 0.1}, {57, 0}, {3, 0}};
  const AdamWTensors state{random_normal("p", {160}), random_normal("g", {160}), tensor::zeros({160}), tensor::zeros({160}),
                           tensor::zeros({160}, tensor::Dtype::bf16)};
  const AdamWTensors there{here.there(state.parameter), here.there(state.gradient), here.there(state.m), here.there(state.v),
                           here.there(state.rounded)};
  const AdamW settings{1e-3, 0.9, 0.95, 1e-8};
  EXPECT_TRUE(tensor::equal(adamw_summed(settings, stretches, there).cpu(), adamw_summed(settings, stretches, state)));
  EXPECT_TRUE(tensor::equal(there.parameter.cpu(), state.parameter));
}

TEST(DevicesParity, TheGradientOfATableIsThatOfTheCpu) {
  const Here here;
  const Tensor ids = tensor::ours(random_ids("ids", 60, 15)), dx = random_normal("dx", {60, 36});
  const NamedRows want = embedding_backward_weight(dx, ids, 3, 9);
  const Tensor whole = tensor::zeros({9, 36});
  tensor::set_rows(whole, want.row_r, want.gradient_rD);
  EXPECT_TRUE(tensor::equal(embedding_backward_weight(here.there(dx), here.there(ids), 3, 9).gradient_rD.cpu(), whole));
}

TEST(DevicesParity, DropoutHasTheBitsOfTheCpu) {
  const Here here;
  const base::Philox random(7, "dropout");
  const DropoutRows rows{3, {{20, 5, 1}, {21, 0, 4}, {21, 9, 2}}};
  const Tensor x = normal("x", {9, 37}, at::kBFloat16);  // two rows behind the runs
  EXPECT_TRUE(tensor::equal(dropout(here.there(x), random, rows, 13, 0.3).cpu(), dropout(x, random, rows, 13, 0.3)));
}

TEST(DevicesParity, AttentionOfRowsAgreesWithTheCpu) {
  const Here here;
  for (const at::ScalarType dtype : dtypes) {
    const Tensor q = normal("q", {2, 6, 10}, dtype);
    std::vector<KeysAndValues> all, all_there;
    for (const std::int64_t S : {33, 5}) {
      const Tensor k = normal("k", {2, S + 3, 10}, dtype), v = normal("v", {2, S + 3, 10}, dtype);
      const auto view = [&](const Tensor& x) { return x.narrow(1, 0, S).transpose(0, 1); };
      all.push_back({view(k), view(v)});
      all_there.push_back({view(here.there(k)), view(here.there(v))});
    }
    Parity(dtype, 1).compare("out", row_attention(here.there(q), all_there).cpu(), row_attention(q, all));
  }
}

}  // namespace
}  // namespace troika::kernels
