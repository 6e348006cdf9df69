#include "model/decoder_test_support.h"

#include <gtest/gtest.h>

#include "base/random.h"
#include "tensor/libtorch_test_support.h"

namespace troika::model {

config::ModelSettings small_model(bool tied) {
  config::ModelSettings m;
  m.layers = 4;
  m.hidden = 64;
  m.heads = 4;
  m.kv_heads = 2;
  m.head_dim = 16;
  m.ffn = 192;
  m.vocab = 259;
  m.tie_embeddings = tied;
  return m;
}

config::ModelSettings small_gpt2(bool tied) {
  config::ModelSettings m = small_model(tied);
  m.architecture = config::Family::gpt2;
  m.kv_heads = m.heads;
  m.max_positions = 40;
  m.norm_eps = 1e-5;
  return m;
}

config::ModelSettings small_qwen2(bool tied) {
  config::ModelSettings m = small_model(tied);
  m.architecture = config::Family::qwen2;
  return m;
}

config::ModelSettings small_llama(bool tied) {
  config::ModelSettings m = small_model(tied);
  m.architecture = config::Family::llama;
  m.rope_theta = 1e4;
  m.rope_scaling = config::RopeScaling::llama3;
  m.rope_original_positions = 40;  // wavelengths: 6, 20, 63, ... positions
  m.norm_eps = 1e-5;
  return m;
}

config::ModelSettings small_mistral(bool tied) {
  config::ModelSettings m = small_model(tied);
  m.architecture = config::Family::mistral;
  m.rope_scaling = config::RopeScaling::linear;
  m.rope_factor = 2.5;
  return m;
}

config::ModelSettings small_gemma(bool tied) {
  config::ModelSettings m = small_model(tied);
  m.architecture = config::Family::gemma3_text;
  m.layer_types = "wwf";
  m.sliding_window = 5;
  m.rope_local_theta = 300;
  m.rope_scaling = config::RopeScaling::linear;
  m.rope_factor = 2.5;
  m.attention_scale = 0.3;
  return m;
}

config::ModelSettings small_smollm3(bool tied) {
  config::ModelSettings m = small_model(tied);
  m.architecture = config::Family::smollm3;
  m.rope_scaling = config::RopeScaling::yarn;
  m.rope_theta = 500;
  m.rope_original_positions = 64;
  m.rope_beta_fast = 8;
  m.layer_types = "fwn";
  m.sliding_window = 7;
  return m;
}

config::ModelSettings small_granite(bool tied) {
  config::ModelSettings m = small_model(tied);
  m.architecture = config::Family::granite;
  m.attention_scale = 0.1;
  m.embedding_scale = 12;
  m.residual_scale = 0.22;
  m.logits_divisor = 3;
  return m;
}

std::vector<config::ModelSettings> small_models() {
  return {small_model(true), small_model(false), small_gpt2(true),    small_gpt2(false),
          small_qwen2(true), small_llama(false), small_mistral(false), small_gemma(true),  small_gemma(false),
          small_smollm3(true), small_granite(false)};
}

Decoder::Options options_for(std::int64_t seq_len, const tensor::Device& device) {
  Decoder::Options options;
  options.seq_len = seq_len;
  options.device = device;
  return options;
}

std::vector<Decoder> make_decoders(const config::ModelSettings& model, const std::vector<int>& cuts,
                                   const Decoder::Options& options) {
  std::vector<Decoder> decoders;
  for (std::size_t i = 0; i + 1 < cuts.size(); ++i) {
    decoders.emplace_back(model, cuts[i], cuts[i + 1], options);
    decoders.back().initialise(7, model.init_std);
  }
  return decoders;
}

// The slot's elements within the whole tensor.
static at::Tensor elements_of(const at::Tensor& whole, const shape::Region& r) {
  return whole.view({-1}).as_strided({r.count, r.run}, {r.stride, 1}, r.offset);
}

void perturb_vectors(const std::vector<Decoder>& decoders) {
  for (const Decoder& decoder : decoders) {
    for (std::size_t i = 0; i < decoder.layouts().size(); ++i) {
      for (const shape::Slot& slot : decoder.layouts()[i].slots) {
        if (slot.info.init == shape::ParameterInfo::Init::normal) continue;
        const at::Tensor noise = at::empty(slot.info.shape, at::kFloat);
        base::Philox(5, slot.info.name).fill_normal(0, noise.numel(), noise.data_ptr<float>());
        const at::Tensor own = elements_of(noise.mul_(0.2), slot.region).flatten();
        const tensor::Tensor to = Decoder::view(decoder.parameters()[i], slot), moved = to.cpu();
        tensor::theirs(moved).add_(own);
        to.copy_from(moved);
      }
    }
  }
}

shape::MicrobatchRows rows_of(const Tokens& tokens) {
  shape::MicrobatchRows rows(tokens.M);
  const auto* const target = tokens.targets_M.data<std::int64_t>();
  rows.with_loss = std::count_if(target, target + tokens.M, [](std::int64_t one) { return one >= 0; });
  return rows;
}

Tokens make_tokens(const config::ModelSettings& model, std::int64_t B, std::int64_t T, std::int64_t silent,
                   const tensor::Device& device) {
  sharding::Sequences sequences;
  for (std::int64_t b = 0; b < B; ++b) sequences.push_back({T, b, 0});
  Tokens tokens = lay_out(std::move(sequences), sharding::ContextGroup(), device);
  tokens.loss_rows = B * T;
  const base::Philox random(3, "tokens");
  const at::Tensor ids = at::zeros({tokens.M}, at::kLong), targets = at::full({tokens.M}, -100, at::kLong);
  for (std::int64_t i = 0; i < B * T; ++i) {
    const auto index = static_cast<std::uint64_t>(2 * i), V = static_cast<std::uint64_t>(model.vocab);
    ids.data_ptr<std::int64_t>()[i] = static_cast<std::int64_t>(random.bits(index) % V);
    targets.data_ptr<std::int64_t>()[i] = static_cast<std::int64_t>(random.bits(index + 1) % V);
    if (silent > 0 && i % silent == 0) targets.data_ptr<std::int64_t>()[i] = -100;
  }
  tokens.ids_M = tensor::ours(ids).to(device);
  tokens.targets_M = tensor::ours(targets).to(device);
  return tokens;
}

Tokens with_sequences(const Tokens& tokens, sharding::Sequences sequences) {
  Tokens other = lay_out(std::move(sequences), sharding::ContextGroup(), tokens.ids_M.device());
  other.ids_M = tokens.ids_M;
  other.targets_M = tokens.targets_M;
  other.loss_rows = tokens.loss_rows;
  return other;
}

Tokens with_documents(const Tokens& tokens, std::int64_t length) {
  sharding::Sequences pieces;
  for (std::size_t b = 0; b < tokens.sequences.size(); ++b) {
    std::int64_t offset = 0, next = std::max<std::int64_t>(1, length - static_cast<std::int64_t>(b));
    for (; offset < tokens.sequences[b].length; offset += pieces.back().length, next = length)
      pieces.push_back({std::min(next, tokens.sequences[b].length - offset), tokens.sequences[b].sample, offset});
  }
  return with_sequences(tokens, std::move(pieces));
}

Gradients forward_backward(const std::vector<Decoder>& decoders, const Tokens& tokens, double filler,
                           shape::SavedActivations activations) {
  Gradients gradients;
  std::vector<DecoderResult> results;
  tensor::Tensor x_mD, d_mD;
  for (const Decoder& decoder : decoders) {
    results.push_back(decoder.forward(x_mD, tokens, activations));
    x_mD = results.back().y_mD;
    gradients.loss.loss += results.back().loss.loss;
    gradients.loss.tokens += results.back().loss.tokens;
  }
  gradients.leaves.resize(decoders.size());
  for (std::size_t i = decoders.size(); i-- > 0;) {
    d_mD = decoders[i].backward_input(d_mD, tokens, results[i]);
    const std::vector<tensor::Tensor> leaves = decoders[i].new_gradients();
    for (const tensor::Tensor& leaf : leaves) leaf.fill(filler);
    decoders[i].backward_weight(leaves, tokens, results[i]);
    for (const tensor::Tensor& leaf : leaves) gradients.leaves[i].push_back(leaf.cpu());
  }
  return gradients;
}

void WholeTensors::place(const shape::SegmentLayout& layout, const at::Tensor& flat) {
  for (const shape::Slot& slot : layout.slots) {
    const std::string& name = slot.info.name;
    whole_.emplace(name, at::empty(slot.info.shape, flat.options()));
    placed_.emplace(name, at::zeros(slot.info.shape, at::kLong));
    at::Tensor to = elements_of(whole_.at(name), slot.region), times = elements_of(placed_.at(name), slot.region);
    const at::Tensor own = flat.narrow(0, slot.offset, slot.elements()).view({slot.region.count, slot.region.run});
    const bool again = (times > 0).all().item<bool>();
    EXPECT_TRUE(!again || at::equal(to, own)) << name;
    to.copy_(own);
    times.add_(1);
  }
}

void WholeTensors::expect_complete() const {
  for (const auto& [name, times] : placed_) EXPECT_TRUE((times > 0).all().item<bool>()) << name;
}

std::map<std::string, at::Tensor> gradients_by_name(const std::vector<RankGradients>& ranks) {
  WholeTensors first, second;
  for (const RankGradients& rank : ranks) {
    for (std::size_t d = 0; d < rank.decoders->size(); ++d) {
      const auto& layouts = (*rank.decoders)[d].layouts();
      for (std::size_t i = 0; i < layouts.size(); ++i) {
        const bool tied_use = i > 0 && layouts[i].segment == 0;
        (tied_use ? second : first).place(layouts[i], rank.gradients->leaves[d][i]);
      }
    }
  }
  first.expect_complete();
  std::map<std::string, at::Tensor> sum = first.by_name();
  for (const auto& [name, gradient] : second.by_name()) sum[name] = sum.at(name) + gradient;
  return sum;
}

std::map<std::string, at::Tensor> gradients_by_name(const std::vector<Decoder>& decoders, const Gradients& gradients) {
  return gradients_by_name({{&decoders, &gradients}});
}

std::map<std::string, at::Tensor> parameters_by_name(const std::vector<Decoder>& decoders) {
  WholeTensors whole;
  for (const Decoder& decoder : decoders) {
    for (std::size_t i = 0; i < decoder.layouts().size(); ++i)
      whole.place(decoder.layouts()[i], decoder.parameters()[i].cpu());
  }
  whole.expect_complete();
  return whole.by_name();
}

double relative_error(const at::Tensor& got, const at::Tensor& want) {
  const at::Tensor exact = want.cpu().to(at::kDouble), difference = got.cpu().to(at::kDouble) - exact;
  return difference.abs().max().item<double>() / exact.abs().max().item<double>();
}

}  // namespace troika::model
