// Shared parts of the decoder's tests: a small model cut into ranges of segments, tokens, one forward and backward through
// them, and whole tensors put together from the slots of one or several ranks.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "config/settings/settings.h"
#include "model/decoder.h"
#include "tensor/libtorch_test_support.h"

namespace troika::model {

// 4 blocks (6 segments), hidden 64, heads 4, kv heads 2, head_dim 16, ffn 192, vocab 259.
config::ModelSettings small_model(bool tied);
// GPT-2 of the same sizes, with 4 key/value heads and 40 positions.
config::ModelSettings small_gpt2(bool tied);
// Qwen2 of the same sizes as Qwen3; Llama with frequencies of which some are stretched, some blended, some left; Mistral
// with linearly stretched ones.
config::ModelSettings small_qwen2(bool tied);
config::ModelSettings small_llama(bool tied);
config::ModelSettings small_mistral(bool tied);
// Gemma 3 with windows of 5 positions in two of three layers; SmolLM3 without positions in every third; Granite with its factors.
config::ModelSettings small_gemma(bool tied);
config::ModelSettings small_smollm3(bool tied);
config::ModelSettings small_granite(bool tied);
std::vector<config::ModelSettings> small_models();  // all of them; Qwen3 and GPT-2 tied and untied

// Initialised decoders; `cuts` are the segments where they begin, and the end: {0, 3, 6}.
std::vector<Decoder> make_decoders(const config::ModelSettings& model, const std::vector<int>& cuts,
                                   const Decoder::Options& options);
Decoder::Options options_for(std::int64_t seq_len, const tensor::Device& device = tensor::Device());

// Weights of norms start at exactly 1 and biases at 0, where what is forgotten would not show; this moves them, alike for
// any cuts and split.
void perturb_vectors(const std::vector<Decoder>& decoders);

// The rows of a microbatch of full samples on a CPU; its targets are known.
shape::MicrobatchRows rows_of(const Tokens& tokens);

// Random ids and targets; every `silent`-th target is -100 (0: none).
Tokens make_tokens(const config::ModelSettings& model, std::int64_t B, std::int64_t T, std::int64_t silent,
                   const tensor::Device& device);

// The same ids as other sequences.
Tokens with_sequences(const Tokens& tokens, sharding::Sequences sequences);

// As sequences of at most `length` positions, of those of sequence b the first b positions shorter.
Tokens with_documents(const Tokens& tokens, std::int64_t length);

struct Gradients {
  kernels::LossSum loss;
  std::vector<std::vector<at::Tensor>> leaves;  // by decoder and layout
};

// Runs all decoders forward, then all backward. The leaves hold `filler` before they are written.
Gradients forward_backward(const std::vector<Decoder>& decoders, const Tokens& tokens, double filler,
                           shape::SavedActivations activations = shape::SavedActivations::all);

// Whole tensors by name, from slots. What is placed a second time must have the same bits (checked).
class WholeTensors {
 public:
  void place(const shape::SegmentLayout& layout, const at::Tensor& flat);
  // Every element has been placed (checked).
  void expect_complete() const;
  const std::map<std::string, at::Tensor>& by_name() const { return whole_; }

 private:
  std::map<std::string, at::Tensor> whole_, placed_;
};

// Gradients by name, both uses of a tied table added; `parts[r]` are the decoders and gradients of tp rank r.
struct RankGradients {
  const std::vector<Decoder>* decoders = nullptr;
  const Gradients* gradients = nullptr;
};
std::map<std::string, at::Tensor> gradients_by_name(const std::vector<RankGradients>& ranks);
// From one rank that holds everything.
std::map<std::string, at::Tensor> gradients_by_name(const std::vector<Decoder>& decoders, const Gradients& gradients);
std::map<std::string, at::Tensor> parameters_by_name(const std::vector<Decoder>& decoders);

// max|a - b| / max|b|, in double.
double relative_error(const at::Tensor& got, const at::Tensor& want);

}  // namespace troika::model
