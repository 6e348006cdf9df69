// Continues texts, one token at a time, several of them at once.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/random.h"
#include "inference/cached_decoder.h"
#include "inference/sampling.h"
#include "model/decoder.h"
#include "tensor/tensor.h"
#include "tokenizer/tokenizer.h"
#include "weights/model_source.h"

namespace troika::inference {

// A model that continues texts, in one process: weights from any source, keys and values of earlier positions in caches.
class TextModel {
 public:
  struct Options {
    std::int64_t context = 0;  // the most positions of a text; 0: as many as the model has
    tensor::Device device;
    tensor::Dtype dtype = tensor::Dtype::fp32;
  };

  // Reads the weights; errors as of ModelSource::load, and ConfigError when the model has fewer positions.
  TextModel(weights::ModelSource& source, const Options& options);

  const CachedDecoder& decoder() const { return *cached_; }
  std::int64_t context() const { return cached_->context(); }

 private:
  std::unique_ptr<const CachedDecoder> cached_;
};

struct TextOptions {
  Sampling sampling;
  std::uint64_t seed = 1;
  std::int64_t new_tokens = 100;        // the most that are drawn
  std::vector<std::int32_t> stop_ids;   // drawing one ends the text; it is not part of it
  std::vector<std::string> stop_texts;  // the text ends before the first of these
  std::optional<tokenizer::Before> before;  // what the continuation is a text behind; absent: what the prompt ends with
};

// stop: a stop id or text came. length: new_tokens are drawn, or the model has no more positions.
enum class Finish { stop, length };

// A text that is being continued. The number drawn at a position depends on (seed, position) alone. Model and tokenizer
// must outlive it. One thread.
class Text {
 public:
  // `prompt`: at least one id, and fewer than the model's positions: ConfigError.
  Text(const TextModel& model, const tokenizer::Tokenizer& tokenizer, const std::vector<std::int32_t>& prompt,
       const TextOptions& options);

  bool ended() const { return ended_; }
  Finish finish() const { return finish_; }        // once it has ended
  std::int64_t tokens() const { return tokens_; }  // drawn since the prompt, without a stop id
  std::int64_t positions() const { return static_cast<std::int64_t>(ids_.size()); }  // ids in all, drawn stop ids too
  bool is_full() const;                                                              // the model has no more positions
  std::int64_t cache_bytes() const { return cache_.bytes(); }
  // The bytes of the continuation that have become certain since the last call; they may end inside a character.
  std::string take();

  // Starts over with another prompt, as if the text were new, but what was computed of their common beginning is kept.
  // Errors as of the constructor; the text is then as before.
  void restart(const std::vector<std::int32_t>& prompt);
  std::int64_t kept() const { return kept_; }  // positions that the last restart did not have to compute

 private:
  friend void advance(const TextModel& model, const std::vector<Text*>& texts);
  void add(std::vector<float> logits);
  bool ends_at_stop() const;
  void end(Finish finish);

  const TextModel* model_;
  const tokenizer::Tokenizer* tokenizer_;
  const TextOptions options_;
  const base::Philox random_;
  model::KeyValueCache cache_;
  std::vector<std::int32_t> ids_;      // the prompt and what was drawn
  std::unique_ptr<tokenizer::GrowingText> growing_;  // what was drawn
  std::vector<std::int32_t> pending_;  // the last of them, not in the cache yet
  SeenIds seen_;
  StopText stop_;
  std::string certain_;
  std::int64_t tokens_ = 0, kept_ = 0;
  bool ended_ = false;
  Finish finish_ = Finish::length;
};

// Draws the next token of each of the texts, none of which has ended. What a text becomes does not depend on the others (on
// the CPU).
void advance(const TextModel& model, const std::vector<Text*>& texts);

struct Batch {
  std::vector<std::vector<std::int32_t>> prompts;
  TextOptions options;        // prompt i is continued with seed + i
  std::int64_t together = 8;  // texts at a time; one that has ended makes room for the next
};
// Calls on_end(i, text) for every prompt as its text ends, then on_step with the number of tokens that the step has drawn.
void continue_all(const TextModel& model, const tokenizer::Tokenizer& tokenizer, const Batch& batch,
                  const std::function<void(std::size_t, Text&)>& on_end,
                  const std::function<void(std::size_t)>& on_step);

}  // namespace troika::inference
