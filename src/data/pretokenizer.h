// Cuts text into the pieces inside which BPE merges, by the regular expressions of a tokenizer.json (PCRE2 with UTF and
// Unicode properties). Text between two matches is a piece of its own; several patterns are applied one after the
// other. Bytes that are not valid UTF-8 are pieces of one byte each, and the text before and after them is cut as if it
// stood alone.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace troika::data {

extern const char* const gpt2_pattern;    // GPT-2, and ByteLevel with use_regex
extern const char* const qwen2_pattern;   // Qwen 2 and 3: digits one by one, punctuation takes newlines along
extern const char* const llama3_pattern;  // Llama 3: the same with up to three digits

// Threads: const use is safe; each thread needs its own Scratch.
class PreTokenizer {
 public:
  // Throws DataError for a pattern that PCRE2 refuses or that can match nothing. No patterns: the whole text is one
  // piece.
  explicit PreTokenizer(std::vector<std::string> patterns);
  ~PreTokenizer();
  PreTokenizer(const PreTokenizer&) = delete;
  PreTokenizer& operator=(const PreTokenizer&) = delete;

  // Working memory of one caller.
  class Scratch {
   public:
    Scratch();
    ~Scratch();
    Scratch(const Scratch&) = delete;
    Scratch& operator=(const Scratch&) = delete;

   private:
    friend class PreTokenizer;
    struct Memory;
    std::unique_ptr<Memory> memory_;
  };

  // Appends the pieces of `text` in order; they view into `text` and cover all of it.
  void split(std::string_view text, Scratch* scratch, std::vector<std::string_view>* pieces) const;

  const std::vector<std::string>& patterns() const { return patterns_; }

  // As Tokenizer::next_cut, for pieces. Known places: behind a newline that stands between two printable ASCII
  // characters, for the three patterns above (none of them matches across such a place, nor looks across it).
  std::size_t next_cut(std::string_view text, std::size_t from) const;

 private:
  struct Compiled;
  void split_valid(std::string_view text, std::size_t level, Scratch* scratch,
                   std::vector<std::string_view>* out) const;

  std::vector<std::string> patterns_;
  std::vector<std::unique_ptr<Compiled>> compiled_;
  bool cuts_at_newlines_;
};

}  // namespace troika::data
