#include "tokenizer/text_decoder.h"

#include <algorithm>
#include <utility>

#include "tokenizer/characters.h"
#include "tokenizer/normalizer.h"
#include "tokenizer/unicode.h"

namespace troika::tokenizer {

TextDecoder::Growing::Growing(const TextDecoder& decoder, Before before)
    : steps_(&decoder.steps_), states_(decoder.steps_.size()) {
  bool fused = false;
  for (std::size_t i = 0; i < steps_->size(); ++i) {
    fused_.push_back(fused);
    fused = fused || (*steps_)[i].kind == DecoderStep::Kind::fuse;
    states_[i].begun = before == Before::text;
  }
}

std::string TextDecoder::Growing::add(std::string_view token) {
  out_.clear();
  give(0, std::string(token));
  return std::move(out_);
}

std::string TextDecoder::Growing::rest() const {
  Growing ended = *this;
  ended.out_.clear();
  ended.end(0);
  return std::move(ended.out_);
}

namespace {

bool has_at(std::string_view text, std::string_view start, std::size_t at = 0) {
  return text.compare(at, start.size(), start) == 0;
}

// How many bytes `content` takes at the end of `text`, `most` times at most.
std::size_t bytes_at_end(std::string_view text, std::string_view content, std::size_t most) {
  std::size_t bytes = 0;
  for (; most > 0 && text.size() - bytes >= content.size(); --most, bytes += content.size())
    if (!has_at(text, content, text.size() - bytes - content.size())) break;
  return bytes;
}

std::string stripped(std::string token, const DecoderStep& step) {
  std::size_t start = 0;
  for (std::size_t times = 0; times < step.start && has_at(token, step.content, start); ++times)
    start += step.content.size();
  token.erase(0, start);
  return token.substr(0, token.size() - bytes_at_end(token, step.content, step.stop));
}

}  // namespace

// Of the one token that all are: what is certain when this part has come. Steps other than these hold all of it.
std::string TextDecoder::Growing::fused_part(const DecoderStep& step, std::string part, State* state) const {
  part.insert(0, std::exchange(state->held, ""));
  if (step.kind == DecoderStep::Kind::fuse) return part;
  if (step.kind != DecoderStep::Kind::strip) return state->held = std::move(part), "";
  while (!state->begun && state->stripped < step.start && has_at(part, step.content)) {
    part.erase(0, step.content.size());
    ++state->stripped;
  }
  state->begun = state->begun || !part.empty();
  const std::size_t held = bytes_at_end(part, step.content, step.stop);
  state->held = part.substr(part.size() - held);
  return part.substr(0, part.size() - held);
}

void TextDecoder::Growing::give(std::size_t at, std::string token) {
  if (at == steps_->size()) {
    out_ += token;
    return;
  }
  const DecoderStep& step = (*steps_)[at];
  State& state = states_[at];
  if (fused_[at]) return give(at + 1, fused_part(step, std::move(token), &state));
  switch (step.kind) {
    case DecoderStep::Kind::replace:
      return give(at + 1, replaced(token, step.pattern, step.content));
    case DecoderStep::Kind::metaspace: {
      const bool dropped = !std::exchange(state.begun, true) && step.content.empty();
      return give(at + 1, replaced(token, step.pattern, dropped ? "" : " "));
    }
    case DecoderStep::Kind::strip:
      return give(at + 1, stripped(std::move(token), step));
    case DecoderStep::Kind::fuse:
      return give(at + 1, std::move(token));
    case DecoderStep::Kind::byte_fallback:
      if (const auto byte = byte_of_token(token)) {
        state.held += static_cast<char>(*byte);
        return;
      }
      give_held_bytes(at);
      return give(at + 1, std::move(token));
  }
}

void TextDecoder::Growing::give_held_bytes(std::size_t at) {
  const std::string bytes = std::exchange(states_[at].held, "");
  if (bytes.empty()) return;
  if (valid_utf8_prefix(bytes) == bytes.size()) return give(at + 1, bytes);
  for (std::size_t i = 0; i < bytes.size(); ++i) give(at + 1, "\uFFFD");
}

// No more tokens come to the steps from `at` on.
void TextDecoder::Growing::end(std::size_t at) {
  for (; at < steps_->size(); ++at) {
    const DecoderStep& step = (*steps_)[at];
    if (step.kind == DecoderStep::Kind::byte_fallback && !fused_[at]) give_held_bytes(at);
    if (!fused_[at] || step.kind == DecoderStep::Kind::strip || step.kind == DecoderStep::Kind::fuse) continue;
    const std::string all = std::exchange(states_[at].held, "");
    if (step.kind == DecoderStep::Kind::byte_fallback) {
      const auto byte = byte_of_token(all);
      give(at + 1, !byte ? all : *byte < 0x80 ? std::string(1, static_cast<char>(*byte)) : "\uFFFD");
    } else {
      const bool dropped = step.kind == DecoderStep::Kind::metaspace && step.content.empty() && !states_[at].begun;
      give(at + 1,
           replaced(all, step.pattern, step.kind == DecoderStep::Kind::metaspace ? dropped ? "" : " " : step.content));
    }
  }
}

}  // namespace troika::tokenizer
