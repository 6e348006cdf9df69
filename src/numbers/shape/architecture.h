// The differences between members of the decoder family. All are blocks of attention and feed-forward, of a kind each, between an
// embedding and a norm with the output projection.
// Sources: "Qwen3 Technical Report", 2025; "Qwen2.5 Technical Report", 2024; "The Llama 3 Herd of Models", 2024; A. Q.
// Jiang et al., "Mistral 7B", 2023; "Gemma 3 Technical Report", 2025; A. Radford et al., "Language Models are Unsupervised Multitask Learners"
// (GPT-2), 2019; and the published config.json files.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "config/settings/settings.h"
#include "shape/layout.h"

namespace troika::shape {

// The parts of one block of a decoder. Blocks of a model may differ: parameters, costs, saved bytes, caches and the halves that
// compute follow from the kind of each.
struct BlockKind {
  // full: each query sees every earlier position of its document. window: the last model.sliding_window of them. none: the block is
  // its feed-forward alone.
  enum class Attention { none, full, window } attention = Attention::full;
  // rotary: queries and keys are turned, by the model's table. normed_rotary: each head of them is normed before.
  enum class Rotation { none, rotary, normed_rotary } rotation = Rotation::rotary;
  // One dense network, by its activation.
  enum class FeedForward { swiglu, gelu, geglu } feed_forward = FeedForward::swiglu;
  // The norms of each half: before it, or around it, of what it reads and of what it adds to the stream.
  enum class Norms { before, around } norms = Norms::before;
  // Which of the model's rotary tables it uses: the local one has the base model.rope_local_theta.
  enum class Table { global, local } table = Table::global;

  bool attends() const { return attention != Attention::none; }
  bool rotates() const { return attends() && rotation != Rotation::none; }
  bool norms_heads() const { return attends() && rotation == Rotation::normed_rotary; }
  std::int64_t activation_inputs() const { return feed_forward == FeedForward::gelu ? 1 : 2; }  // of one output
  std::int64_t norms_of_half() const { return norms == Norms::around ? 2 : 1; }
  bool has(config::Projection projection) const;

  bool operator==(const BlockKind& other) const {
    return attention == other.attention && rotation == other.rotation && feed_forward == other.feed_forward && norms == other.norms &&
           table == other.table;
  }
};

// The kind of the block that is this segment, 1 to model.layers.
BlockKind block_kind(const config::ModelSettings& model, int segment);

// The different kinds among a model's blocks.
struct BlockKinds {
  explicit BlockKinds(const config::ModelSettings& model);
  std::vector<BlockKind> kinds;       // in the order of their first blocks
  std::vector<int> first;             // segments of those
  std::vector<std::size_t> of_block;  // which of them, by layer, from 0
};

class LayoutBuilder;

struct Architecture {
  // one_plus_rms multiplies by 1 + weight.
  enum class NormKind { rms, one_plus_rms, layer } norm;
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

extern const Architecture qwen3, qwen2, llama, mistral, gpt2, gemma3_text, smollm3, granite;

// Sizes of one norm over rows of `width`.
struct NormSizes {
  std::int64_t elements;       // of its parameters
  std::int64_t saved_per_row;  // fp32 numbers that its backward needs besides its input
};
NormSizes norm_sizes(const Architecture& architecture, std::int64_t width);

// The factor of embeddings.
double embedding_scale(const config::ModelSettings& model);

// The positions that a query sees at most; 0: all before it.
std::int64_t window_of(const config::ModelSettings& model, const BlockKind& kind);

// Twice the pairs of positions that see each other, of sequences of `M` positions whose squared lengths have the sum `squares`: that sum
// without a window (0); with one, as of sequences of their mean length, weighed by positions.
double seen_pairs(double window, double M, double squares);
double seen_pairs(const config::ModelSettings& model, const BlockKind& kind, double M, double squares);

const Architecture& architecture_of(const config::ModelSettings& model);

// The names of a model's tensors in published files, where they differ from layout.h.
struct PublishedNames {
  std::string prefix;  // of all parameters but the head; files of the model without its head leave it out
  std::vector<std::string> passed_over;  // endings of tensors that are no parameters: masks, tables of rotary positions
  // In folders of a larger model of which this is the text part: the beginnings of names in place of ours, and of its other parts.
  struct Beginning {
    std::string theirs, ours;
  };
  std::vector<Beginning> beginnings;
  std::vector<std::string> other_parts;
};

PublishedNames published_names(const config::ModelSettings& model);

}  // namespace troika::shape
