#include "data/added_tokens.h"

#include <algorithm>

namespace troika::data {

AddedTokens::AddedTokens(const std::vector<AddedToken>& tokens) {
  for (const AddedToken& token : tokens) {
    if (token.content.empty()) continue;
    Set& set = token.normalized ? normalized_ : raw_;
    set.tokens.push_back(token);
    set.first[static_cast<unsigned char>(token.content[0])] = true;
    hold_newlines_ = hold_newlines_ || token.content.find('\n') != std::string::npos;
  }
  for (Set* set : {&raw_, &normalized_}) {
    std::stable_sort(set->tokens.begin(), set->tokens.end(),
                     [](const AddedToken& a, const AddedToken& b) { return a.content.size() > b.content.size(); });
  }
}

const AddedToken* AddedTokens::Set::match(std::string_view text) const {
  for (const AddedToken& token : tokens) {
    if (text.substr(0, token.content.size()) == token.content) return &token;
  }
  return nullptr;
}

void AddedTokens::split_by(const Set& set, std::string_view text, const OnText& on_text, const OnToken& on_token) {
  std::size_t begin = 0;
  for (std::size_t at = 0; !set.tokens.empty() && at < text.size();) {
    const AddedToken* token = set.first[static_cast<unsigned char>(text[at])] ? set.match(text.substr(at)) : nullptr;
    if (token == nullptr) {
      ++at;
      continue;
    }
    if (at > begin) on_text(text.substr(begin, at - begin));
    on_token(token->id);
    at += token->content.size();
    begin = at;
  }
  if (begin < text.size()) on_text(text.substr(begin));
}

void AddedTokens::split(std::string_view text, const OnText& on_text, const OnToken& on_token) const {
  split_by(
      raw_, text, [&](std::string_view part) { split_by(normalized_, part, on_text, on_token); }, on_token);
}

}  // namespace troika::data
