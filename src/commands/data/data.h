// troika data: text -> token shards, text -> tokenizer, a look into shards, text -> ids and back.
#pragma once

#include <cstdint>
#include <cstdio>
#include <optional>
#include <string>
#include <vector>

#include "commands/verbs.h"
#include "config/flag_table.h"
#include "data/made_once.h"

namespace troika::commands {

// The parts of the verb are in arguments.h. Writes the result to `out` and, from time to time, one line of progress to
// `progress` (null: none). Returns 0. Throws ConfigError for wrong arguments, DataError for wrong files.
int run_data(const Call& call, std::FILE* out, std::FILE* progress);

// What the parts that read text have in common.
struct CorpusArguments {
  std::vector<std::string> inputs;
  std::string text_key = "text";
  std::int64_t workers = 0;  // threads; 0: all cores
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

// Beside them stand the settings of train, or prepared shards.
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

// Progress on the screen: a bar on a terminal, elsewhere a line every ten seconds; nothing where `to` is null. `what`: "tokenizing",
// in the language of the screen.
data::OnProgress shown_progress(const std::string& what, std::FILE* to);

}  // namespace troika::commands
