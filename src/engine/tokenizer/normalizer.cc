#include "tokenizer/normalizer.h"

#include <utf8proc.h>

#include <algorithm>
#include <functional>
#include <utility>

namespace troika::tokenizer {

std::string replaced(std::string_view text, std::string_view what, std::string_view by) {
  std::string result;
  std::size_t at = 0;
  for (std::size_t found = 0; (found = text.find(what, at)) != std::string_view::npos; at = found + what.size())
    result.append(text, at, found - at).append(by);
  return result.append(text, at);
}

Normalizer::Normalizer(std::vector<NormalizerStep> steps, std::shared_ptr<const UnicodeTable> table)
    : steps_(std::move(steps)), table_(std::move(table)), nfc_(table_) {
  for (const NormalizerStep& step : steps_)
    patterns_.push_back(step.kind == NormalizerStep::Kind::replace_pattern
                            ? std::make_unique<const PieceRegex>(step.pattern)
                            : nullptr);
}

std::string_view Normalizer::normalize(std::string_view text, Before before, PieceRegex::Scratch* scratch,
                                       std::string* storage) const {
  std::string next;
  for (std::size_t step = 0; step < steps_.size(); ++step) {
    const std::string_view changed = apply(step, text, before, scratch, &next);
    const bool is_new = changed.data() == next.data();
    if (is_new) storage->swap(next);
    text = is_new ? std::string_view(*storage).substr(0, changed.size()) : changed;
  }
  return text;
}

namespace {

// Calls back for each longest stretch of valid UTF-8 and each byte between them.
void for_each_valid(std::string_view text, const std::function<void(std::string_view)>& on_valid,
                    const std::function<void(char)>& on_byte) {
  while (!text.empty()) {
    const std::size_t valid = valid_utf8_prefix(text);
    if (valid > 0) on_valid(text.substr(0, valid));
    text.remove_prefix(valid);
    if (text.empty()) return;
    on_byte(text.front());
    text.remove_prefix(1);
  }
}

// Lower case by Unicode's mapping of each character; it has two characters for U+0130 alone.
void append_lowercase(std::string_view text, std::string* out) {
  for (std::size_t at = 0; at < text.size();) {
    const std::uint32_t c = next_code_point(text, &at);
    if (c == 0x130)
      *out += "i\u0307";
    else
      append_utf8(static_cast<std::uint32_t>(utf8proc_tolower(static_cast<utf8proc_int32_t>(c))), out);
  }
}

}  // namespace

std::string_view Normalizer::apply(std::size_t step, std::string_view text, Before before, PieceRegex::Scratch* scratch,
                                   std::string* storage) const {
  using Kind = NormalizerStep::Kind;
  const auto& [kind, pattern, content] = steps_[step];
  const auto character_is_space = [&](std::size_t at, std::size_t bytes) {
    return bytes != 0 && table_->is_space(next_code_point(text, &at));
  };
  const auto by_parts = [&](const auto& on_valid) -> std::string_view {
    storage->clear();
    for_each_valid(text, on_valid, [&](char byte) { *storage += byte; });
    return *storage;
  };
  switch (kind) {
    case Kind::nfc:
      return nfc_.normalize(text, storage);
    case Kind::nfd:
      return by_parts([&](std::string_view part) { append_decomposed(part, Decomposition::canonical, storage); });
    case Kind::nfkd:
      return by_parts([&](std::string_view part) { append_decomposed(part, Decomposition::compatible, storage); });
    case Kind::nfkc: {
      std::string decomposed;
      for_each_valid(
          text, [&](std::string_view part) { append_decomposed(part, Decomposition::compatible, &decomposed); },
          [&](char byte) { decomposed += byte; });
      if (nfc_.normalize(decomposed, storage).data() == decomposed.data()) *storage = std::move(decomposed);
      return *storage;
    }
    case Kind::lowercase:
      return by_parts([&](std::string_view part) { append_lowercase(part, storage); });
    case Kind::strip_left:
      for (std::size_t bytes = 0; !text.empty(); text.remove_prefix(bytes))
        if (bytes = valid_character_bytes(text, 0); !character_is_space(0, bytes)) break;
      return text;
    case Kind::strip_right:
      for (std::size_t bytes = 1; bytes <= std::min<std::size_t>(4, text.size());) {
        const std::size_t at = text.size() - bytes;
        const bool whole = valid_character_bytes(text, at) == bytes;
        if (whole && !character_is_space(at, bytes)) break;
        if (whole) text.remove_suffix(bytes);
        bytes = whole ? 1 : bytes + 1;
      }
      return text;
    case Kind::prepend:
      if (text.empty() || content.empty() || before == Before::text) return text;
      storage->assign(content).append(text);
      return *storage;
    case Kind::replace_text:
      if (text.find(pattern) == std::string_view::npos) return text;
      *storage = replaced(text, pattern, content);
      return *storage;
    case Kind::replace_pattern:
      return by_parts([&, &by = content](std::string_view part) {
        patterns_[step]->cut(part, scratch, [&](std::string_view piece, PieceRegex::Part which) {
          storage->append(which == PieceRegex::Part::match ? std::string_view(by) : piece);
        });
      });
  }
  return text;
}

bool Normalizer::may_cut_at_newlines() const {
  return std::all_of(steps_.begin(), steps_.end(), [](const NormalizerStep& step) {
    switch (step.kind) {
      case NormalizerStep::Kind::strip_left:
      case NormalizerStep::Kind::strip_right:
      case NormalizerStep::Kind::replace_pattern:
        return false;
      case NormalizerStep::Kind::replace_text:
        return step.pattern.find('\n') == std::string::npos;
      default:
        return true;
    }
  });
}

}  // namespace troika::tokenizer
