#include "tokenizer/known_patterns.h"

#include <utility>

#include "tokenizer/ascii_starts.h"

namespace troika::tokenizer {

const char* const gpt2_pattern = R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)";
const char* const qwen2_pattern =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
const char* const llama3_pattern =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";

KnownPattern known_pattern(const std::string& pattern) {
  if (pattern == gpt2_pattern) return KnownPattern::gpt2;
  if (pattern == qwen2_pattern) return KnownPattern::qwen2;
  return pattern == llama3_pattern ? KnownPattern::llama3 : KnownPattern::none;
}

std::size_t contraction_bytes(std::string_view text, std::size_t at, bool any_case) {
  const auto byte = [&](std::size_t i) { return i < text.size() ? text[i] : '\0'; };
  const auto letter = [&](std::size_t i) { return any_case ? static_cast<char>(byte(i) | 0x20) : byte(i); };
  const char first = letter(at + 1), second = letter(at + 2);
  if (first == 's' || first == 't' || first == 'm' || first == 'd') return 2;
  if ((first == 'r' || first == 'v') && second == 'e') return 3;
  if (first == 'l' && second == 'l') return 3;
  const bool long_s = any_case && byte(at + 1) == '\xC5' && byte(at + 2) == '\xBF';  // U+017F folds to s
  return long_s ? 3 : 0;
}

namespace {

struct Char {
  CharKind kind;
  std::size_t bytes;  // 0 at the end of the text
};

class Text {
 public:
  Text(std::string_view text, const UnicodeTable& table) : text_(text), table_(table) {}

  std::string_view bytes() const { return text_; }
  char byte(std::size_t at) const { return at < text_.size() ? text_[at] : '\0'; }

  Char look(std::size_t at) const {
    if (at >= text_.size()) return {CharKind::other, 0};
    std::size_t behind = at;
    const std::uint32_t c = next_code_point(text_, &behind);
    return {table_.kind(c), behind - at};
  }

  bool is(std::size_t at, CharKind kind) const {
    const Char c = look(at);
    return c.bytes != 0 && c.kind == kind;
  }

  // Behind the characters of one kind from `at` on.
  std::size_t behind(std::size_t at, CharKind kind) const {
    for (Char c = look(at); c.bytes != 0 && c.kind == kind; c = look(at)) at += c.bytes;
    return at;
  }

  // \s+(?!\S)|\s+ : all white space, but the last character stays with what follows when others are before it.
  std::size_t white_space(std::size_t at, bool stop_behind_newlines) const {
    std::size_t last = at, end = at, behind_newline = at;
    for (Char c = look(at); c.bytes != 0 && c.kind >= CharKind::space; c = look(end)) {
      last = end;
      end += c.bytes;
      if (c.kind == CharKind::newline) behind_newline = end;
    }
    if (stop_behind_newlines && behind_newline > at) return behind_newline;
    return end == text_.size() || last == at ? end : last;
  }

 private:
  const std::string_view text_;
  const UnicodeTable& table_;
};

struct Gpt2 {
  static std::size_t end(const Text& text, std::size_t at) {
    if (text.byte(at) == '\'') {
      if (const std::size_t length = contraction_bytes(text.bytes(), at, false)) return at + length;
    }
    const std::size_t start = text.byte(at) == ' ' ? at + 1 : at;
    const Char first = text.look(start);
    if (first.bytes == 0 || first.kind >= CharKind::space) return text.white_space(at, false);
    return text.behind(start + first.bytes, first.kind);
  }
};

template <int most_digits>
struct Modern {
  static std::size_t end(const Text& text, std::size_t at) {
    if (text.byte(at) == '\'') {
      if (const std::size_t length = contraction_bytes(text.bytes(), at, true)) return at + length;
    }
    const Char first = text.look(at);
    std::size_t behind = at + first.bytes;
    if (first.kind == CharKind::letter) return text.behind(behind, CharKind::letter);
    if (first.kind == CharKind::number) {
      for (int digits = 1; digits < most_digits && text.is(behind, CharKind::number); ++digits)
        behind += text.look(behind).bytes;
      return behind;
    }
    const Char second = text.look(behind);
    if (first.kind != CharKind::newline && second.kind == CharKind::letter)
      return text.behind(behind + second.bytes, CharKind::letter);
    if (first.kind == CharKind::other || (text.byte(at) == ' ' && second.bytes != 0 && second.kind == CharKind::other))
      return text.behind(text.behind(behind, CharKind::other), CharKind::newline);
    return text.white_space(at, true);
  }
};

// ASCII text by AsciiStarts, a piece at a time where other characters have a say.
template <class Pattern>
std::size_t cut_by(KnownPattern pattern, const Text& text, std::size_t at, PieceRun* pieces) {
  const std::string_view bytes = text.bytes();
  AsciiStarts ascii;
  while (!pieces->full() && at < bytes.size()) {
    if (at >= ascii.end()) ascii.look(pattern, bytes, at);
    at = ascii.walk(bytes, at, pieces);
    if (pieces->full() || at == bytes.size()) break;
    at = Pattern::end(text, at);
    pieces->add(bytes.data() + at);
  }
  return at;
}

}  // namespace

PieceMatcher::PieceMatcher(KnownPattern pattern, std::shared_ptr<const UnicodeTable> table)
    : pattern_(pattern), table_(std::move(table)) {}

std::size_t PieceMatcher::cut(std::string_view bytes, std::size_t at, PieceRun* pieces) const {
  const Text text(bytes, *table_);
  switch (pattern_) {
    case KnownPattern::gpt2:
      return cut_by<Gpt2>(pattern_, text, at, pieces);
    case KnownPattern::qwen2:
      return cut_by<Modern<1>>(pattern_, text, at, pieces);
    case KnownPattern::llama3:
      return cut_by<Modern<3>>(pattern_, text, at, pieces);
    case KnownPattern::none:
      break;
  }
  return at;
}

}  // namespace troika::tokenizer
