#include "model/decoder_test_support.h"

#include <ATen/ATen.h>

#include <iterator>

#include "base/random.h"
#include "model/decoder.h"

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

std::vector<Stage> make_stages(const config::ModelSettings& model, std::int64_t positions, const std::vector<int>& cuts,
                               const c10::Device& device) {
  auto segments = make_segments(model, positions, device);
  std::vector<Stage> stages;
  for (std::size_t i = 0; i + 1 < cuts.size(); ++i) {
    std::vector<std::unique_ptr<Segment>> own(std::make_move_iterator(segments.begin() + cuts[i]),
                                              std::make_move_iterator(segments.begin() + cuts[i + 1]));
    stages.emplace_back(stage_layout(model, cuts[i], cuts[i + 1]), std::move(own), device);
    initialise(stages.back(), 7, model.init_std);
  }
  return stages;
}

Tokens make_tokens(const config::ModelSettings& model, std::int64_t B, std::int64_t T, std::int64_t silent,
                   const c10::Device& device) {
  const base::Philox random(3, "tokens");
  const at::Tensor ids = at::empty({B * T}, at::kLong), targets = at::empty({B * T}, at::kLong);
  for (std::int64_t i = 0; i < B * T; ++i) {
    const auto index = static_cast<std::uint64_t>(2 * i), V = static_cast<std::uint64_t>(model.vocab);
    ids.data_ptr<std::int64_t>()[i] = static_cast<std::int64_t>(random.bits(index) % V);
    targets.data_ptr<std::int64_t>()[i] = static_cast<std::int64_t>(random.bits(index + 1) % V);
    if (silent > 0 && i % silent == 0) targets.data_ptr<std::int64_t>()[i] = -100;
  }
  Tokens tokens;
  tokens.ids_M = ids.to(device);
  tokens.targets_M = targets.to(device);
  tokens.B = B;
  tokens.T = T;
  return tokens;
}

Gradients forward_backward(const std::vector<Stage>& stages, const Tokens& tokens, double filler) {
  Gradients gradients;
  std::vector<StageResult> results;
  at::Tensor x_MD, d_MD;
  for (const Stage& stage : stages) {
    results.push_back(stage.forward(x_MD, tokens, Keep::for_backward));
    x_MD = results.back().y_MD;
    gradients.loss.loss += results.back().loss.loss;
    gradients.loss.tokens += results.back().loss.tokens;
  }
  gradients.leaves.resize(stages.size());
  for (std::size_t i = stages.size(); i-- > 0;) {
    d_MD = stages[i].backward_input(d_MD, tokens, results[i]);
    gradients.leaves[i] = at::full({stages[i].layout().gradient_elements}, filler, stages[i].parameters().options());
    stages[i].backward_weight(gradients.leaves[i], tokens, results[i]);
  }
  return gradients;
}

at::Tensor gradient_of(const std::vector<Stage>& stages, const Gradients& gradients, const std::string& name) {
  at::Tensor sum;
  const auto add = [&](const at::Tensor& part) { sum = sum.defined() ? sum + part : part; };
  for (std::size_t i = 0; i < stages.size(); ++i) {
    const StageLayout& layout = stages[i].layout();
    for (const Slot& slot : layout.slots) {
      if (slot.info.name == name) add(stages[i].view(gradients.leaves[i], slot));
    }
    if (name == embedding_name && layout.tied_use >= 0 && !layout.tied_copy) {  // the second use has no slot here
      Slot second = layout.slots.front();
      second.offset = layout.tied_use;
      add(stages[i].view(gradients.leaves[i], second));
    }
  }
  return sum;
}

}  // namespace troika::model
