// The four kinds of error a room may throw. Rooms throw and add context on the way up; only main.cc prints and exits.
#pragma once

#include <exception>
#include <string>
#include <utility>

namespace troika::base {

// Base of the four kinds below. `what()` is one plain sentence with numbers and a remedy, context lines behind it.
class Error : public std::exception {
 public:
  const char* what() const noexcept override { return text_.c_str(); }

  // The exit code that main.cc returns for this kind.
  int exit_code() const { return exit_code_; }

  // Appends where it happened, innermost first: `catch (Error& e) { e.add_context("while running fwd 2.1 on rank 5"); throw; }`.
  void add_context(const std::string& where) { text_ += "\n  " + where; }

 protected:
  Error(std::string text, int exit_code) : text_(std::move(text)), exit_code_(exit_code) {}

 private:
  std::string text_;
  int exit_code_;
};

// The user can fix it: a setting or a flag. Exit code 2.
class ConfigError : public Error {
 public:
  explicit ConfigError(std::string text) : Error(std::move(text), 2) {}
};

// A file is missing, empty, damaged or of the wrong kind. Exit code 3.
class DataError : public Error {
 public:
  explicit DataError(std::string text) : Error(std::move(text), 3) {}
};

// Another rank or the network failed. Exit code 75.
class PeerError : public Error {
 public:
  explicit PeerError(std::string text) : Error(std::move(text), 75) {}
};

// Troika is wrong. Exit code 70.
class BugError : public Error {
 public:
  explicit BugError(std::string text) : Error(std::move(text), 70) {}
};

inline constexpr int exit_interrupted = 130;  // stopped on request, after saving

}  // namespace troika::base
