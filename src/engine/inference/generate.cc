#include "inference/generate.h"

#include <algorithm>

#include "base/error.h"
#include "base/say.h"
#include "comm/channel.h"

namespace troika::inference {

Text::Text(const TextModel& model, const tokenizer::Tokenizer& tokenizer, const std::vector<std::int32_t>& prompt,
           const TextOptions& options)
    : model_(&model),
      tokenizer_(&tokenizer),
      options_(options),
      random_(options.seed, "generate"),
      cache_(model.decoder().new_cache()),
      stop_(options.stop_texts) {
  restart(prompt);
}

bool Text::is_full() const { return positions() >= model_->context(); }

void Text::restart(const std::vector<std::int32_t>& prompt) {
  if (prompt.empty()) throw base::ConfigError(base::say("the prompt is empty; give at least one character with --prompt"));
  if (static_cast<std::int64_t>(prompt.size()) >= model_->context())
    throw base::ConfigError(
        base::say("{} tokens leave no room for another in a context of {} positions; shorten the text", prompt.size(),
                    model_->context()));
  const auto common = std::mismatch(ids_.begin(), ids_.end(), prompt.begin(), prompt.end()).first - ids_.begin();
  const auto last = static_cast<std::int64_t>(prompt.size()) - 1;  // whose logits are needed
  kept_ = cache_.continuable(std::min(static_cast<std::int64_t>(common), last));
  cache_.shorten(kept_);
  ids_ = prompt;
  pending_.assign(prompt.begin() + kept_, prompt.end());
  seen_ = SeenIds();
  for (const std::int32_t id : prompt) seen_.add(id);
  stop_ = StopText(options_.stop_texts);
  growing_ = tokenizer_->begin_text(options_.before.value_or(tokenizer_->before_next(prompt)));
  certain_.clear();
  tokens_ = 0;
  ended_ = false;
}

std::string Text::take() {
  std::string bytes;
  bytes.swap(certain_);
  return bytes;
}

void Text::end(Finish finish) {
  ended_ = true;
  finish_ = finish;
  certain_ += stop_.add(growing_->rest());
  certain_ += stop_.rest();
}

// Also where the stop text is among what the tokenizer holds back.
bool Text::ends_at_stop() const {
  const std::string held = growing_->rest();
  if (stop_.found() || held.empty()) return stop_.found();
  StopText ended = stop_;
  ended.add(held);
  return ended.found();
}

void Text::add(std::vector<float> logits) {
  penalise_repetition(logits, seen_, options_.sampling.repetition_penalty);
  const std::int32_t id = draw(logits, options_.sampling, random_.uniform(static_cast<std::uint64_t>(positions())));
  pending_ = {id};
  ids_.push_back(id);
  seen_.add(id);
  if (std::find(options_.stop_ids.begin(), options_.stop_ids.end(), id) != options_.stop_ids.end())
    return end(Finish::stop);
  ++tokens_;
  certain_ += stop_.add(growing_->add(id));
  if (ends_at_stop()) return end(Finish::stop);
  if (tokens_ >= options_.new_tokens || is_full()) end(Finish::length);
}

void advance(const TextModel& model, const std::vector<Text*>& texts) {
  std::vector<Continuation> sequences;
  for (Text* text : texts) sequences.push_back({&text->cache_, std::move(text->pending_)});
  const tensor::Tensor logits_BV = model.decoder().extend(sequences).cpu();
  for (std::size_t i = 0; i < texts.size(); ++i) {
    const auto vocab = std::min(texts[i]->tokenizer_->vocab_size(), logits_BV.size(1));  // ids above have no token
    const float* row = logits_BV[static_cast<std::int64_t>(i)].data<float>();
    texts[i]->add({row, row + vocab});
  }
}

void continue_all(const TextModel& model, const tokenizer::Tokenizer& tokenizer, const Batch& batch,
                  const std::function<void(std::size_t, Text&)>& on_end,
                  const std::function<void(std::size_t)>& on_step) {
  struct Running {
    std::size_t index;
    std::unique_ptr<Text> text;
  };
  std::vector<Running> running;
  std::size_t next = 0;
  while (next < batch.prompts.size() || !running.empty()) {
    for (; next < batch.prompts.size() && static_cast<std::int64_t>(running.size()) < batch.together; ++next) {
      TextOptions options = batch.options;
      options.seed += next;
      running.push_back({next, std::make_unique<Text>(model, tokenizer, batch.prompts[next], options)});
    }
    std::vector<Text*> texts;
    for (const Running& one : running) texts.push_back(one.text.get());
    advance(model, texts);
    for (const Running& one : running)
      if (one.text->ended()) on_end(one.index, *one.text);
    on_step(texts.size());
    const auto ended = [](const Running& one) { return one.text->ended(); };
    running.erase(std::remove_if(running.begin(), running.end(), ended), running.end());
  }
}

namespace {

std::vector<checkpoint::Slice> slices_of(const shape::SegmentLayout& layout, const tensor::Tensor& flat) {
  std::vector<checkpoint::Slice> slices;
  for (const shape::Slot& slot : layout.slots)
    slices.push_back({slot.info.name, slot.info.shape, slot.region, flat.narrow(0, slot.offset, slot.elements())});
  return slices;
}

std::int64_t context_of(const config::ModelSettings& model, std::int64_t wished) {
  if (wished > model.max_positions)
    throw base::ConfigError(base::say("texts of {} tokens exceed the model's {} positions: at most {}", wished,
                                        model.max_positions, model.max_positions));
  return wished == 0 ? model.max_positions : wished;
}

// One buffer for each segment.
std::vector<tensor::Tensor> read_parameters(weights::ModelSource& source, const TextModel::Options& options) {
  const auto self = comm::make_self_channel("generate");
  const config::ModelSettings& model = source.model();
  source.check(model);
  std::vector<tensor::Tensor> buffers;
  std::vector<checkpoint::Slice> wanted;
  for (int segment = 0; segment < shape::segment_count(model); ++segment) {
    const shape::SegmentLayout layout = shape::segment_layout(model, segment);
    const tensor::Tensor flat = tensor::empty({layout.elements}, tensor::TensorType(options.dtype, options.device));
    const auto slices = slices_of(layout, flat);
    wanted.insert(wanted.end(), slices.begin(), slices.end());
    buffers.push_back(flat);
  }
  source.load(model, wanted, *self);
  return buffers;
}

}  // namespace

TextModel::TextModel(weights::ModelSource& source, const Options& options) {
  const std::int64_t context = context_of(source.model(), options.context);
  cached_ = std::make_unique<const CachedDecoder>(source.model(), read_parameters(source, options), context);
}

}  // namespace troika::inference
