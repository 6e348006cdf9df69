#include "shape/published_names.h"

namespace troika::shape {

PublishedNames published_names(const config::ModelSettings& model) {
  PublishedNames names = model.architecture == config::Family::gpt2
                             ? PublishedNames{"transformer.", {".attn.bias", ".attn.masked_bias"}}
                             : PublishedNames{"model.", {"rotary_emb.inv_freq"}};
  if (model.tie_embeddings) names.passed_over.push_back("lm_head.weight");  // the embedding's table once more
  return names;
}

}  // namespace troika::shape
