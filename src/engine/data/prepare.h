// Raw text -> token shards, once; raw text -> a tokenizer.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "data/corpus.h"
#include "data/encoded_chunk.h"
#include "data/made_once.h"
#include "data/sequence_file.h"
#include "data/token_stream.h"
#include "tokenizer/bpe.h"
#include "tokenizer/tokenizer.h"

namespace troika::data {

struct PrepareOptions {
  std::string text_key = "text";
  std::int64_t workers = 0;                               // threads; 0: all cores. The shards do not depend on it.
  std::int64_t tokens_per_shard = std::int64_t{1} << 28;  // a shard ends with the document that reaches this
  std::int64_t max_documents = 0;                         // the first ones of the input; 0: all
  JsonFiles json_files = JsonFiles::documents;            // what .json files are
};

struct PrepareReport {
  std::int64_t bytes = 0, documents = 0, tokens = 0, shards = 0;
  std::int64_t duplicate_documents = 0;    // left out
  LeftOut left_out = {};                   // of folders
  std::vector<std::string> not_utf8 = {};  // files of text that have other bytes near their beginning
  std::int64_t dropped_bytes = 0;          // of the documents, that no token of the vocabulary spells
  bool reused = false;  // the folder held exactly this already; the other numbers are those of the folder
};

// Tokenizes text files (one document each), .jsonl files (a document per record) and folders of them, compressed or not,
// into `folder`: tokens-00000.bin ... and index.json. Each document ends with the tokenizer's end mark. The folder appears
// whole or not at all. What was done when a process was killed lies in `folder`.parts.HASH, and the next one with the same
// inputs resumes there. A folder that holds exactly this is verified as a whole, and gets hashes of its pieces where it has
// none. Throws ConfigError when `folder` holds something else already, DataError for bad input (see find_corpus).
PrepareReport prepare(const std::vector<std::string>& inputs, const tokenizer::Tokenizer& tokenizer,
                      const std::string& folder, const PrepareOptions& options, const OnProgress& on_progress);

// Shards at `path` (a shard folder or .bin file); they must come from `tokenizer` (DataError).
std::shared_ptr<const TokenStream> open_shards(const std::string& path, const tokenizer::Tokenizer& tokenizer);

// Text is prepared into cache_folder/<hash of tokenizer, names, sizes and contents> by the first process that comes -
// the others wait for it, and receive its progress - and reused from then on; a damaged cache is made again.
std::shared_ptr<const TokenStream> prepare_once(const std::vector<std::string>& inputs,
                                                const tokenizer::Tokenizer& tokenizer, const std::string& cache_folder,
                                                const PrepareOptions& options, const OnProgress& on_progress);

// Conversations -> a sequence file, once per host.
enum class Equal { all_kept, first_kept };  // of equal sequences

struct TokenizeOptions {
  std::int64_t workers = 0;      // threads; 0: all cores. The file does not depend on it.
  std::int64_t max_records = 0;  // the first ones; 0: all
  Equal equal = Equal::first_kept;
};

// All records of `corpus`, at full length, in cache_folder/<hash of all that decides them>.sequences. The first process
// that comes makes it; the others wait, and receive its progress. What is done lies in parts of about 1 MiB of input
// beside it: after a kill the next process resumes there. DataError for bad records and when none has an answer.
std::shared_ptr<const SequenceFile> tokenize_once(const Corpus& corpus, const Encoding& encoding,
                                                  const std::string& cache_folder, const TokenizeOptions& options,
                                                  const OnProgress& on_progress);

struct TrainedBpe {
  tokenizer::BpeModel model;
  std::int64_t left_out_bytes = 0;  // of long pieces beyond most_long_bytes
};

// Trains a byte-level BPE tokenizer on files of text: counts the words of all documents (exact duplicates once) and trains on them. The result does not depend on the number of
// workers.
TrainedBpe train_bpe_on_files(const std::vector<std::string>& inputs, const tokenizer::BpeTrainerOptions& options,
                              const OnProgress& on_progress);

// Removes what processes that were killed have left in a cache, by the beginning of its name. Only for the holder of the lock.
void remove_abandoned(const std::string& folder, const std::string& beginning);

}  // namespace troika::data
