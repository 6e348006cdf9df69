// A flat YAML file of another program: keys at top level, each with its value as written.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/language.h"

namespace troika::config {

struct FlatKey {
  enum class Kind { nothing, text, object };
  std::string name;  // as written
  Kind kind = Kind::nothing;
  std::string text;   // of a scalar; the parts of a list, joined by commas; the JSON of an object, its scalars as text
  base::Text origin;  // "run.yaml line 3"

  bool asks_nothing() const;  // nothing, or a word for it: false, none
};

// Names may be written with '-' or '_'.
class FlatKeys {
 public:
  FlatKeys(base::Text file, std::vector<FlatKey> keys) : file_(std::move(file)), keys_(std::move(keys)) {}

  const base::Text& file() const { return file_; }  // its path, or words for it
  const std::vector<FlatKey>& all() const { return keys_; }
  const FlatKey* find(std::string_view name) const;  // nullptr when absent or without a value
  std::string text(std::string_view name, const std::string& otherwise = "") const;

 private:
  base::Text file_;
  std::vector<FlatKey> keys_;
};

// The vocabularies of other programs, files that are part of this one.
struct Asset {
  std::string_view path;   // below src/ground/config/import/tables
  std::string_view bytes;  // as long as the program runs
};
std::vector<Asset> import_tables();  // by path

// The lines of a table (base/text.h). BugError where there is none of that path.
std::vector<std::string_view> lines_of_table(std::string_view path);

}  // namespace troika::config
