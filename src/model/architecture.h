// What the members of the decoder family differ in. All are pre-norm blocks of attention and feed-forward between an
// embedding and a norm with the output projection.
// Sources: "Qwen3 Technical Report", 2025; A. Radford et al., "Language Models are Unsupervised Multitask Learners"
// (GPT-2), 2019; and the published config.json files.
#pragma once

#include <string>
#include <vector>

#include "model/layout.h"

namespace troika::model {

class LayoutBuilder;

struct Architecture {
  enum class NormKind { rms, layer } norm;
  // rotary: queries and keys are normed and turned in every block. learned: a table of vectors, added to the embedding.
  enum class Positions { rotary, learned } positions;
  enum class Activation { swiglu, gelu } activation;
  enum class WeightOrder { out_in, in_out } order;  // of the dims of a product's weight
  enum class Bias { none, everywhere } bias;        // of products and norms

  // See layout.h. What `split` lays out is what `parameters` lists, in its order.
  std::vector<ParameterInfo> (*parameters)(const config::ModelSettings& model, int segment);
  void (*split)(LayoutBuilder& builder, const config::ModelSettings& model, int segment);
  std::string (*hugging_face_config)(const config::ModelSettings& model);
};

extern const Architecture qwen3, gpt2;

// ConfigError when the name is unknown.
const Architecture& architecture_of(const config::ModelSettings& model);

}  // namespace troika::model
