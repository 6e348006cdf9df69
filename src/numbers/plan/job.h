// A run in numbers: its settings, completed by facts about the data, and the role of each rank. Everything here follows
// from settings, world size and data, is equal on every rank, and is known before any message.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "config/resolve.h"
#include "mesh/mesh.h"
#include "plan/lengths.h"
#include "plan/microbatch_sizes.h"
#include "schedule/instruction/program.h"
#include "shape/layout.h"
#include "shape/shard_plan.h"
#include "shape/segment_costs.h"
#include "shape/sum_shape.h"

namespace troika::plan {

// The facts that the data brings in.
struct DataFacts {
  std::int64_t vocab = 0;                               // of the tokenizer
  std::int64_t samples = 0;                             // of seq_len in one epoch
  std::int64_t tokens = 0;                              // 0: drawn at random, without end
  std::string fingerprint;                              // equal on hosts that hold equal data
  std::int64_t valid_samples = 0;                       // to evaluate on; 0: no evaluation
  SizesOf sizes;                                        // of microbatches; null: every sample is full
  LengthsOf lengths{};                                  // for people; null: every sample is full, or not known
};

struct Job {
  config::Resolved resolved;  // vocab, steps, warmup_steps and decay_steps written in
  DataFacts data;
  schedule::Task task = schedule::Task::training;
  mesh::Shape shape;
  shape::MicrobatchSizes sizes;
  int room = 1;  // times as many microbatches of each rank in the program as an even distribution of the step's gives
  std::int64_t steps = 0;      // of the optimizer
  bool epochs_decide = false;  // how many those are, and not train.steps
  shape::Trained trained;  // by segment; nothing in an evaluation

  const config::Settings& settings() const { return resolved.settings; }
  const config::ModelSettings& model() const { return resolved.settings.model; }
  bool trains() const { return task == schedule::Task::training; }
  std::vector<shape::ParameterInfo> trained_parameters() const;           // sorted by name
  bool freezes() const;                                                   // any segment
  bool tied() const { return model().tie_embeddings && trained.own(0); }  // two uses of a table that is trained

  config::Precision precision() const { return settings().precision.compute; }  // of parameters and activations
  std::int64_t element_bytes() const { return config::bytes_of(precision()); }
  shape::SavedActivations saved_activations() const;  // of a forward that is not computed again
  shape::OptimizerShape optimizer() const { return shape::shape_of(settings().optimizer.name); }
  shape::StatePlace state_place() const;
  shape::SequenceParallel sequence_parallel() const;

  // Properties of the rank at a coordinate.
  int replicas() const { return shape.dp * shape.cp; }
  shape::TensorShare tensor_share(const mesh::Coordinate& at) const { return {at.tp, shape.tp}; }
  shape::SumShape sum_shape(const mesh::Coordinate& at) const;  // of a buffer that one segment uses
  shape::MicrobatchRows largest_rows(const mesh::Coordinate& at) const;  // of its largest microbatch
  shape::MicrobatchRows usual_rows(const mesh::Coordinate& at) const;    // of an average one
  // Sequences with at least as many rows on every rank.
  std::vector<shape::Sequence> largest_microbatch() const;
  std::int64_t rows(const mesh::Coordinate& at) const;  // of the largest that cross a stage boundary there
  std::int64_t boundary_bytes(const mesh::Coordinate& at) const { return rows(at) * model().hidden * element_bytes(); }
};

// As Job::room, of the program of an evaluation.
int room_of_evaluation(const Job& job);

// The mesh of settings whose dp is resolved.
mesh::Shape mesh_of(const config::ParallelSettings& parallel);

// How gradients are added up where the settings promise so much.
shape::Addition addition_of(config::Reproducible promise);

// ConfigError for what does not fit together: a vocabulary smaller than the tokenizer's, more ranks than it has rows,
// more warm-up than steps.
Job training_job(const config::Resolved& resolved, const DataFacts& data);
// The job of an evaluation alone, without optimizer and gradients; recomputation and offload are ignored.
Job evaluation_job(const config::Resolved& resolved, const DataFacts& data);

}  // namespace troika::plan
