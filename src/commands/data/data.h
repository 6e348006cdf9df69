// troika data: text -> token shards, text -> tokenizer, a look into shards, text -> ids and back.
#pragma once

#include <cstdint>
#include <cstdio>
#include <optional>
#include <string>
#include <vector>

#include "base/language.h"
#include "commands/verbs.h"
#include "config/config.h"
#include "config/flag_table.h"
#include "data/made_once.h"

namespace troika::commands {

// Writes the result to `out` and, from time to time, one line of progress to
// `progress` (null: none). Returns 0. Throws ConfigError for wrong arguments, DataError for wrong files.
int run_data(const Call& call, std::FILE* out, std::FILE* progress);

// The common flags of the parts that read text.
struct CorpusArguments {
  std::vector<std::string> inputs;
  std::string text_key = "text";
  std::int64_t workers = 0;  // threads; 0: all cores. What is written does not depend on it.
};

struct PrepareArguments : CorpusArguments {
  std::string tokenizer, out;
};

struct TokenizerArguments : CorpusArguments {
  std::string out;
  std::int64_t vocab = 8192;
};

struct EncodeArguments : CorpusArguments {
  std::string tokenizer;
  bool statistics = false;
};

struct DecodeArguments {
  std::string ids = "-";  // -: the standard input
  std::string tokenizer;
  bool json_lines = false;
};

enum class Colors { automatic, always, never };
constexpr config::Words<3> words_of(Colors) { return {"auto", "always", "never"}; }

// These go with the settings of train, or with prepared shards.
struct InspectArguments {
  std::optional<std::int64_t> samples;
  std::optional<std::int64_t> sample;  // that one; else evenly spread ones
  bool ids = false;
  Colors colors = Colors::automatic;
  std::string tokenizer;  // of shards; empty: they are shown as ids
};

config::FlagTable prepare_flags(PrepareArguments& a);
config::FlagTable tokenizer_flags(TokenizerArguments& a);
config::FlagTable encode_flags(EncodeArguments& a);
config::FlagTable decode_flags(DecodeArguments& a);
config::FlagTable inspect_flags(InspectArguments& a);

// Writes one line per document to `out`: its ids as a JSON array. A document is a text file, or a line of a .jsonl file; lines
// without text are passed over. No begin or end marks are added. Throws DataError for bad input (data::find_corpus).
void encode_texts(const EncodeArguments& a, std::FILE* out);

// Tokenizes the same and gives how much and how fast, as lines.
base::Text encode_statistics(const EncodeArguments& a);

// Reads lines of ids, arrays or numbers between spaces or commas, and writes their bytes: one after another, or per line an object
// {"text": ...} (where bytes are not valid UTF-8 then U+FFFD).
// Throws DataError that names the line for what is no id of the vocabulary.
void decode_ids(const DecodeArguments& a, std::FILE* out);

// Reads and verifies everything. `samples` documents, evenly spread, are shown: as text when `tokenizer` (a spec, "" for none) is
// given, else as ids. Throws DataError for damage and when the tokenizer is not the one that made the shards.
std::string inspect_shards(const std::string& path, std::int64_t samples, const std::string& tokenizer,
                           base::Language language);

// `arguments`: settings of train (data, batch.seq_len, model.path, a YAML file) and the flags of inspect_flags. Opens
// data.train, or data.valid where that alone is given, as train does and into the same cache. Writes counts and samples
// to `out`, progress to `progress` (null: none). ConfigError, DataError.
void inspect_samples(const std::vector<std::string>& arguments, const config::Environment& environment,
                     base::Language language, std::FILE* out, std::FILE* progress);

// Progress on the screen: a bar on a terminal, elsewhere a line every ten seconds; nothing where `to` is null. `what`: "tokenizing".
data::OnProgress shown_progress(const base::Text& what, std::FILE* to, base::Language language);

}  // namespace troika::commands
