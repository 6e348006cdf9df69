// The pre-tokenizers of a tokenizer.json that drop text, join matches with what is beside them, or change text. PreTokenizer
// does those that only cut, after these.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "tokenizer/piece_regex.h"
#include "tokenizer/tokenizer.h"
#include "tokenizer/unicode.h"

namespace troika::tokenizer {

// One pre-tokenizer.
struct Cut {
  enum class Kind {
    pattern,    // matches of the regular expression `pattern`
    text,       // of `pattern` as it is
    spaces,     // characters that are white space
    words,      // runs of word characters, and runs of characters that are neither these nor white space (`Whitespace`)
    metaspace,  // spaces become `pattern`, which begins pieces if behavior is merged_with_next, and may come in front
  };
  // What becomes of matches: pieces of their own; left out; joined with the piece before or behind; with each other.
  enum class Behavior { isolated, removed, merged_with_previous, merged_with_next, contiguous };
  enum class Matches { as_found, inverted };    // inverted: what is between matches counts as matches
  enum class Prepend { always, first, never };  // first: before a whole text only

  Kind kind = Kind::pattern;
  std::string pattern = "";
  Behavior behavior = Behavior::isolated;
  Matches matches = Matches::as_found;
  Prepend prepend = Prepend::never;
};

// Threads: const use is safe.
class PieceCuts {
 public:
  // Throws DataError for a regular expression that is refused (PieceRegex).
  PieceCuts(std::vector<Cut> cuts, std::shared_ptr<const UnicodeTable> table);

  bool changes_nothing() const { return cuts_.empty(); }

  // Gives the pieces of `text` in order, none of them empty; they are in `text` or in memory that ends with the call back.
  using OnPiece = std::function<void(std::string_view)>;
  void cut(std::string_view text, Before before, PieceRegex::Scratch* scratch, const OnPiece& on_piece) const;

  // As Normalizer::may_cut_at_newlines, if nothing is merged across the newline's end.
  bool may_cut_at_newlines() const;

 private:
  struct Piece {
    std::string_view text;
    bool is_match;
  };
  using Pieces = std::vector<Piece>;
  void cut_from(std::size_t level, std::string_view text, Before before, PieceRegex::Scratch* scratch,
                const OnPiece& on_piece) const;
  Pieces matches_of(std::size_t level, std::string_view text, PieceRegex::Scratch* scratch) const;
  Pieces runs_of(std::string_view text, const std::function<int(std::uint32_t)>& kind_of) const;

  std::vector<Cut> cuts_;
  std::vector<std::unique_ptr<const PieceRegex>> patterns_;  // by cut, null for other kinds
  std::shared_ptr<const UnicodeTable> table_;
};

}  // namespace troika::tokenizer
