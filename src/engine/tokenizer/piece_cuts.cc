#include "tokenizer/piece_cuts.h"

#include <algorithm>
#include <cstdint>
#include <utility>

#include "tokenizer/normalizer.h"

namespace troika::tokenizer {

PieceCuts::PieceCuts(std::vector<Cut> cuts, std::shared_ptr<const UnicodeTable> table)
    : cuts_(std::move(cuts)), table_(std::move(table)) {
  for (const Cut& cut : cuts_)
    patterns_.push_back(cut.kind == Cut::Kind::pattern ? std::make_unique<const PieceRegex>(cut.pattern) : nullptr);
}

void PieceCuts::cut(std::string_view text, Before before, PieceRegex::Scratch* scratch, const OnPiece& on_piece) const {
  if (!text.empty()) cut_from(0, text, before, scratch, on_piece);
}

bool PieceCuts::may_cut_at_newlines() const {
  for (std::size_t i = 1; i < cuts_.size(); ++i)
    if (cuts_[i].prepend == Cut::Prepend::always) return false;  // a piece may end with the newline
  return std::all_of(cuts_.begin(), cuts_.end(), [](const Cut& cut) {
    return cut.kind != Cut::Kind::pattern && cut.pattern.find('\n') == std::string::npos;
  });
}

namespace {

std::string_view joined(std::string_view first, std::string_view second) {
  return {first.data(), first.size() + second.size()};
}

// A piece takes those of the next that `joins` it.
template <class Pieces, class Joins>
Pieces joined_pieces(const Pieces& pieces, Joins&& joins) {
  Pieces result;
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    if (i > 0 && joins(i))
      result.back().text = joined(result.back().text, pieces[i].text);
    else
      result.push_back(pieces[i]);
  }
  return result;
}

// A match joins what is before it, or behind it, unless that is a match too; of several in a row the one next to what is no
// match does.
template <class Pieces>
Pieces behaving(const Pieces& pieces, Cut::Behavior behavior) {
  const auto is_match = [&](std::size_t i) { return pieces[i].is_match; };
  switch (behavior) {
    case Cut::Behavior::isolated:
      return pieces;
    case Cut::Behavior::removed: {
      Pieces kept;
      for (const auto& piece : pieces)
        if (!piece.is_match) kept.push_back(piece);
      return kept;
    }
    case Cut::Behavior::contiguous:
      return joined_pieces(pieces, [&](std::size_t i) { return is_match(i) == is_match(i - 1); });
    case Cut::Behavior::merged_with_previous:
      return joined_pieces(pieces, [&](std::size_t i) { return is_match(i) && !is_match(i - 1); });
    case Cut::Behavior::merged_with_next:
      return joined_pieces(pieces, [&](std::size_t i) { return !is_match(i) && is_match(i - 1); });
  }
  return pieces;
}

}  // namespace

void PieceCuts::cut_from(std::size_t level, std::string_view text, Before before, PieceRegex::Scratch* scratch,
                         const OnPiece& on_piece) const {
  if (level == cuts_.size()) return on_piece(text);
  const Cut& cut = cuts_[level];
  std::string changed;
  if (cut.kind == Cut::Kind::metaspace) {
    changed = replaced(text, " ", cut.pattern);
    const bool begins = cut.prepend == Cut::Prepend::always ? before != Before::text : before == Before::nothing;
    if (cut.prepend != Cut::Prepend::never && begins && changed.compare(0, cut.pattern.size(), cut.pattern) != 0)
      changed.insert(0, cut.pattern);
    text = changed;
  }
  for (const Piece& piece : behaving(matches_of(level, text, scratch), cut.behavior)) {
    const bool is_first = piece.text.data() == text.data();
    cut_from(level + 1, piece.text, is_first ? before : Before::mark, scratch, on_piece);
  }
}

// Characters of one kind in a row; those of kind 0 are no match, negative ones are each by themselves. Bytes that are not valid
// UTF-8 are of kind 0.
PieceCuts::Pieces PieceCuts::runs_of(std::string_view text, const std::function<int(std::uint32_t)>& kind_of) const {
  Pieces pieces;
  int last = 0;
  for (std::size_t at = 0; at < text.size();) {
    std::size_t behind = at;
    const int kind = valid_character_bytes(text, at) == 0 ? (++behind, 0) : kind_of(next_code_point(text, &behind));
    const std::string_view character = text.substr(at, behind - at);
    if (!pieces.empty() && kind == last && kind >= 0)
      pieces.back().text = joined(pieces.back().text, character);
    else
      pieces.push_back({character, kind != 0});
    last = kind;
    at = behind;
  }
  return pieces;
}

PieceCuts::Pieces PieceCuts::matches_of(std::size_t level, std::string_view text, PieceRegex::Scratch* scratch) const {
  const Cut& cut = cuts_[level];
  const bool inverted = cut.matches == Cut::Matches::inverted;
  Pieces pieces;
  switch (cut.kind) {
    case Cut::Kind::spaces:
      return runs_of(text, [&](std::uint32_t c) { return table_->is_space(c) ? -1 : 0; });
    case Cut::Kind::words: {
      pieces = runs_of(text, [&](std::uint32_t c) { return table_->is_word(c) ? 1 : table_->is_space(c) ? 0 : 2; });
      break;
    }
    case Cut::Kind::pattern:
      for (std::string_view rest = text; !rest.empty();) {
        const std::size_t valid = valid_utf8_prefix(rest);
        patterns_[level]->cut(rest.substr(0, valid), scratch, [&](std::string_view piece, PieceRegex::Part part) {
          pieces.push_back({piece, part == PieceRegex::Part::match});
        });
        rest.remove_prefix(valid);
        if (rest.empty()) break;
        pieces.push_back({rest.substr(0, 1), false});
        rest.remove_prefix(1);
      }
      break;
    case Cut::Kind::metaspace:
      if (cut.behavior == Cut::Behavior::isolated) return {{text, false}};
      [[fallthrough]];
    case Cut::Kind::text: {
      std::size_t at = 0;
      for (std::size_t found = 0; (found = text.find(cut.pattern, at)) != std::string_view::npos;) {
        if (found > at) pieces.push_back({text.substr(at, found - at), false});
        pieces.push_back({text.substr(found, cut.pattern.size()), true});
        at = found + cut.pattern.size();
      }
      if (at < text.size()) pieces.push_back({text.substr(at), false});
      break;
    }
  }
  if (inverted)
    for (Piece& piece : pieces) piece.is_match = !piece.is_match;
  return pieces;
}

}  // namespace troika::tokenizer
