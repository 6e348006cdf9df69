// The normalizers of a tokenizer.json: what text becomes before it is cut into pieces.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "tokenizer/piece_regex.h"
#include "tokenizer/tokenizer.h"
#include "tokenizer/unicode.h"

namespace troika::tokenizer {

struct NormalizerStep {
  enum class Kind {
    nfc,
    nfd,
    nfkc,
    nfkd,
    lowercase,
    strip_left,       // white space at the begin
    strip_right,      // and at the end
    prepend,          // `content` before a text that is not empty, unless it continues another
    replace_text,     // `pattern`, as it is, by `content`
    replace_pattern,  // what the regular expression `pattern` matches by `content`
  };
  Kind kind;
  std::string pattern = "", content = "";
};

// `text` with each `what`, leftmost first, replaced by `by`; `what` is not empty.
std::string replaced(std::string_view text, std::string_view what, std::string_view by);

// Threads: const use is safe. Bytes that are not valid UTF-8 stay as they are.
class Normalizer {
 public:
  // Throws DataError for a pattern that is refused (PieceRegex).
  Normalizer(std::vector<NormalizerStep> steps, std::shared_ptr<const UnicodeTable> table);

  bool changes_nothing() const { return steps_.empty(); }

  // Each step in turn. `text` itself when they change nothing, else a view of `*storage`.
  std::string_view normalize(std::string_view text, Before before, PieceRegex::Scratch* scratch,
                             std::string* storage) const;

  // Whether text may be cut between a newline and a printable character in ASCII, with a printable one before the newline: each
  // part then becomes what it becomes as a part of the whole.
  bool may_cut_at_newlines() const;

 private:
  std::string_view apply(std::size_t step, std::string_view text, Before before, PieceRegex::Scratch* scratch,
                         std::string* storage) const;

  std::vector<NormalizerStep> steps_;
  std::vector<std::unique_ptr<const PieceRegex>> patterns_;  // by step, null for other kinds
  std::shared_ptr<const UnicodeTable> table_;
  Nfc nfc_;
};

}  // namespace troika::tokenizer
