// Flags that the verbs which draw text from a model share: which model, how tokens are drawn, on what machine.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "config/flag_table.h"

namespace troika::commands {

// Whether the model's generation_config.json is followed.
enum class Advice { followed, none };
constexpr config::Words<2> words_of(Advice) { return {"auto", "none"}; }

// Values that are not set follow the model's generation_config.json, then the defaults in the help text.
struct TextArguments {
  std::string path;
  std::string base;       // beside an adapter at path; empty: the one that it names
  std::string tokenizer;  // empty: the model's

  Advice advice = Advice::followed;
  std::int64_t new_tokens = 100;
  std::optional<double> temperature, top_p, min_p, repetition_penalty;
  std::optional<std::int64_t> top_k;
  std::uint64_t seed = 1;
  std::vector<std::string> stop_texts;
  std::vector<std::int64_t> stop_ids;  // each fits 32 bits

  config::Precision precision = config::Precision::fp32;
  std::optional<std::string> input, output;  // files of lines; both or none
  std::int64_t together = 8;                 // lines of input at a time
  std::string device = "auto";
  std::int64_t threads = 0;  // 0: all cores
};

void add_text_flags(config::FlagTable& table, TextArguments& a);

// The refusals that all these verbs share.
void check_text_arguments(const TextArguments& a, config::FlagReading* reading);

}  // namespace troika::commands
