// The parameters of a decoder, under their Hugging Face names, and where a rank keeps its part of them in flat buffers.
// Segments: 0 = embedding, 1..layers = blocks, layers + 1 = final norm and head.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "config/settings/settings.h"
#include "shape/region.h"

namespace troika::shape {

struct ParameterInfo {
  std::string name;  // "model.layers.0.self_attn.q_proj.weight"
  std::vector<std::int64_t> shape;
  enum class Init { normal, uniform, ones, zeros } init = Init::normal;
  bool decays = true;           // weight decay applies (matrices yes, norms and biases no)
  double init_scale = 1;        // of a normal: the factor on model.init_std; of a uniform: its bound
  bool looked_up_only = false;  // rows are picked and added to, never multiplied
  std::int64_t elements() const;
};

int segment_count(const config::ModelSettings& model);

// The parameters of one segment in buffer order: rows that one GEMM reads are adjacent (q, k, v; gate, up), and the embedding's
// table [V, D] comes first. The head of a tied model does not list the table: see tied_layout.
std::vector<ParameterInfo> segment_parameters(const config::ModelSettings& model, int segment);

// Every parameter once, sorted by name: the order in which the gradient norm is summed.
std::vector<ParameterInfo> all_parameters(const config::ModelSettings& model);
std::int64_t parameter_count(const config::ModelSettings& model);

// The part of a block, the head and the embedding that a tp rank holds: query heads evenly; the key/value heads that those read, so
// several ranks may hold one; feed-forward and vocabulary evenly.
struct LocalWidths {
  Range heads, kv_heads, ffn, vocab;
};
LocalWidths local_widths(const config::ModelSettings& model, const TensorShare& share);
// The key/value head, among the local ones, that each local query head reads.
std::vector<std::int64_t> kv_of_head(const config::ModelSettings& model, const LocalWidths& local);

// The part of the gradient of a slot that each of several holders finds by itself: all of it, or a summand, of the rows that it
// keeps between split operations (without sequence parallelism these are all rows), of its query heads, or of its part of a
// projection's inputs or outputs.
enum class Found { whole, of_own_rows, of_own_heads, of_own_part };

// Elements of one parameter that the same tp ranks hold.
struct Slot {
  ParameterInfo info;       // of the whole tensor
  Region region;            // the part of it here: whole rows, or one range of columns or several equal ones
  std::int64_t offset = 0;  // in the segment's flat buffer, elements
  int first_holder = 0, end_holder = 1;  // the tp ranks that hold exactly these elements: [first, end)
  Found found = Found::whole;
  std::int64_t elements() const { return region.elements(); }
  // Several ranks hold it, and each may find a summand of its gradient only.
  bool found_in_parts() const { return end_holder - first_holder > 1 && found != Found::whole; }
};
// {rows, columns} of a matrix's slot, {elements} of a vector's: the shape of its elements in the flat buffer.
std::vector<std::int64_t> local_shape(const Slot& slot);

// One segment's flat buffers: parameters, gradients and optimizer state have equal offsets.
struct SegmentLayout {
  int segment = 0;
  std::vector<Slot> slots;  // by offset, without gaps
  std::int64_t elements = 0;
  // Elements of the gradient that backward makes before any is added to a sum; and where products add to the sum itself.
  std::int64_t largest_piece = 0, largest_held_piece = 0;
};
// The gradient of a table is computed in pieces of so many rows, which fit into caches.
std::int64_t rows_of_table_piece(std::int64_t width);

// q, k, v rows are adjacent, gate and up too: one GEMM reads them. A parameter may have several slots, ascending in the
// parameter: key/value heads are cut where their holders change.
SegmentLayout segment_layout(const config::ModelSettings& model, int segment, const TensorShare& share = {});

// The table of a tied embedding as the head uses it, in the embedding's buffer or in a copy on another rank. The slots are
// those of segment 0, also what is behind the table there, so that both buffers are sharded over replicas alike; the
// head's gradient of the rest is zero.
SegmentLayout tied_layout(const config::ModelSettings& model, const TensorShare& share = {});

// The model's config.json as Hugging Face's tools read it.
std::string hugging_face_config(const config::ModelSettings& model);

// The part of a model that a run trains, as its segments and their costs need to know it.
struct Trained {
  std::vector<bool> segments;  // by segment: whether its own parameters have gradients; empty: all
  config::LoraSettings lora;   // adapters beside the projections of every block, where rank is above 0
  std::uint64_t seed = 0;      // of their dropout
  config::Loss loss = config::Loss::cross_entropy;

  bool own(int segment) const { return segments.empty() || segments[static_cast<std::size_t>(segment)]; }
};

// The vocabulary of a model whose tokenizer has so many tokens: a multiple of 64.
constexpr std::int64_t padded_vocabulary(std::int64_t tokens) { return (tokens + 63) / 64 * 64; }

}  // namespace troika::shape
