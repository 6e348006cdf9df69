#include "tokenizer/added_tokens.h"

#include <algorithm>
#include <utility>

#include "base/text.h"

namespace troika::tokenizer {

// Whether a token contains a newline and a printable character of ASCII behind it, or looks at what is behind a newline.
static bool reaches_across_newline(const AddedToken& token) {
  const std::string& text = token.content;
  for (std::size_t at = 0; (at = text.find('\n', at)) != std::string::npos; ++at)
    if (token.single_word || (at + 1 < text.size() && text[at + 1] > 0x20 && text[at + 1] < 0x7F)) return true;
  return false;
}

AddedTokens::AddedTokens(std::vector<AddedToken> tokens, std::shared_ptr<const UnicodeTable> table)
    : table_(std::move(table)), tokens_(std::move(tokens)), ends_{-1} {
  for (std::size_t index = 0; index < tokens_.size(); ++index) {
    const AddedToken& token = tokens_[index];
    if (token.content.empty()) continue;
    std::uint64_t node = 0;
    for (const char c : token.content) {
      const auto [child, is_new] =
          children_.emplace(node << 8 | static_cast<unsigned char>(c), static_cast<std::uint32_t>(ends_.size()));
      if (is_new) ends_.push_back(-1);
      node = child->second;
    }
    if (ends_[node] < 0) ends_[node] = static_cast<std::int64_t>(index);
    const auto first = static_cast<unsigned char>(token.content[0]);
    if (firsts_.find(token.content[0]) == std::string::npos) firsts_ += token.content[0];
    if (token.content.size() == 1) seconds_[first].set();
    if (token.content.size() > 1) seconds_[first].set(static_cast<unsigned char>(token.content[1]));
    if (token.lstrip) before_lstrip_[first] = true;
    if (token.lstrip && first >= 0x80) before_lstrip_.fill(true);  // it may be composed of any character and marks
    holds_newlines_ = holds_newlines_ || reaches_across_newline(token);
  }
}

// Length of the longest token at `at`; 0: none.
std::size_t AddedTokens::longest_match(std::string_view text, std::size_t at, const AddedToken** token) const {
  std::uint64_t node = 0;
  std::size_t length = 0;
  for (std::size_t i = at; i < text.size(); ++i) {
    const auto child = children_.find(node << 8 | static_cast<unsigned char>(text[i]));
    if (child == children_.end()) break;
    node = child->second;
    if (ends_[node] < 0) continue;
    *token = &tokens_[static_cast<std::size_t>(ends_[node])];
    length = i + 1 - at;
  }
  return length;
}

// The places of a text where a token may begin, in order. Each byte of the text is looked at once for each of a few first bytes,
// however many places there are; many first bytes are looked for together.
class AddedTokens::Places {
 public:
  Places(std::string_view text, const std::string& firsts) : text_(text), firsts_(firsts) {
    if (firsts.size() > most_apart) {
      for (const char first : firsts) is_first_[static_cast<unsigned char>(first)] = true;
    } else {
      for (const char first : firsts) next_.push_back(text.find(first));
    }
  }

  // The first one that is not before `from`; `from` never falls. text.size() at the end.
  std::size_t from(std::size_t from) {
    if (firsts_.size() > most_apart) {
      while (from < text_.size() && !is_first_[static_cast<unsigned char>(text_[from])]) ++from;
      return from;
    }
    std::size_t lowest = text_.size();
    for (std::size_t i = 0; i < next_.size(); ++i) {
      if (next_[i] < from) next_[i] = text_.find(firsts_[i], from);
      lowest = std::min(lowest, next_[i]);
    }
    return lowest;
  }

 private:
  const std::string_view text_;
  const std::string& firsts_;
  static constexpr std::size_t most_apart = 3;
  std::vector<std::size_t> next_;  // by byte of firsts_; npos: none
  std::array<bool, 256> is_first_{};
};

AddedTokens::Match AddedTokens::find(std::string_view text, std::size_t from, Places* places) const {
  for (std::size_t at = places->from(from); at < text.size(); at = places->from(at + 1)) {
    const bool last = at + 1 == text.size();
    const auto& seconds = seconds_[static_cast<unsigned char>(text[at])];
    if (last ? !seconds.all() : !seconds[static_cast<unsigned char>(text[at + 1])]) continue;
    const AddedToken* token = nullptr;
    if (const std::size_t length = longest_match(text, at, &token)) return {token, at, at + length};
  }
  return {nullptr, text.size(), text.size()};
}

namespace {

// The character that ends before `at`, and where it begins; a byte of invalid UTF-8 is U+FFFD.
std::uint32_t character_before(std::string_view text, std::size_t at, std::size_t* begin) {
  for (std::size_t bytes = 1; bytes <= std::min<std::size_t>(4, at); ++bytes) {
    *begin = at - bytes;
    std::size_t place = *begin;
    if (base::utf8_character_bytes(text.substr(place, bytes)) == bytes) return next_code_point(text, &place);
  }
  *begin = at - 1;
  return 0xFFFD;
}

std::uint32_t character_at(std::string_view text, std::size_t at, std::size_t* end) {
  *end = at;
  if (base::utf8_character_bytes(text.substr(at)) != 0) return next_code_point(text, end);
  *end = at + 1;
  return 0xFFFD;
}

}  // namespace

bool AddedTokens::stands_alone(std::string_view text, const Match& found) const {
  std::size_t other = 0;
  const bool word_before = found.begin > 0 && table_->is_word(character_before(text, found.begin, &other));
  const bool word_behind = found.end < text.size() && table_->is_word(character_at(text, found.end, &other));
  return !word_before && !word_behind;
}

void AddedTokens::split(std::string_view text, const OnText& on_text, const OnToken& on_token,
                        const Allows& allows) const {
  std::size_t done = 0;
  Places places(text, firsts_);
  for (std::size_t from = 0; !tokens_.empty() && from < text.size();) {
    const Match found = find(text, from, &places);
    if (found.token == nullptr) break;
    from = found.end;
    if (found.token->single_word && !stands_alone(text, found)) continue;
    if (allows && !allows(*found.token, text.substr(found.begin, found.end - found.begin))) continue;
    std::size_t begin = std::max(done, found.begin), end = found.end, next = 0;
    while (found.token->lstrip && begin > done && table_->is_space(character_before(text, begin, &next))) begin = next;
    while (found.token->rstrip && end < text.size() && table_->is_space(character_at(text, end, &next))) end = next;
    begin = std::max(begin, done);
    if (begin > done) on_text(text.substr(done, begin - done));
    on_token(found.token->id);
    done = std::max(done, end);
  }
  if (done < text.size()) on_text(text.substr(done));
}

}  // namespace troika::tokenizer
