// Cuts text into the pieces inside which BPE merges, by the regular expressions of a tokenizer.json. Text between two
// matches is a piece of its own; several patterns are applied one after the other. Bytes that are not valid UTF-8 are
// pieces of one byte each, and the text before and after them is cut separately.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "tokenizer/known_patterns.h"
#include "tokenizer/piece_regex.h"
#include "tokenizer/unicode.h"

namespace troika::tokenizer {

// The smallest place from `from` on that is after a newline between two printable ASCII characters; text.size(): none.
std::size_t behind_newline(std::string_view text, std::size_t from);

// Threads: const use is safe; each thread needs its own Scratch.
class PreTokenizer {
 public:
  // Throws DataError for a pattern that is refused (PieceRegex). No patterns: the whole text is one piece. The table may be
  // shared with others; without one it makes its own.
  explicit PreTokenizer(std::vector<std::string> patterns, std::shared_ptr<const UnicodeTable> table = nullptr);

  using Scratch = PieceRegex::Scratch;
  using OnPieces = std::function<void(const PieceRun&)>;

  // Gives the pieces of `text` in order, some thousand at a time; they view into `text` and cover all of it.
  void split(std::string_view text, Scratch* scratch, const OnPieces& on_pieces) const;

  // The same, appended.
  void split(std::string_view text, Scratch* scratch, std::vector<std::string_view>* pieces) const;

  const std::vector<std::string>& patterns() const { return patterns_; }

  // As Tokenizer::next_cut, for pieces: behind_newline, or text.size().
  std::size_t next_cut(std::string_view text, std::size_t from) const {
    return cuts_at_newlines_ ? behind_newline(text, from) : text.size();
  }

  // Whether it is one of the three known patterns or several of them: none of them matches across such a place, nor looks across
  // it (also when a mark after such a character is composed with it, since that leaves a letter a letter and a symbol a symbol).
  bool cuts_at_newlines() const { return cuts_at_newlines_; }

 private:
  struct Batch;
  using Cutter = std::variant<PieceMatcher, PieceRegex>;
  void split_valid(std::string_view text, std::size_t level, Batch* batch) const;
  void split_known(const PieceMatcher& matcher, std::string_view text, std::size_t level, Batch* batch) const;

  std::vector<std::string> patterns_;
  std::vector<Cutter> cutters_;
  bool cuts_at_newlines_;
};

}  // namespace troika::tokenizer
