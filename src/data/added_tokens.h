// Tokens that are looked for in the raw text before it is cut and merged, such as <|endoftext|>.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace troika::data {

struct AddedToken {
  std::int32_t id = -1;
  std::string content;
  bool special = true;      // a mark, not text: tools may leave it out when they show text
  bool normalized = false;  // looked for after those that are not normalized
};

// Threads: const use is safe.
class AddedTokens {
 public:
  AddedTokens() = default;
  explicit AddedTokens(const std::vector<AddedToken>& tokens);

  using OnText = std::function<void(std::string_view)>;
  using OnToken = std::function<void(std::int32_t)>;

  // Calls back for each stretch of text and each token in order. At one place the longest token wins, of overlapping
  // ones the leftmost.
  void split(std::string_view text, const OnText& on_text, const OnToken& on_token) const;

  bool hold_newlines() const { return hold_newlines_; }  // some token contains a newline

 private:
  struct Set {
    std::vector<AddedToken> tokens;  // longest first
    std::array<bool, 256> first{};   // bytes a token begins with
    const AddedToken* match(std::string_view text) const;
  };
  static void split_by(const Set& set, std::string_view text, const OnText& on_text, const OnToken& on_token);

  Set raw_, normalized_;
  bool hold_newlines_ = false;
};

}  // namespace troika::data
