// A regular expression that cuts text into pieces, run by PCRE2 with UTF and Unicode properties. If PCRE2 interprets a
// pattern differently from Oniguruma, which Hugging Face uses, it is configured to match Oniguruma (\s is White_Space,
// \w has marks, ^ and $ match at every line), or the pattern is refused.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

namespace troika::tokenizer {

// Threads: const use is safe; each thread needs its own Scratch.
class PieceRegex {
 public:
  // Throws DataError for a pattern that PCRE2 refuses, that can match nothing, that is longer than 64 KiB, or, by name, for
  // what Oniguruma reads otherwise: \b \B \h \H \v \V \Q \E, \W or [ or && in a class, (?m) and (?x), {n}+ and {,n}.
  explicit PieceRegex(std::string pattern);
  ~PieceRegex();
  PieceRegex(PieceRegex&&) noexcept;
  PieceRegex& operator=(PieceRegex&&) = delete;

  // Working memory of one caller, and the steps that patterns may still take on its text.
  class Scratch {
   public:
    Scratch();
    void begin_text(std::size_t bytes);  // gives all of them back
    ~Scratch();
    Scratch(const Scratch&) = delete;
    Scratch& operator=(const Scratch&) = delete;

   private:
    friend class PieceRegex;
    struct Memory;
    std::unique_ptr<Memory> memory_;
  };

  enum class Part { match, between };
  using OnPart = std::function<void(std::string_view, Part)>;

  // Gives the matches and the text between them in order; never an empty piece. `text` must be valid UTF-8. Throws DataError
  // that names the pattern when it takes more steps than `scratch` has left: matches of at most 2,000 are free, for all others of
  // a text together there are ten million, and 128 for each of its bytes.
  void cut(std::string_view text, Scratch* scratch, const OnPart& on_part) const;

 private:
  struct Compiled;
  int match(std::string_view text, std::size_t at, Scratch* scratch) const;  // what PCRE2 returns

  std::string pattern_;
  std::unique_ptr<Compiled> compiled_;
};

}  // namespace troika::tokenizer
