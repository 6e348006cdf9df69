// Evaluations with ranks as threads, for tests.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "data/sequence_samples.h"
#include "inference/evaluator.h"
#include "train/thread_ranks_test_support.h"

namespace troika::train {

// 11 samples of varied lengths, one longer than `seq_len`, one without a target; ids below 259; some with labels.
std::unique_ptr<data::SequenceSamples> samples_of_varied_lengths(const std::string& folder, std::int64_t seq_len);

// 60 sequences of lengths from 1 to seq_len + 3, ids below 259; every third id has no label.
std::shared_ptr<const data::Sequences> drawn_sequences(std::int64_t seq_len);
std::unique_ptr<data::SequenceSamples> packed_samples(std::int64_t seq_len);  // of these

// A sample with loss at its last positions.
struct SampleShape {
  std::int64_t positions, targets;
};
std::unique_ptr<data::SequenceSamples> samples_of(const std::vector<SampleShape>& shapes, std::int64_t seq_len);

// The plan of an evaluation of the checkpoint or run at `path` in the layout of `settings`.
plan::Plan evaluation_plan_for(const config::Settings& settings, int world, const data::Samples& samples);

struct RankEvaluation {
  inference::Evaluation evaluation;
  tensor::Ledger ledger;
};
// The means by which ranks evaluate; empty members: channels between threads, and the host.
struct Evaluating {
  MakeChannels channels;
  std::function<std::shared_ptr<tensor::Streams>(int world_rank)> streams;
};
std::vector<RankEvaluation> evaluate_on_threads(const plan::Plan& plan, const std::string& path,
                                                const data::Samples& samples,
                                                const std::vector<data::SourcePart>& sources = {},
                                                const Evaluating& evaluating = {});

}  // namespace troika::train
