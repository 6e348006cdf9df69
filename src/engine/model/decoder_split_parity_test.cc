// Split equals whole: the decoder on several ranks, as threads, against the same decoder on one.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <exception>
#include <thread>

#include "comm/threads_channel_test_support.h"
#include "model/decoder.h"
#include "model/decoder_test_support.h"
#include "tensor/libtorch_test_support.h"

namespace troika::model {
namespace {

using shape::SequenceParallel;

struct Split {
  int tp = 1, cp = 1;
  SequenceParallel sequence = SequenceParallel::off;
  shape::SavedActivations activations = shape::SavedActivations::all;
  config::Precision precision = config::Precision::fp32;
};

struct SplitCase {
  config::ModelSettings model;
  std::int64_t B = 2, T = 7, silent = 0;
  std::int64_t document = 0;  // above 0: shorter sequences (with_documents)

  Tokens tokens() const {
    const Tokens joined = make_tokens(model, B, T, silent, tensor::Device());
    return document == 0 ? joined : with_documents(joined, document);
  }
};

config::ModelSettings odd_model(std::int64_t heads, std::int64_t kv_heads, bool tied) {
  config::ModelSettings m;
  m.layers = 2;
  m.hidden = 20;
  m.heads = heads;
  m.kv_heads = kv_heads;
  m.head_dim = 6;
  m.ffn = 191;
  m.vocab = 259;
  m.init_std = 0.2;  // attention that looks at something
  m.tie_embeddings = tied;
  return m;
}

config::ModelSettings odd_qwen2(std::int64_t heads, std::int64_t kv_heads, bool tied) {
  config::ModelSettings m = odd_model(heads, kv_heads, tied);
  m.architecture = config::Family::qwen2;
  return m;
}

config::ModelSettings odd_llama(std::int64_t heads, std::int64_t kv_heads, bool tied) {
  config::ModelSettings m = odd_model(heads, kv_heads, tied);
  m.architecture = config::Family::llama;
  m.rope_scaling = config::RopeScaling::llama3;
  m.rope_original_positions = 40;
  return m;
}

config::ModelSettings odd_gpt2(std::int64_t heads, bool tied) {
  config::ModelSettings m = odd_model(heads, heads, tied);
  m.architecture = config::Family::gpt2;
  m.hidden = heads * m.head_dim;
  m.max_positions = 19;
  return m;
}

// The results of the ranks of one context-parallel position; and of all of them together.
struct Outcome {
  double loss = 0;
  std::int64_t tokens = 0;
  std::map<std::string, at::Tensor> gradients;
};

Tokens tokens_of_rank(const Tokens& whole, const sharding::ContextGroup& context) {
  const at::Tensor rows = at::tensor(context.own_rows(whole.sequences), at::kLong);
  Tokens part = lay_out(whole.sequences, context, {});
  part.ids_M = tensor::theirs(whole.ids_M).index_select(0, rows);
  part.targets_M = tensor::theirs(whole.targets_M).index_select(0, rows);
  part.loss_rows = whole.loss_rows;
  return part;
}

struct SplitRank {
  std::vector<Decoder> decoders;
  Gradients gradients;
  std::exception_ptr error;
};

void check_saved_bytes(const SplitCase& c, const Split& split, const Decoder& decoder, const Tokens& tokens,
                       const shape::TensorShare& share) {
  DecoderResult result = decoder.forward({}, tokens, split.activations);
  const shape::SavedBytes foretold = shape::segment_saved_bytes(
      c.model, {rows_of(tokens), share, split.sequence, split.precision}, split.activations);
  for (std::size_t i = 0; i < foretold.whole.size(); ++i) EXPECT_EQ(result.saved[i]->bytes(), foretold.whole[i]) << i;
  decoder.backward_input({}, tokens, result);
  for (std::size_t i = 0; i < foretold.half.size(); ++i) EXPECT_EQ(result.saved[i]->bytes(), foretold.half[i]) << i;
}

void run_rank(const SplitCase& c, const Split& split, comm::Channel& tensor_channel, comm::Channel& context_channel,
              SplitRank& rank) {
  const sharding::TensorGroup tensor(tensor_channel, split.sequence);
  const sharding::ContextGroup context(context_channel);
  Decoder::Options options = options_for(c.T);
  options.dtype = dtype_of(split.precision);
  options.parallel = {&tensor, &context};
  rank.decoders = make_decoders(c.model, {0, 2, shape::segment_count(c.model)}, options);
  perturb_vectors(rank.decoders);
  const Tokens tokens = tokens_of_rank(c.tokens(), context);
  rank.gradients = forward_backward(rank.decoders, tokens, 42.0, split.activations);
  const Decoder all(c.model, options);
  all.initialise(7, c.model.init_std);
  check_saved_bytes(c, split, all, tokens, options.parallel.share());
}

Outcome run_split(const SplitCase& c, const Split& split) {
  std::vector<std::vector<std::unique_ptr<comm::Channel>>> tensor_channels, context_channels;
  for (int i = 0; i < split.cp; ++i) tensor_channels.push_back(comm::make_thread_channels(split.tp, "tp", 60));
  for (int i = 0; i < split.tp; ++i) context_channels.push_back(comm::make_thread_channels(split.cp, "cp", 60));
  std::vector<std::vector<SplitRank>> ranks(static_cast<std::size_t>(split.cp));
  std::vector<std::thread> threads;
  for (std::size_t cp = 0; cp < ranks.size(); ++cp) {
    ranks[cp].resize(static_cast<std::size_t>(split.tp));
    for (std::size_t tp = 0; tp < ranks[cp].size(); ++tp) {
      threads.emplace_back([&, cp, tp] {
        try {
          run_rank(c, split, *tensor_channels[cp][tp], *context_channels[tp][cp], ranks[cp][tp]);
        } catch (...) {
          ranks[cp][tp].error = std::current_exception();
        }
      });
    }
  }
  for (std::thread& thread : threads) thread.join();

  Outcome outcome;
  for (const auto& group : ranks) {
    std::vector<RankGradients> parts;
    for (const SplitRank& rank : group) {
      if (rank.error != nullptr) std::rethrow_exception(rank.error);
      parts.push_back({&rank.decoders, &rank.gradients});
      EXPECT_EQ(rank.gradients.loss.loss, group[0].gradients.loss.loss);
      EXPECT_EQ(rank.gradients.loss.tokens, group[0].gradients.loss.tokens);
    }
    outcome.loss += group[0].gradients.loss.loss;
    outcome.tokens += group[0].gradients.loss.tokens;
    for (const auto& [name, gradient] : gradients_by_name(parts)) {
      at::Tensor& sum = outcome.gradients[name];
      sum = sum.defined() ? sum + gradient : gradient;
    }
  }
  return outcome;
}

// In fp32, from parameters that `dtype` can hold.
Outcome run_whole(const SplitCase& c, at::ScalarType dtype = at::kFloat) {
  const auto decoders = make_decoders(c.model, {0, shape::segment_count(c.model)}, options_for(c.T));
  perturb_vectors(decoders);
  for (const at::Tensor flat : decoders[0].parameters()) flat.copy_(flat.to(dtype));
  const Gradients g = forward_backward(decoders, c.tokens(), 42.0);
  return {g.loss.loss, g.loss.tokens, gradients_by_name(decoders, g)};
}

struct Errors {
  double loss = 0, gradients = 0;  // relative, of the worst tensor
  std::string worst;
  double length = 0;  // of the difference of all gradients as one vector, relative to the vector's
};

double largest(const at::Tensor& x) { return x.abs().max().item<double>(); }

// A gradient that vanishes but for rounding (attention over a single key) has no relative error; it must vanish on the
// split ranks too.
Errors errors(const Outcome& got, const Outcome& want) {
  Errors e;
  double scale = 0, squares = 0, difference_squares = 0;
  for (const auto& [name, gradient] : want.gradients) scale = std::max(scale, largest(gradient));
  e.loss = std::abs(got.loss - want.loss) / want.loss;
  EXPECT_EQ(got.tokens, want.tokens);
  EXPECT_EQ(got.gradients.size(), want.gradients.size());
  for (const auto& [name, gradient] : want.gradients) {
    const bool vanishes = largest(gradient) < 1e-6 * scale;
    EXPECT_TRUE(!vanishes || largest(got.gradients.at(name)) < 1e-6 * scale) << name;
    const double error = vanishes ? 0 : relative_error(got.gradients.at(name), gradient);
    EXPECT_TRUE(std::isfinite(error)) << name;
    if (error > e.gradients) e = {e.loss, error, name};
    squares += gradient.square().sum(at::kDouble).item<double>();
    difference_squares += (got.gradients.at(name) - gradient).square().sum(at::kDouble).item<double>();
  }
  e.length = std::sqrt(difference_squares / squares);
  return e;
}

struct Bounds {
  double loss = 1e-6, gradients = 1e-5, length = 1e-5;
};

void expect_split_parity(const SplitCase& c, const std::vector<Split>& splits, const Bounds& bounds = {}) {
  const Outcome want = run_whole(c, tensor::theirs(dtype_of(splits.front().precision)));
  for (const Split& split : splits) {
    SCOPED_TRACE(fmt::format("{} heads, {} kv heads, T {}, tp {}, cp {}, sequence parallel {}, activations {}",
                             c.model.heads, c.model.kv_heads, c.T, split.tp, split.cp,
                             split.sequence == SequenceParallel::on, static_cast<int>(split.activations)));
    const Errors e = errors(run_split(c, split), want);
    EXPECT_LT(e.loss, bounds.loss);
    EXPECT_LT(e.gradients, bounds.gradients) << e.worst;
    EXPECT_LT(e.length, bounds.length);
  }
}

std::vector<Split> tensor_splits() {
  std::vector<Split> splits;
  for (const int tp : {1, 2, 3, 4}) {
    for (const auto sequence : {SequenceParallel::off, SequenceParallel::on})
      splits.push_back({tp, 1, tp == 1 ? SequenceParallel::off : sequence});
  }
  return splits;
}

TEST(DecoderSplitParity, TensorParallelWithFewerKeyHeadsThanRanks) {
  for (const std::int64_t kv_heads : {1, 2}) expect_split_parity({odd_model(8, kv_heads, true)}, tensor_splits());
}

TEST(DecoderSplitParity, TensorParallelWithKeyHeadsSharedByNeighbours) {
  expect_split_parity({odd_model(6, 3, false)}, tensor_splits());
  expect_split_parity({odd_model(9, 3, true), 1, 5}, tensor_splits());
}

TEST(DecoderSplitParity, TensorParallelWithAKeyHeadForEveryQueryHead) {
  expect_split_parity({odd_model(8, 8, false), 3, 5, 3}, tensor_splits());
}

TEST(DecoderSplitParity, FewerRowsThanTensorParallelRanks) {
  expect_split_parity({odd_model(8, 4, true), 1, 2}, {{3, 1, SequenceParallel::on}, {4, 1, SequenceParallel::on}});
}

TEST(DecoderSplitParity, ContextParallelWithEvenAndOddLengths) {
  for (const std::int64_t T : {16, 24, 17, 13})
    expect_split_parity({odd_model(8, 2, true), 2, T}, {{1, 1}, {1, 2}, {1, 3}, {1, 4}});
}

TEST(DecoderSplitParity, ContextParallelWithFewerPositionsThanChunks) {
  for (const std::int64_t T : {1, 2, 3, 5})
    expect_split_parity({odd_model(6, 3, false), 2, T}, {{1, 2}, {1, 3}, {1, 4}});
}

TEST(DecoderSplitParity, TokensWithoutALoss) {
  expect_split_parity({odd_model(8, 2, true), 2, 11, 2}, {{2, 2, SequenceParallel::on}, {1, 3}, {3, 1}});
}

TEST(DecoderSplitParity, TensorAndContextParallelTogether) {
  for (const auto sequence : {SequenceParallel::off, SequenceParallel::on}) {
    expect_split_parity({odd_model(8, 2, true), 2, 11}, {{2, 2, sequence}, {3, 2, sequence}, {2, 3, sequence}});
    expect_split_parity({odd_model(6, 3, false), 1, 3}, {{4, 2, sequence}, {2, 3, sequence}});
  }
}

TEST(DecoderSplitParity, Qwen2OnTensorParallelRanksThatShareKeyHeads) {
  expect_split_parity({odd_qwen2(8, 2, true), 2, 7, 3}, tensor_splits());
  expect_split_parity({odd_qwen2(6, 3, false)}, tensor_splits());
  expect_split_parity({odd_qwen2(9, 3, true), 1, 5}, tensor_splits());
  expect_split_parity({odd_qwen2(8, 8, false), 1, 2}, {{3, 1, SequenceParallel::on}, {4, 1, SequenceParallel::on}});
}

TEST(DecoderSplitParity, LlamaOnTensorParallelRanks) {
  expect_split_parity({odd_llama(8, 1, true), 2, 7, 3}, tensor_splits());
  expect_split_parity({odd_llama(9, 3, false), 1, 5}, tensor_splits());
}

TEST(DecoderSplitParity, Qwen2AndLlamaOnContextParallelRanks) {
  for (const auto& m : {odd_qwen2(6, 3, true), odd_llama(8, 2, false)}) {
    expect_split_parity({m, 2, 17}, {{1, 2}, {1, 3}, {1, 4}});
    for (const auto sequence : {SequenceParallel::off, SequenceParallel::on})
      expect_split_parity({m, 2, 11}, {{2, 2, sequence}, {3, 2, sequence}});
  }
}

TEST(DecoderSplitParity, Gpt2OnTensorParallelRanks) {
  expect_split_parity({odd_gpt2(5, true), 2, 7, 3}, tensor_splits());
  expect_split_parity({odd_gpt2(4, false), 1, 2}, {{3, 1, SequenceParallel::on}, {4, 1, SequenceParallel::on}});
}

TEST(DecoderSplitParity, Gpt2OnContextParallelRanks) {
  expect_split_parity({odd_gpt2(3, true), 2, 17}, {{1, 2}, {1, 3}, {1, 4}});
  expect_split_parity({odd_gpt2(3, false), 2, 3}, {{1, 3}});
  for (const auto sequence : {SequenceParallel::off, SequenceParallel::on})
    expect_split_parity({odd_gpt2(5, true), 2, 11}, {{2, 2, sequence}, {3, 2, sequence}, {2, 3, sequence}});
}

TEST(DecoderSplitParity, DocumentsApartOnTensorAndContextParallelRanks) {
  for (const auto& m : {odd_model(8, 2, true), odd_llama(6, 3, false), odd_gpt2(5, true)}) {
    for (const std::int64_t document : {1, 4, 11}) {
      expect_split_parity({m, 2, 17, 3, document}, {{1, 2},
                                                    {1, 3},
                                                    {2, 1, SequenceParallel::on},
                                                    {2, 2, SequenceParallel::on, shape::SavedActivations::selective},
                                                    {2, 2, SequenceParallel::off}});
    }
  }
}

TEST(DecoderSplitParity, ComputingAgainWhatIsCheapChangesNoBitOnSplitRanks) {
  for (const SplitCase& c : {SplitCase{odd_model(6, 3, true), 2, 9}, SplitCase{odd_gpt2(5, true), 2, 9},
                             SplitCase{odd_qwen2(6, 3, true), 2, 9}}) {
    for (const Split& split : {Split{4, 1, SequenceParallel::on}, Split{3, 1}, Split{2, 2, SequenceParallel::on}}) {
      Split lean = split;
      lean.activations = shape::SavedActivations::selective;
      const Outcome want = run_split(c, split), got = run_split(c, lean);
      EXPECT_EQ(got.loss, want.loss);
      for (const auto& [name, gradient] : want.gradients)
        EXPECT_TRUE(at::equal(got.gradients.at(name), gradient)) << name;
    }
  }
}

TEST(DecoderSplitParity, SequenceParallelismChangesNoBitButOfTheNormsThatItSplits) {
  for (const SplitCase& c : {SplitCase{odd_model(8, 2, true), 2, 9}, SplitCase{odd_gpt2(5, true), 2, 9},
                             SplitCase{odd_qwen2(8, 2, true), 2, 9}}) {
    const Outcome whole = run_split(c, {3, 1, SequenceParallel::off});
    const Outcome split = run_split(c, {3, 1, SequenceParallel::on});
    EXPECT_EQ(split.loss, whole.loss);
    for (const auto& [name, gradient] : whole.gradients) {
      const bool norm = name.find("layernorm") != std::string::npos || name.find("ln_") != std::string::npos ||
                        name == "model.norm.weight";
      EXPECT_TRUE(norm || at::equal(split.gradients.at(name), gradient)) << name;
    }
  }
}

// Halves round every product and every sum of the stream to 8 (bf16) or 11 (fp16) bits, on one rank as on several. As a
// vector the gradient stays within eight units of that last place; the small gradients of q_norm and k_norm, differences of
// large numbers, within 40 units of their largest value.
TEST(DecoderSplitParity, HalfPrecisionStaysCloseToSinglePrecision) {
  for (const config::ModelSettings& m :
       {odd_model(8, 2, true), odd_model(8, 2, false), odd_gpt2(4, true), odd_qwen2(8, 2, true)}) {
    const SplitCase c{m, 2, 11};
    for (const auto& [precision, ulp] :
         {std::pair{config::Precision::bf16, 0x1p-8}, {config::Precision::fp16, 0x1p-11}}) {
      const auto with = [&, type = precision](Split split) {
        split.precision = type;
        return split;
      };
      expect_split_parity(c,
                          {with({1, 1}), with({1, 1, SequenceParallel::off, shape::SavedActivations::selective}),
                           with({3, 1, SequenceParallel::on}), with({2, 1}), with({1, 3}),
                           with({2, 2, SequenceParallel::on, shape::SavedActivations::selective})},
                          {ulp, 40 * ulp, 8 * ulp});
    }
  }
}

}  // namespace
}  // namespace troika::model
