#include "shape/architecture.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"

namespace troika::shape {

const Architecture& architecture_of(const config::ModelSettings& model) {
  using config::Family;
  switch (model.architecture) {
    case Family::qwen3:
      return qwen3;
    case Family::qwen2:
      return qwen2;
    case Family::llama:
      return llama;
    case Family::mistral:
      return mistral;
    case Family::gpt2:
      return gpt2;
    case Family::gemma3_text:
      return gemma3_text;
    case Family::smollm3:
      return smollm3;
    case Family::granite:
      return granite;
  }
  throw base::BugError("a model family without an architecture");
}

NormSizes norm_sizes(const Architecture& architecture, std::int64_t width) {
  if (architecture.norm == Architecture::NormKind::layer) return {2 * width, 2};  // with a bias; mean and inverse root
  return {width, 1};                                                               // the inverse root
}

double embedding_scale(const config::ModelSettings& model) {
  const double own = model.architecture == config::Family::gemma3_text ? std::sqrt(static_cast<double>(model.hidden)) : 1;
  return own * model.embedding_scale;
}

std::int64_t window_of(const config::ModelSettings& model, const BlockKind& kind) {
  return kind.attention == BlockKind::Attention::window ? model.sliding_window : 0;
}

double seen_pairs(double window, double M, double squares) {
  const double length = M > 0 ? squares / M : 0;
  return window == 0 || length <= window ? squares : M * (2 * window - window * window / length);
}

double seen_pairs(const config::ModelSettings& model, const BlockKind& kind, double M, double squares) {
  return seen_pairs(static_cast<double>(window_of(model, kind)), M, squares);
}

bool BlockKind::has(config::Projection projection) const {
  using config::Projection;
  const bool feeds_forward =
      projection == Projection::gate || projection == Projection::up || projection == Projection::down;
  return feeds_forward || attends();
}

BlockKind block_kind(const config::ModelSettings& model, int segment) {
  return architecture_of(model).block(model, segment - 1);
}

BlockKinds::BlockKinds(const config::ModelSettings& model) {
  for (int segment = 1; segment <= static_cast<int>(model.layers); ++segment) {
    const BlockKind kind = block_kind(model, segment);
    const auto found = std::find(kinds.begin(), kinds.end(), kind);
    of_block.push_back(static_cast<std::size_t>(found - kinds.begin()));
    if (found != kinds.end()) continue;
    kinds.push_back(kind);
    first.push_back(segment);
  }
}

PublishedNames published_names(const config::ModelSettings& model) {
  const bool is_gpt2 = model.architecture == config::Family::gpt2;
  PublishedNames names;
  names.prefix = is_gpt2 ? "transformer." : "model.";
  names.passed_over = is_gpt2 ? std::vector<std::string>{".attn.bias", ".attn.masked_bias"} : std::vector<std::string>{"rotary_emb.inv_freq"};
  if (model.architecture == config::Family::gemma3_text) {
    names.beginnings = {{"model.language_model.", "model."}, {"language_model.model.", "model."}, {"language_model.lm_head.", "lm_head."}};
    names.other_parts = {"vision_tower.", "model.vision_tower.", "multi_modal_projector.", "model.multi_modal_projector."};
  }
  if (model.tie_embeddings) names.passed_over.push_back("lm_head.weight");  // the embedding's table once more
  return names;
}

}  // namespace troika::shape
