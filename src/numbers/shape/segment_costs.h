// The costs of each segment of a model in time and, between forward and backward, in memory.
#pragma once

#include <cstdint>
#include <vector>

#include "base/exact_math.h"
#include "config/settings/settings.h"
#include "shape/architecture.h"
#include "shape/region.h"
#include "shape/layout.h"

namespace troika::shape {

// The lowest segment with something to train: its own parameters or adapters.
int first_trained_segment(const config::ModelSettings& model, const Trained& trained);

// Seconds of one microbatch in arbitrary units (multiply-adds per token of a forward, so a third of those of all three
// passes; a segment without some of them counts less), for splitting the segments into stages by cost.
std::vector<double> segment_costs(const config::ModelSettings& model, std::int64_t seq_len,
                                  const Trained& trained = {});

// The activations that a forward saves for the backward. none: an evaluation, or one that will be computed again (full
// activation recomputation). selective: what is cheap to compute again (outputs of norms, rotations and activations) is
// dropped and computed again in backward_input, with the same bits.
enum class SavedActivations { none, selective, all };

enum class ComputedBy { cores, gpu };

// The rows of a microbatch on one rank: the positions of its sequences there.
struct MicrobatchRows {
  std::int64_t M, longest;  // in all; of the longest sequence
  double squares;           // the sum of the squares of the sequences' positions

  std::int64_t with_loss;   // rows that the head keeps something for; all of M where the targets are not known

  MicrobatchRows(std::int64_t rows = 1, std::int64_t most = 1, double sum = 1) : M(rows), longest(most), squares(sum), with_loss(rows) {}
  static MicrobatchRows equal(std::int64_t B, std::int64_t T) {  // B sequences of T positions
    return {B * T, T, static_cast<double>(B) * static_cast<double>(T) * static_cast<double>(T)};
  }
};

// One microbatch on one rank.
struct MicrobatchShape {
  MicrobatchRows rows;
  TensorShare share = {};
  SequenceParallel sequence = SequenceParallel::off;
  config::Precision precision = config::Precision::fp32;
  ComputedBy by = ComputedBy::cores;  // operation_costs.h says what of it differs
};

// The bytes that each segment holds of one microbatch: the sum of the Saved structs.
struct SavedBytes {
  std::vector<std::int64_t> whole;  // after forward, for both halves of backward
  std::vector<std::int64_t> half;   // after backward_input, for backward_weight; the same for every `saved`
};
SavedBytes segment_saved_bytes(const config::ModelSettings& model, const MicrobatchShape& microbatch,
                               SavedActivations saved, const Trained& trained = {});

// The most that the backward of a block holds on a GPU beside the data saved for it, in one of two moments. The feed-forward:
// gradients of its inner values and of its inputs. Attention: by products (shape/gpu_chunks.h) scores and their gradients of a
// chunk of queries, gradients of keys and values in fp32, or by cuDNN the bytes that shape/gpu_chunks.h counts; gradients of its
// output, of the sum, and the data that the feed-forward's weights wait for.
std::int64_t block_backward_bytes(const config::ModelSettings& model, const BlockKind& kind,
                                  const MicrobatchShape& microbatch, base::Repeatable repeatable);

}  // namespace troika::shape
