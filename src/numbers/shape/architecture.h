// What the members of the decoder family differ in. All are pre-norm blocks of attention and feed-forward, of a kind each,
// between an embedding and a norm with the output projection.
// Sources: "Qwen3 Technical Report", 2025; "Qwen2.5 Technical Report", 2024; "The Llama 3 Herd of Models", 2024; A. Q.
// Jiang et al., "Mistral 7B", 2023; A. Radford et al., "Language Models are Unsupervised Multitask Learners"
// (GPT-2), 2019; and the published config.json files.
#pragma once

#include <string>
#include <vector>

#include "shape/block_kind.h"
#include "shape/layout.h"

namespace troika::shape {

class LayoutBuilder;

struct Architecture {
  enum class NormKind { rms, layer } norm;
  // rotary: blocks turn queries and keys. learned: a table of vectors, added to the embedding.
  enum class Positions { rotary, learned } positions;
  enum class WeightOrder { out_in, in_out } order;                 // of the dims of a projection's weight
  enum class Bias { none, queries_keys_values, everywhere } bias;  // of projections; everywhere: of norms too

  BlockKind (*block)(const config::ModelSettings& model, int layer);
  // See layout.h. What `split` lays out is what `parameters` lists, in its order.
  std::vector<ParameterInfo> (*parameters)(const config::ModelSettings& model, int segment);
  void (*split)(LayoutBuilder& builder, const config::ModelSettings& model, int segment);
  std::string (*hugging_face_config)(const config::ModelSettings& model);
};

extern const Architecture qwen3, qwen2, llama, mistral, gpt2;

// Sizes of one norm over rows of `width`.
struct NormSizes {
  std::int64_t elements;       // of its parameters
  std::int64_t saved_per_row;  // fp32 numbers that its backward needs besides its input
};
NormSizes norm_sizes(const Architecture& architecture, std::int64_t width);

// ConfigError when the name is unknown.
const Architecture& architecture_of(const config::ModelSettings& model);

}  // namespace troika::shape
