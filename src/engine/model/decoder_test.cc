#include "model/decoder.h"

#include <gtest/gtest.h>

#include <cmath>

#include "base/error.h"
#include "kernels/output_loss.h"
#include "model/decoder_test_support.h"
#include "shape/gpu_chunks.h"
#include "tensor/device.h"
#include "tensor/libtorch_test_support.h"

namespace troika::model {
namespace {

TEST(Initialise, GivesEveryParameterTheSameBitsForAnyCuts) {
  for (const config::ModelSettings& m : small_models()) {
    const auto whole = parameters_by_name(make_decoders(m, {0, 6}, options_for(24)));
    EXPECT_EQ(whole.size(), shape::all_parameters(m).size());
    for (const std::vector<int>& cuts : {std::vector<int>{0, 3, 6}, {0, 1, 5, 6}, {0, 1, 2, 3, 4, 5, 6}}) {
      const auto cut = parameters_by_name(make_decoders(m, cuts, options_for(24)));
      ASSERT_EQ(cut.size(), whole.size());
      for (const auto& [name, value] : whole) EXPECT_TRUE(at::equal(cut.at(name), value)) << name;
    }
  }
}

void expect_slices_of_the_whole(const config::ModelSettings& m) {
  const auto whole = parameters_by_name(make_decoders(m, {0, 6}, options_for(24)));
  for (const int size : {2, 3, 4, 5, 6}) {
    WholeTensors together;
    for (int rank = 0; rank < size; ++rank) {
      for (int segment = 0; segment < shape::segment_count(m); ++segment) {
        const shape::SegmentLayout layout = shape::segment_layout(m, segment, {rank, size});
        const at::Tensor flat = at::empty({layout.elements}, at::kFloat);
        initialise(layout, flat, 7, m.init_std);
        together.place(layout, flat);
      }
    }
    together.expect_complete();
    for (const auto& [name, value] : whole) EXPECT_TRUE(at::equal(together.by_name().at(name), value)) << name;
  }
}

TEST(Initialise, GivesEveryTensorParallelRankItsSliceOfTheSameBits) {
  config::ModelSettings m = small_model(false);
  m.heads = 6;
  m.kv_heads = 3;
  m.ffn = 191;
  expect_slices_of_the_whole(m);
  m.architecture = config::Family::qwen2;
  expect_slices_of_the_whole(m);
  m = small_gpt2(false);
  m.heads = m.kv_heads = 7;
  m.hidden = 7 * m.head_dim;
  m.ffn = 191;
  expect_slices_of_the_whole(m);
}

TEST(Initialise, GivesTheSameBitsOnAnyNumberOfThreads) {
  config::ModelSettings m = small_model(true);
  m.vocab = 3001;  // several pieces
  const shape::SegmentLayout layout = shape::segment_layout(m, 0);
  const at::Tensor one = at::empty({layout.elements}, at::kFloat), three = at::empty_like(one);
  const int before = tensor::threads();
  tensor::set_threads(1);
  initialise(layout, one, 7, 0.02);
  tensor::set_threads(3);
  initialise(layout, three, 7, 0.02);
  tensor::set_threads(before);
  EXPECT_TRUE(at::equal(one, three));
}

TEST(Initialise, DrawsMatricesFromANormalAndSetsNormsToOne) {
  const auto all = parameters_by_name(make_decoders(small_model(false), {0, 6}, options_for(24)));
  for (const auto& [name, value] : all) {
    if (value.dim() == 1) {
      EXPECT_TRUE(at::equal(value, at::ones_like(value))) << name;
      continue;
    }
    const double five_sigma = 5 / std::sqrt(static_cast<double>(value.numel()));
    EXPECT_NEAR(value.mean().item<double>(), 0, 0.02 * five_sigma) << name;
    EXPECT_NEAR(value.std().item<double>(), 0.02, 0.02 * five_sigma) << name;
  }
  EXPECT_FALSE(at::equal(all.at("model.layers.0.mlp.up_proj.weight"), all.at("model.layers.1.mlp.up_proj.weight")));
}

TEST(Initialise, SetsTheBiasesOfGpt2ToZeroAndShrinksWhatItsStreamAddsUp) {
  const auto all = parameters_by_name(make_decoders(small_gpt2(false), {0, 6}, options_for(24)));
  for (const auto& [name, value] : all) {
    if (value.dim() == 1) {
      const bool is_gain = name.find("ln_") != std::string::npos && name.find(".weight") != std::string::npos;
      EXPECT_TRUE(at::equal(value, at::full_like(value, is_gain ? 1 : 0))) << name;
      continue;
    }
    const bool residual = name.find("c_proj") != std::string::npos;
    const double std = residual ? 0.02 / std::sqrt(2 * 4.0) : 0.02;
    EXPECT_NEAR(value.std().item<double>(), std, std * 5 / std::sqrt(static_cast<double>(value.numel()))) << name;
  }
}

TEST(Initialise, DependsOnTheSeed) {
  const shape::SegmentLayout layout = shape::segment_layout(small_model(true), 1);
  const at::Tensor a = at::empty({layout.elements}, at::kFloat), b = at::empty_like(a);
  initialise(layout, a, 7, 0.02);
  initialise(layout, b, 8, 0.02);
  EXPECT_FALSE(at::equal(a, b));
}

TEST(Decoder, TheHeadReadsATiedTableWhereItStandsAndACopyElsewhere) {
  const config::ModelSettings m = small_model(true);
  const Decoder whole(m, options_for(5)), head(m, 5, 6, options_for(5)), middle(m, 1, 5, options_for(5));
  EXPECT_FALSE(whole.has_tied_copy());
  EXPECT_EQ(whole.layouts().size(), 7U);
  EXPECT_TRUE(whole.parameters().back().data() == tensor::Tensor(whole.parameters().front()).data());
  EXPECT_FALSE(whole.new_gradients().back().data() == tensor::Tensor(whole.new_gradients().front()).data());
  EXPECT_TRUE(head.has_tied_copy());
  EXPECT_EQ(head.layouts().size(), 2U);
  EXPECT_EQ(middle.layouts().size(), 4U);
  EXPECT_EQ(Decoder(small_model(false), options_for(5)).layouts().size(), 6U);
}

TEST(Decoder, InitialisesAnyRangeOfABufferAlike) {
  const shape::SegmentLayout layout = shape::segment_layout(small_model(true), 1);
  const at::Tensor whole = at::empty({layout.elements});
  initialise(layout, whole, 7, 0.02);
  for (const shape::Range range : {shape::Range{0, 1}, {5, 4096}, {63, 40000}, {layout.elements - 3, 3}, {9, 0}}) {
    const at::Tensor part = at::empty({range.count});
    initialise(layout, range, part, 7, 0.02);
    EXPECT_TRUE(at::equal(part, whole.narrow(0, range.begin, range.count))) << range.begin;
  }
}

TEST(Decoder, SavesNothingWhenNothingIsToBeKept) {
  const config::ModelSettings m = small_model(true);
  const Tokens tokens = make_tokens(m, 2, 5, 0, tensor::Device());
  const auto decoders = make_decoders(m, {0, 6}, options_for(5));
  const DecoderResult kept = decoders[0].forward({}, tokens, shape::SavedActivations::all);
  const DecoderResult dropped = decoders[0].forward({}, tokens, shape::SavedActivations::none);
  EXPECT_EQ(dropped.saved_bytes(), 0);
  EXPECT_GT(kept.saved_bytes(), 0);
  EXPECT_EQ(kept.loss.loss, dropped.loss.loss);
  EXPECT_EQ(kept.loss.tokens, 10);
}

TEST(Decoder, BackwardWritesEveryGradientAndAddsToNone) {
  for (const config::ModelSettings& m : small_models()) {
    const Tokens tokens = make_tokens(m, 2, 5, 0, tensor::Device());
    const auto decoders = make_decoders(m, {0, 2, 6}, options_for(5));
    const Gradients once = forward_backward(decoders, tokens, 0.0), again = forward_backward(decoders, tokens, 42.0);
    for (std::size_t d = 0; d < decoders.size(); ++d) {
      for (std::size_t i = 0; i < once.leaves[d].size(); ++i)
        EXPECT_TRUE(at::equal(once.leaves[d][i], again.leaves[d][i])) << d << " " << i;
    }
  }
}

TEST(Decoder, HoldsNoActivationsAfterBackward) {
  const config::ModelSettings m = small_model(true);
  const Tokens tokens = make_tokens(m, 2, 5, 0, tensor::Device());
  const Decoder decoder = std::move(make_decoders(m, {0, 6}, options_for(5)).front());
  DecoderResult result = decoder.forward({}, tokens, shape::SavedActivations::all);
  const std::int64_t before = result.saved_bytes();
  decoder.backward_input({}, tokens, result);
  EXPECT_LE(result.saved_bytes(), 2 * before);
  decoder.backward_weight(decoder.new_gradients(), tokens, result);
  EXPECT_EQ(result.saved_bytes(), 0);
}

void expect_foretold_bytes(const config::ModelSettings& m, config::Precision precision,
                           shape::SavedActivations activations) {
  const Tokens tokens = make_tokens(m, 2, 5, 0, tensor::Device());
  Decoder::Options options = options_for(5);
  options.dtype = dtype_of(precision);
  const Decoder decoder = std::move(make_decoders(m, {0, 6}, options).front());
  DecoderResult result = decoder.forward({}, tokens, activations);
  const shape::SavedBytes foretold =
      shape::segment_saved_bytes(m, {rows_of(tokens), {}, shape::SequenceParallel::off, precision}, activations);
  for (std::size_t i = 0; i < foretold.whole.size(); ++i)
    EXPECT_EQ(result.saved[i] == nullptr ? 0 : result.saved[i]->bytes(), foretold.whole[i]) << i;
  if (activations == shape::SavedActivations::none) return;
  decoder.backward_input({}, tokens, result);
  for (std::size_t i = 0; i < foretold.half.size(); ++i)
    EXPECT_EQ(result.saved[i]->bytes(), foretold.half[i]) << i << " between the halves of backward";
}

TEST(Decoder, SavesTheBytesThatWereForetold) {
  for (const config::ModelSettings& m : small_models()) {
    for (const auto activations :
         {shape::SavedActivations::all, shape::SavedActivations::selective, shape::SavedActivations::none}) {
      for (const auto precision : {config::Precision::fp32, config::Precision::bf16, config::Precision::fp16})
        expect_foretold_bytes(m, precision, activations);
    }
  }
}

TEST(Decoder, MorePositionsThanGpt2HasLearnedAreRefused) {
  EXPECT_NO_THROW(Decoder(small_gpt2(true), options_for(40)));
  EXPECT_THROW(Decoder(small_gpt2(true), options_for(41)), base::ConfigError);
  EXPECT_NO_THROW(Decoder(small_model(true), options_for(41)));
}

TEST(Decoder, LongerSequencesThanItWasMadeForAreRefused) {
  for (const config::ModelSettings& m : {small_model(true), small_gpt2(true)}) {
    const auto decoders = make_decoders(m, {0, 6}, options_for(5));
    EXPECT_THROW(decoders[0].forward({}, make_tokens(m, 1, 6, 0, tensor::Device()), shape::SavedActivations::none),
                 base::BugError);
  }
}

TEST(OutputProjection, HasTheChunksThatItsCostsCount) {
  for (const std::int64_t D : {1, 64, 100, 256, 4096})
    EXPECT_EQ(kernels::output_loss_chunk_rows(D), shape::output_loss_chunk_rows(D)) << D;
}

}  // namespace
}  // namespace troika::model
