// The four kinds of error a module may throw. Modules throw and add context on the way up; only main.cc prints and exits.
#pragma once

#include <cstddef>
#include <exception>
#include <string>

#include "base/language.h"
#include "base/text.h"

namespace troika::base {

enum class Cause : int;  // base/cause.h; Cause{} where no cause is told

inline constexpr int exit_peer_lost = 75;     // another rank or the network failed; the same again may succeed
inline constexpr int exit_interrupted = 130;  // stopped on request, after saving

// Base of the four kinds below. `what()` is one plain sentence with numbers and a remedy, context lines after it.
// Content of files may be in it, so it is kept printable() and each part of it below 16 KiB.
class Error : public std::exception {
 public:
  const char* what() const noexcept override { return text_.c_str(); }

  // The same for a reader of `language`; English where the error was made of an English sentence alone.
  const std::string& in(Language language) const {
    return language == Language::chinese && !chinese_.empty() ? chinese_ : text_;
  }

  // The exit code that main.cc returns for this kind.
  int exit_code() const { return exit_code_; }

  // The cause, for programs that advise: nobody searches the sentence for it.
  Cause cause() const { return cause_; }

  // Appends where it happened, innermost first: `catch (Error& e) { e.add_context(say("while running {} on rank {}", ...)); throw; }`.
  void add_context(const Text& where) {
    text_ += "\n  " + printable(where.english, most_bytes);
    if (!chinese_.empty()) chinese_ += "\n  " + printable(where.chinese, most_bytes);
  }

 protected:
  Error(const std::string& text, int exit_code, Cause cause)
      : text_(printable(text, most_bytes)), exit_code_(exit_code), cause_(cause) {}
  Error(const Text& text, int exit_code, Cause cause)
      : text_(printable(text.english, most_bytes)),
        chinese_(printable(text.chinese, most_bytes)),
        exit_code_(exit_code),
        cause_(cause) {}

 private:
  static constexpr std::size_t most_bytes = 16384;
  std::string text_, chinese_;
  int exit_code_;
  Cause cause_;
};

// The user can fix it: a setting or a flag. Exit code 2.
class ConfigError : public Error {
 public:
  explicit ConfigError(const Text& text, Cause cause = Cause{}) : Error(text, 2, cause) {}
};

// A file is missing, empty, damaged or of the wrong kind. Exit code 3.
class DataError : public Error {
 public:
  explicit DataError(const Text& text, Cause cause = Cause{}) : Error(text, 3, cause) {}
};

// Another rank or the network failed. Exit code exit_peer_lost.
class PeerError : public Error {
 public:
  explicit PeerError(const Text& text, Cause cause = Cause{}) : Error(text, exit_peer_lost, cause) {}
};

// Troika is wrong. Exit code 70.
class BugError : public Error {
 public:
  explicit BugError(const std::string& text, Cause cause = Cause{}) : Error(text, 70, cause) {}
};

}  // namespace troika::base
