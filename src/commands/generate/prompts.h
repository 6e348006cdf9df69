// Files of prompts, and of what became of them: JSONL.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/language.h"
#include "config/settings/settings.h"
#include "inference/generate.h"
#include "tokenizer/tokenizer.h"

namespace troika::commands {

struct PromptLine {
  nlohmann::json object;  // the whole line
  std::string prompt;     // its key "prompt", else "text"
  int number = 0;         // of the line in the file, from 1
};

// Lines that are not blank. DataError naming file and line.
std::vector<PromptLine> read_prompts(const std::string& path);

// Describes a text by keys of `object`: completion, tokens, finish. A character that the text ends inside of becomes U+FFFD, for
// JSON holds whole characters only.
void describe(const inference::Text& text, const std::string& completion, nlohmann::json* object);
std::string to_line(const nlohmann::json& object);  // with a newline

// Writes numbered lines in their order, each as soon as it and all before it are there. DataError when the file cannot be
// written.
class OrderedLines {
 public:
  explicit OrderedLines(const std::string& path);  // an existing file is replaced
  ~OrderedLines();
  OrderedLines(const OrderedLines&) = delete;
  OrderedLines& operator=(const OrderedLines&) = delete;

  void add(std::size_t index, std::string line);

 private:
  const std::string path_;
  std::FILE* file_;
  std::size_t next_ = 0;
  std::map<std::size_t, std::string> waiting_;
};

// How far a file of texts has come: a line on stderr, at most one a second.
class BatchProgress {
 public:
  BatchProgress(std::size_t total, base::Language language);

  void add(std::size_t tokens) { tokens_ += tokens; }
  void show(std::size_t done);

 private:
  const std::size_t total_;
  const base::Language language_;
  const double begin_;
  double last_;
  std::size_t tokens_ = 0;
};

// The ids of `prompt` behind the tokenizer's begin_ids(), which are not repeated where the prompt brings them; for an
// empty prompt the begin ids alone, and without any the end-of-document mark. ConfigError, with `what` as the prompt's
// name, when that is nothing, when the model does not know one of the ids, or when it has no position left for another.
std::vector<std::int32_t> ids_of(const std::string& prompt, const tokenizer::Tokenizer& tokenizer,
                                 const config::ModelSettings& model, base::Origin what);

// ConfigError when the model, which knows `vocab` tokens, does not know one of the ids.
void check_ids(const std::vector<std::int32_t>& ids, std::int64_t vocab, base::Origin what);

}  // namespace troika::commands
