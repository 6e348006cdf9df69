// Tokens that are looked for in the text before it is cut and merged, such as <|endoftext|>, by the rules of Hugging Face's
// tokenizers.
#pragma once

#include <array>
#include <bitset>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "tokenizer/unicode.h"

namespace troika::tokenizer {

struct AddedToken {
  std::int32_t id = -1;
  std::string content;
  bool special = true;       // a mark, not text: tools may leave it out when they show text
  bool normalized = false;   // looked for in normalized text, after those that are not
  bool lstrip = false;       // swallows the white space before it
  bool rstrip = false;       // swallows the white space after it
  bool single_word = false;  // only where no word character (\w) is on either side
};

// A set of added tokens that are looked for together. Threads: const use is safe.
class AddedTokens {
 public:
  AddedTokens() = default;
  AddedTokens(std::vector<AddedToken> tokens, std::shared_ptr<const UnicodeTable> table);

  using OnText = std::function<void(std::string_view)>;
  using OnToken = std::function<void(std::int32_t)>;
  using Allows = std::function<bool(const AddedToken&, std::string_view place)>;  // of the text that is split

  // Calls back for each stretch of text (never an empty one) and each token in order. At one place the longest token wins, of
  // overlapping ones the leftmost; one that single_word or `allows` rejects still hides those that overlap it.
  void split(std::string_view text, const OnText& on_text, const OnToken& on_token, const Allows& allows = {}) const;

  // Whether text may be cut before `text[at]`, which is after a newline, without a change of tokens.
  bool may_cut(std::string_view text, std::size_t at) const {
    return !holds_newlines_ && !before_lstrip_[static_cast<unsigned char>(text[at])];
  }
  bool hold_newlines() const { return holds_newlines_; }  // some token may reach across such a place

 private:
  struct Match {
    const AddedToken* token;  // null: none
    std::size_t begin, end;   // of its content
  };
  class Places;
  Match find(std::string_view text, std::size_t from, Places* places) const;
  std::size_t longest_match(std::string_view text, std::size_t at, const AddedToken** token) const;
  bool stands_alone(std::string_view text, const Match& found) const;

  std::shared_ptr<const UnicodeTable> table_;
  std::vector<AddedToken> tokens_;
  std::unordered_map<std::uint64_t, std::uint32_t> children_;  // a trie: node << 8 | byte -> node; 0 is the root
  std::vector<std::int64_t> ends_;                             // by node: index of the token that ends there, or -1
  std::string firsts_;                                         // bytes that tokens begin with
  std::array<std::bitset<256>, 256> seconds_;                  // by first byte: bytes that may follow
  std::array<bool, 256> before_lstrip_{};                      // bytes that lstrip tokens begin with
  bool holds_newlines_ = false;
};

}  // namespace troika::tokenizer
