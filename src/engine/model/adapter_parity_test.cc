// Blocks with adapters, on one rank and split over several, against the reference in double with autograd, whose
// weights are W + scale * B A; and what each segment holds meanwhile against what is foretold.
#include <gtest/gtest.h>

#include <cmath>
#include <exception>
#include <thread>

#include "comm/threads_channel_test_support.h"
#include "kernels/rows.h"
#include "model/decoder_test_support.h"
#include "model/projection.h"
#include "model/reference_test_support.h"
#include "config/lora.h"
#include "shape/adapter.h"
#include "tensor/libtorch_test_support.h"

namespace troika::model {
namespace {

using shape::SequenceParallel;
using Tensors = std::map<std::string, at::Tensor>;

constexpr std::int64_t adapter_seq_len = 9;

shape::Trained adapters_of(const config::ModelSettings& model, const std::string& targets) {
  shape::Trained trained;
  trained.segments.assign(static_cast<std::size_t>(shape::segment_count(model)), false);
  trained.lora.rank = 3;
  trained.lora.alpha = 5;
  trained.lora.targets = targets;
  return trained;
}

// The scale of the parameter "model.layers.0.self_attn.q_proj.lora_A.weight", or of the stem before "lora_A.weight".
double scale_of(const shape::Trained& trained, const std::string& parameter) {
  return config::adapter_size(trained.lora, config::adapted_module(parameter.substr(0, parameter.rfind("proj") + 4)).value())
      .scale;
}

at::Tensor elements_of(const at::Tensor& whole, const shape::Region& r) {
  return whole.view({-1}).as_strided({r.count, r.run}, {r.stride, 1}, r.offset);
}

// B, which begins at 0, drawn like the rest.
at::Tensor drawn(const shape::SegmentLayout& layout) {
  const at::Tensor flat = at::empty({layout.elements}, at::kFloat);
  for (const shape::Slot& slot : layout.slots) {
    const at::Tensor whole = at::empty(slot.info.shape, at::kFloat);
    base::Philox(5, slot.info.name).fill_normal(0, whole.numel(), whole.data_ptr<float>());
    flat.narrow(0, slot.offset, slot.elements()).copy_(elements_of(whole.mul_(0.2), slot.region).flatten());
  }
  return flat;
}

struct AdapterRank {
  double loss = 0;
  std::vector<shape::SegmentLayout> layouts;  // of the adapters, by block
  std::vector<at::Tensor> gradients;
  std::exception_ptr error;
};

struct AdapterCase {
  config::ModelSettings model;
  std::string targets = "all";
  std::string ranks = "", alphas = "";  // patterns
  shape::SavedActivations activations = shape::SavedActivations::all;
  SequenceParallel sequence = SequenceParallel::off;
};

shape::Trained adapters_of(const AdapterCase& c) {
  shape::Trained trained = adapters_of(c.model, c.targets);
  trained.lora.rank_pattern = c.ranks;
  trained.lora.alpha_pattern = c.alphas;
  trained.lora.rslora = !c.alphas.empty();
  return trained;
}

void run_adapter_rank(const AdapterCase& c, comm::Channel& channel, AdapterRank& rank) {
  const shape::Trained trained = adapters_of(c);
  const sharding::TensorGroup tensor(channel, c.sequence);
  Decoder::Options options = options_for(adapter_seq_len);
  options.parallel = {&tensor, nullptr};
  const auto decoders = make_decoders(c.model, {0, shape::segment_count(c.model)}, options);
  perturb_vectors(decoders);
  const auto segments = make_segments(c.model, adapter_seq_len, tensor::Device(), options.parallel, {}, trained);
  const Tokens tokens = make_tokens(c.model, 2, adapter_seq_len, 3, tensor::Device());
  const shape::SavedBytes foretold = shape::segment_saved_bytes(
      c.model, {rows_of(tokens), options.parallel.share(), c.sequence}, c.activations, trained);
  std::vector<SegmentBuffer> buffers;
  std::vector<std::unique_ptr<Saved>> saved;
  at::Tensor x, d;
  for (std::size_t g = 0; g < segments.size(); ++g) {
    const shape::SegmentLayout layout =
        shape::adapter_layout(c.model, trained.lora, static_cast<int>(g), options.parallel.share());
    const bool tied = c.model.tie_embeddings && g + 1 == segments.size();
    buffers.push_back({decoders[0].parameters()[g], tied ? decoders[0].parameters()[0] : tensor::Tensor(), drawn(layout)});
    ForwardResult result = segments[g]->forward(buffers[g], x, tokens, c.activations);
    x = result.y_mD;
    if (result.loss_2.defined()) rank.loss += kernels::read_loss(result.loss_2).loss;
    saved.push_back(std::move(result.saved));
    if (g > 0) {
      EXPECT_EQ(saved[g]->bytes(), foretold.whole[g]) << g;
    }
    rank.layouts.push_back(layout);
    rank.gradients.push_back(at::full({layout.elements}, 42.0f));
  }
  for (std::size_t g = segments.size() - 1; g > 0; --g) {
    d = segments[g]->backward_input(buffers[g], d, tokens, *saved[g]);
    EXPECT_EQ(saved[g]->bytes(), foretold.half[g]) << g;
    sharding::FlatLeaf leaf(rank.gradients[g]);
    if (g + 1 < segments.size()) segments[g]->backward_weight({nullptr, nullptr, &leaf}, tokens, *saved[g]);
  }
}

std::vector<AdapterRank> run_adapter_split(const AdapterCase& c, int tp) {
  const auto channels = comm::make_thread_channels(tp, "tp", 60);
  std::vector<AdapterRank> ranks(static_cast<std::size_t>(tp));
  std::vector<std::thread> threads;
  for (std::size_t r = 0; r < ranks.size(); ++r) {
    threads.emplace_back([&, r] {
      try {
        run_adapter_rank(c, *channels[r], ranks[r]);
      } catch (...) {
        ranks[r].error = std::current_exception();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const AdapterRank& rank : ranks) {
    if (rank.error != nullptr) std::rethrow_exception(rank.error);
  }
  return ranks;
}

struct AdapterExpected {
  double loss = 0;
  Tensors adapters;  // with gradients
  // For A, B^T dW, and for B, dW A^T, times the scale: the largest sum of the magnitudes that are added up for an
  // element, which is what rounding is in proportion to where they cancel.
  std::map<std::string, double> terms;
};

AdapterExpected expected(const AdapterCase& c) {
  const shape::Trained trained = adapters_of(c);
  const auto decoders = make_decoders(c.model, {0, shape::segment_count(c.model)}, options_for(adapter_seq_len));
  perturb_vectors(decoders);
  Weights weights;
  for (const auto& [name, value] : parameters_by_name(decoders)) weights.emplace(name, value.to(at::kDouble));
  AdapterExpected e;
  WholeTensors whole;
  for (int segment = 1; segment <= c.model.layers; ++segment) {
    const shape::SegmentLayout layout = shape::adapter_layout(c.model, trained.lora, segment);
    whole.place(layout, drawn(layout));
  }
  for (const auto& [name, value] : whole.by_name())
    e.adapters.emplace(name, value.to(at::kDouble).clone().set_requires_grad(true));
  const std::string a = "lora_A.weight";
  Tensors merged;
  for (const auto& [name, value] : e.adapters) {
    if (name.find(a) == std::string::npos) continue;
    const std::string stem = name.substr(0, name.size() - a.size());
    at::Tensor& w = weights.at(stem + "weight");
    w = w + at::matmul(e.adapters.at(stem + "lora_B.weight"), value) * scale_of(trained, name);
    w.retain_grad();
    merged.emplace(stem, w);
  }
  const Tokens tokens = make_tokens(c.model, 2, adapter_seq_len, 3, tensor::Device());
  const at::Tensor sum = reference_loss_sum(c.model, weights, tokens.ids_M.view({2, adapter_seq_len}),
                                            tokens.targets_M.view({2, adapter_seq_len}));
  e.loss = sum.item<double>();
  reference_backward(sum / static_cast<double>(2 * adapter_seq_len));
  for (const auto& [stem, w] : merged) {
    const std::string A = stem + "lora_A.weight", B = stem + "lora_B.weight";
    const at::Tensor dw = w.grad().abs() * scale_of(trained, A);
    e.terms[A] = at::matmul(e.adapters.at(B).detach().abs().t(), dw).max().item<double>();
    e.terms[B] = at::matmul(dw, e.adapters.at(A).detach().abs().t()).max().item<double>();
  }
  return e;
}

// Errors in units of a tensor's terms. Most tensors' are a few roundings; some get more, through softmax, whose differences of larger
// numbers are not among their terms.
void expect_adapter_parity(const AdapterCase& c, const std::vector<int>& splits) {
  const AdapterExpected want = expected(c);
  for (const int tp : splits) {
    const std::vector<AdapterRank> ranks = run_adapter_split(c, tp);
    WholeTensors got;
    for (const AdapterRank& rank : ranks) {
      EXPECT_NEAR(rank.loss, want.loss, 1e-5 * want.loss);
      for (std::size_t g = 0; g < rank.layouts.size(); ++g) got.place(rank.layouts[g], rank.gradients[g]);
    }
    got.expect_complete();
    EXPECT_EQ(got.by_name().size(), want.adapters.size());
    double total = 0;
    for (const auto& [name, adapter] : want.adapters) {
      const at::Tensor error = (got.by_name().at(name).to(at::kDouble) - adapter.grad()).abs();
      const double relative = error.max().item<double>() / want.terms.at(name);
      EXPECT_LT(relative, 1.2e-5) << name << ", tp " << tp;
      total += relative;
    }
    EXPECT_LT(total / static_cast<double>(want.adapters.size()), 1.5e-6) << "tp " << tp;
  }
}

TEST(AdapterParity, EveryTargetOfEveryFamilyOnOneTwoAndThreeRanks) {
  for (const config::ModelSettings& model : {small_model(true), small_qwen2(false), small_llama(false)}) {
    expect_adapter_parity({model}, {1, 2, 3});
    expect_adapter_parity({model, "all", "", "", shape::SavedActivations::selective, SequenceParallel::on}, {2});
  }
}

TEST(AdapterParity, SomeTargets) {
  expect_adapter_parity({small_model(true), "k_proj"}, {1, 3});
  expect_adapter_parity({small_model(true), "q_proj,v_proj,down_proj"}, {1, 2});
  expect_adapter_parity({small_model(false), "o_proj,up_proj", "", "", shape::SavedActivations::selective}, {1, 2});
}

TEST(AdapterParity, RanksAndScalesOfTheirOwn) {
  expect_adapter_parity({small_model(true), "all", "q_proj:1,layers.1.v_proj:5,up_proj:2"}, {1, 2});
  expect_adapter_parity({small_llama(false), "all", "k_proj:4", "k_proj:1,layers.0.gate_proj:9,o_proj:2"}, {1, 2});
}

// y, or dx, as its projection adds them to 0.
tensor::Tensor sum_of(const kernels::ColumnProducts& products, std::int64_t columns) {
  const tensor::Tensor zero_MI = tensor::zeros({products.front().a_MK.size(0), 1}), zero_IO = tensor::zeros({1, columns});
  return kernels::linear_backward_input(zero_MI, zero_IO, products);
}

TEST(AdapterParity, GradientsWithDropoutAgreeWithAutograd) {
  const config::ModelSettings model = small_model(true);
  shape::Trained trained = adapters_of(model, "gate_proj,up_proj");
  trained.lora.dropout = 0.3;
  const LowRank adapters(model, trained, shape::FusedProjection::feed_forward_input, 2, groups_of({}));
  const std::int64_t I = model.hidden, F = model.ffn, rank = trained.lora.rank;
  Tokens tokens = make_tokens(model, 2, adapter_seq_len, 0, tensor::Device());
  tokens.step = 4;
  for (shape::Sequence& sequence : tokens.sequences) sequence.sample += 11;
  const at::Tensor w = at::randn({adapters.elements()}), x = at::randn({2 * adapter_seq_len, I}),
                   dy = at::randn({2 * adapter_seq_len, 2 * F});
  const at::Tensor dw = at::full_like(w, 42);
  LowRankSaved saved;
  const at::Tensor y = sum_of(adapters.forward(w, x, tokens, saved), 2 * F);
  const at::Tensor dx = adapters.dropped(sum_of(adapters.backward_input(w, dy, saved), I), tokens);
  adapters.backward_weight({dw}, dy, x, tokens, saved);

  // The first column of dx tells the mask apart from the product: an element dropped has no gradient.
  const at::Tensor W = w.to(at::kDouble).set_requires_grad(true), X = x.to(at::kDouble).set_requires_grad(true);
  const at::Tensor mask = (dx != 0).to(at::kDouble) / (1 - trained.lora.dropout);
  EXPECT_NEAR((dx == 0).to(at::kDouble).mean().item<double>(), 0.3, 0.05);
  const at::Tensor h = at::matmul(X * mask, W.narrow(0, 0, 2 * rank * I).view({2 * rank, I}).t());
  const auto b = W.narrow(0, 2 * rank * I, 2 * F * rank).view({2, F, rank});
  const at::Tensor want =
      at::cat({at::matmul(h.narrow(1, 0, rank), b[0].t()), at::matmul(h.narrow(1, rank, rank), b[1].t())}, 1) *
      config::usual_size(trained.lora).scale;
  reference_backward((want * dy.to(at::kDouble)).sum());
  EXPECT_LT(relative_error(y, want.detach()), 1e-5);
  EXPECT_LT(relative_error(dx, X.grad()), 1e-5);
  EXPECT_LT(relative_error(dw, W.grad()), 1e-5);
  tokens.step = 0;
  EXPECT_FALSE(adapters.drops(tokens));
  const at::Tensor all = adapters.dropped(sum_of(adapters.backward_input(w, dy, saved), I), tokens);
  EXPECT_EQ((all == 0).sum().item<std::int64_t>(), 0) << "nothing is dropped in an evaluation";
}

TEST(AdapterParity, ABeginsUniformWithinItsBoundAndBAtZero) {
  const config::ModelSettings model = small_model(true);
  const shape::SegmentLayout layout = shape::adapter_layout(model, adapters_of(model, "all").lora, 1);
  const at::Tensor flat = at::full({layout.elements}, 42.0f);
  initialise(layout, flat, 3, model.init_std);
  for (const shape::Slot& slot : layout.slots) {
    const at::Tensor own = flat.narrow(0, slot.offset, slot.elements());
    const bool a = slot.info.name.find("lora_A") != std::string::npos;
    const double bound = a ? 1 / std::sqrt(static_cast<double>(slot.info.shape[1])) : 0;
    EXPECT_LE(own.abs().max().item<double>(), bound) << slot.info.name;
    EXPECT_GE(own.max().item<double>(), 0.9 * bound) << slot.info.name;
    EXPECT_LE(own.min().item<double>(), -0.9 * bound) << slot.info.name;
  }
}

}  // namespace
}  // namespace troika::model
