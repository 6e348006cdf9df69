// What parameters a decoder has, under their Hugging Face names, and where a stage keeps them in its flat buffers.
// Segments: 0 = embedding, 1..layers = blocks, layers + 1 = final norm and head.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "config/settings.h"

namespace troika::model {

struct ParameterInfo {
  std::string name;  // "model.layers.0.self_attn.q_proj.weight"
  std::vector<std::int64_t> shape;
  enum class Init { normal, ones } init = Init::normal;
  bool decays = true;  // weight decay applies (matrices yes, norms no)
  std::int64_t elements() const;
};

int segment_count(const config::ModelSettings& model);

// The parameters of one segment in buffer order: rows that one GEMM reads are adjacent (q, k, v; gate, up). The head of
// a tied model does not list the embedding: see StageLayout::tied_use.
std::vector<ParameterInfo> segment_parameters(const config::ModelSettings& model, int segment);

// Every parameter once, sorted by name: the order in which the gradient norm is summed.
std::vector<ParameterInfo> all_parameters(const config::ModelSettings& model);
std::int64_t parameter_count(const config::ModelSettings& model);

extern const char* const embedding_name;  // "model.embed_tokens.weight"

struct Slot {
  ParameterInfo info;
  std::int64_t offset = 0;  // in the stage's flat buffers, elements
  int segment = 0;
};

// One stage's flat buffers: parameters (and Adam state) of `parameter_elements`, gradients of `gradient_elements`,
// equal offsets.
//
// A tied embedding has two uses, each with a gradient of its own. On the stage of the head the second use stands at
// `tied_use`; when that stage does not hold the embedding too, `tied_use` is also a copy of the parameter (slot
// `tied_copy`).
struct StageLayout {
  int first_segment = 0, end_segment = 0;   // [first, end)
  std::vector<Slot> slots;                  // by offset; a tied copy is the last one
  std::vector<std::int64_t> segment_begin;  // offset where each segment's parameters start; one more: the end
  std::int64_t parameter_elements = 0;
  std::int64_t gradient_elements = 0;
  std::int64_t tied_use = -1;        // -1: no second use here
  std::int64_t tied_parameter = -1;  // where the head reads the table: the embedding's slot or the copy
  bool tied_copy = false;            // the last slot repeats a parameter that another stage owns
};
StageLayout stage_layout(const config::ModelSettings& model, int first_segment, int end_segment);

// Seconds of one forward in arbitrary units (multiply-adds per token), for splitting the segments into stages by cost.
std::vector<double> segment_costs(const config::ModelSettings& model, std::int64_t seq_len);

// What each segment's forward keeps for its backward, in bytes, for B sequences of T positions: the sum of the Saved structs.
std::vector<std::int64_t> segment_saved_bytes(const config::ModelSettings& model, std::int64_t B, std::int64_t T);

// The model's config.json as Hugging Face's tools read it.
std::string hugging_face_config(const config::ModelSettings& model);

}  // namespace troika::model
