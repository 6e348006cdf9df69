#include "shape/layout_test_support.h"

#include <utility>

namespace troika::shape {

config::ModelSettings narrow(bool tied) {
  config::ModelSettings m;
  m.layers = 2;
  m.hidden = 64;
  m.heads = 4;
  m.kv_heads = 2;
  m.head_dim = 24;  // heads * head_dim differs from hidden, as in some published sizes
  m.ffn = 192;
  m.vocab = 259;
  m.tie_embeddings = tied;
  return m;
}

config::ModelSettings narrow_gpt2(bool tied) {
  config::ModelSettings m = narrow(tied);
  m.architecture = config::Family::gpt2;
  m.kv_heads = m.heads;
  m.head_dim = 16;
  m.max_positions = 40;
  return m;
}

config::ModelSettings narrow_as(const std::string& architecture, bool tied) {
  config::ModelSettings m = narrow(tied);
  m.architecture = config::parse_word<config::Family>(architecture).value();
  return m;
}

std::vector<config::ModelSettings> uneven_models() {
  std::vector<config::ModelSettings> models;
  for (const auto& [heads, kv_heads] : {std::pair{8, 2}, {8, 1}, {8, 4}, {8, 8}, {6, 3}, {6, 2}, {9, 3}, {12, 3}}) {
    config::ModelSettings m = narrow(models.size() % 2 == 0);
    m.heads = heads;
    m.kv_heads = kv_heads;
    m.head_dim = 6;
    m.ffn = 191;
    models.push_back(m);
  }
  for (const std::int64_t kv_heads : {2, 3, 9}) {  // of 6, 9 and 9 query heads
    models.push_back(narrow_as("qwen2", kv_heads == 3));
    models.back().heads = kv_heads == 2 ? 6 : 9;
    models.back().kv_heads = kv_heads;
    models.back().head_dim = 6;
  }
  for (const std::int64_t heads : {6, 7}) {
    config::ModelSettings m = narrow_gpt2(heads % 2 == 0);
    m.heads = m.kv_heads = heads;
    m.head_dim = 6;
    m.hidden = heads * 6;
    m.ffn = 191;
    models.push_back(m);
  }
  return models;
}

}  // namespace troika::shape
