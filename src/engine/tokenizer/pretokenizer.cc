#include "tokenizer/pretokenizer.h"

#include <utility>

namespace troika::tokenizer {

// Pieces on their way to the caller.
struct PreTokenizer::Batch {
  Scratch* scratch;
  const OnPieces& on_pieces;
  PieceRun pieces;

  void add(std::string_view piece) {
    pieces.add(piece.data() + piece.size());
    if (pieces.full()) flush();
  }
  void flush() {
    if (pieces.size() > 0) on_pieces(pieces);
    pieces.clear();
  }
};

PreTokenizer::PreTokenizer(std::vector<std::string> patterns, std::shared_ptr<const UnicodeTable> table)
    : patterns_(std::move(patterns)) {
  std::size_t known = 0;
  for (const std::string& pattern : patterns_) {
    const KnownPattern name = known_pattern(pattern);
    if (name == KnownPattern::none) {
      cutters_.emplace_back(PieceRegex(pattern));
    } else {
      if (table == nullptr) table = std::make_shared<const UnicodeTable>();
      cutters_.emplace_back(PieceMatcher(name, table));
      ++known;
    }
  }
  cuts_at_newlines_ = !patterns_.empty() && known == patterns_.size();
}

void PreTokenizer::split(std::string_view text, Scratch* scratch, const OnPieces& on_pieces) const {
  Batch batch{scratch, on_pieces, PieceRun(text.data())};
  while (!text.empty()) {
    const std::size_t valid = valid_utf8_prefix(text);
    if (valid > 0) split_valid(text.substr(0, valid), 0, &batch);
    text.remove_prefix(valid);
    if (text.empty()) break;
    batch.add(text.substr(0, 1));
    text.remove_prefix(1);
  }
  batch.flush();
}

void PreTokenizer::split(std::string_view text, Scratch* scratch, std::vector<std::string_view>* pieces) const {
  split(text, scratch, [&](const PieceRun& some) {
    for (std::size_t i = 0; i < some.size(); ++i) pieces->push_back(some[i]);
  });
}

void PreTokenizer::split_valid(std::string_view text, std::size_t level, Batch* batch) const {
  if (level == cutters_.size()) return batch->add(text);
  if (const auto* matcher = std::get_if<PieceMatcher>(&cutters_[level]))
    return split_known(*matcher, text, level, batch);
  std::get<PieceRegex>(cutters_[level]).cut(text, batch->scratch, [&](std::string_view piece, PieceRegex::Part) {
    split_valid(piece, level + 1, batch);
  });
}

void PreTokenizer::split_known(const PieceMatcher& matcher, std::string_view text, std::size_t level,
                               Batch* batch) const {
  if (level + 1 < cutters_.size()) {
    PieceRun pieces(text.data());
    for (std::size_t at = 0; at < text.size(); pieces.clear()) {
      at = matcher.cut(text, at, &pieces);
      for (std::size_t i = 0; i < pieces.size(); ++i) split_valid(pieces[i], level + 1, batch);
    }
    return;
  }
  for (std::size_t at = 0; at < text.size();) {
    at = matcher.cut(text, at, &batch->pieces);
    if (batch->pieces.full()) batch->flush();
  }
}

std::size_t behind_newline(std::string_view text, std::size_t from) {
  const auto prints = [](char c) { return c > 0x20 && c < 0x7F; };
  for (std::size_t at = from > 2 ? from - 1 : 1; at + 1 < text.size(); ++at) {
    at = text.find('\n', at);
    if (at == std::string_view::npos || at + 1 >= text.size()) break;
    if (prints(text[at - 1]) && prints(text[at + 1])) return at + 1;
  }
  return text.size();
}

}  // namespace troika::tokenizer
