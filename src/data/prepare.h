// Raw text -> token shards, once.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "config/settings.h"
#include "data/dataset.h"
#include "data/progress.h"
#include "data/tokenizer.h"

namespace troika::data {

struct PrepareOptions {
  std::string text_key = "text";
  std::int64_t workers = 0;                               // threads; 0: all cores. The shards do not depend on it.
  std::int64_t tokens_per_shard = std::int64_t{1} << 28;  // a shard ends with the document that reaches this
};

struct PrepareReport {
  std::int64_t bytes = 0, documents = 0, tokens = 0, shards = 0;
  std::int64_t duplicate_documents = 0;  // left out
  std::int64_t binary_files = 0;         // of folders, passed over
  bool reused = false;  // the folder held exactly this already; the other numbers are those of the folder
};

// Tokenizes text files (one document each), .jsonl files (a document per line) and folders of them into `folder`:
// tokens-00000.bin ... and index.json. Each document ends with the tokenizer's end mark. The folder appears whole or
// not at all. Throws ConfigError when `folder` holds something else already, DataError for bad input (see find_corpus).
PrepareReport prepare(const std::vector<std::string>& inputs, const Tokenizer& tokenizer, const std::string& folder,
                      const PrepareOptions& options, const OnProgress& on_progress);

// Shards at `path` (a shard folder or .bin file) are opened as they are; they must come from `tokenizer` (DataError).
// Text is prepared into cache_folder/<hash of tokenizer, names, sizes and contents> by the first process that comes -
// the others wait for it - and reused from then on; a damaged cache is made anew. Uses text_key and workers of
// `settings`.
std::shared_ptr<const TokenStream> open_or_prepare(const config::DataSettings& settings, const std::string& path,
                                                   const std::string& cache_folder, const Tokenizer& tokenizer,
                                                   const OnProgress& on_progress);

}  // namespace troika::data
