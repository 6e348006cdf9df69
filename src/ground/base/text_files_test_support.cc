#include "base/text_files_test_support.h"

#include <cstdlib>
#include <filesystem>
#include <stdexcept>

#include "base/file.h"
#include "base/random.h"

namespace troika::base {

TestFolder::TestFolder() : path_((std::filesystem::temp_directory_path() / "troika-data-XXXXXX").string()) {
  if (::mkdtemp(path_.data()) == nullptr) throw std::runtime_error("no temporary folder");
}

TestFolder::~TestFolder() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

std::string TestFolder::write(const std::string& name, const std::string& content) const {
  const std::string path = path_ + "/" + name;
  make_directories(std::filesystem::path(path).parent_path().string());
  write_file_atomic(path, content);
  return path;
}

std::string random_text(const std::string& alphabet, std::size_t size, std::uint64_t seed) {
  const Philox random(seed, "test text");
  std::string text;
  for (std::size_t i = 0; i < size; ++i) text.push_back(alphabet[random.bits(i) % alphabet.size()]);
  return text;
}

std::string source_like_text(std::size_t lines, std::uint64_t seed) {
  static const char* const words[] = {"int",   "return",   "value",  "#define",  "MAX_SIZE", "{",
                                      "}",     "//  note", "const",  "0x1F",     "  ",       "\t",
                                      "don't", "naïve",    "size_t", "(a + b);", "==",       "日本",
                                      "12345", "___",      "std::",  "\r",       "",         "vector<int>"};
  const Philox random(seed, "test source");
  std::string text;
  for (std::size_t line = 0, draw = 0; line < lines; ++line) {
    for (std::uint64_t left = random.bits(draw++) % 9; left > 0; --left) {
      text += words[random.bits(draw++) % (sizeof words / sizeof *words)];
      if (random.bits(draw++) % 4 != 0) text += " ";
    }
    text += "\n";
  }
  return text;
}

std::string contents_of(const std::string& folder) {
  std::string all;
  for (const std::string& name : list_directory(folder)) all += name + "\n" + read_file(folder + "/" + name) + "\n";
  return all;
}

}  // namespace troika::base
