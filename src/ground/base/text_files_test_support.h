// Folders and texts for tests of code that reads files.
#pragma once

#include <cstdint>
#include <string>

namespace troika::base {

// A fresh folder that disappears with the object.
class TestFolder {
 public:
  TestFolder();
  ~TestFolder();
  TestFolder(const TestFolder&) = delete;
  TestFolder& operator=(const TestFolder&) = delete;
  const std::string& path() const { return path_; }
  std::string operator/(const std::string& name) const { return path_ + "/" + name; }
  // Writes a file below the folder, with its parent folders, and returns its path.
  std::string write(const std::string& name, const std::string& content) const;

 private:
  std::string path_;
};

// Pseudo-random bytes drawn from `alphabet`; the same on every machine.
std::string random_text(const std::string& alphabet, std::size_t size, std::uint64_t seed);

// Something like source code: words, numbers, indentation, comments, blank lines.
std::string source_like_text(std::size_t lines, std::uint64_t seed);

// Every file below `folder` with its bytes, as one text to compare.
std::string contents_of(const std::string& folder);

// what() of the error of kind E that `action` throws; "" when it throws none.
template <class E, class Action>
std::string message_of(const Action& action) {
  try {
    action();
  } catch (const E& error) {
    return error.what();
  }
  return "";
}

}  // namespace troika::base
