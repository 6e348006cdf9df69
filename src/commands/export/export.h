// The verb `export`: writes a model as a folder that Hugging Face's tools load, or as a GGUF file.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/language.h"
#include "commands/verbs.h"
#include "config/flag_table.h"

namespace troika::commands {

int run_export(const std::vector<std::string>& arguments, base::Language language = base::Language::english);

// The command line of `troika export`.

// The type of the written weights; automatic: that of the folder the run began from, else fp32.
enum class ExportType { automatic, fp32, bf16, fp16, q8_0 };
constexpr config::Words<5> words_of(ExportType) { return {"auto", "fp32", "bf16", "fp16", "q8_0"}; }

struct ExportArguments {
  std::string from;
  std::string to;         // without a slash at its end
  std::string base;       // beside an adapter; empty: the one that it names
  std::string tokenizer;  // a folder whose files go along; empty: the source's
  ExportType type = ExportType::automatic;
  bool merge = false;
  bool adapter = false;  // in a GGUF file: the adapter alone
  std::int64_t shard_bytes = 5000000000;  // the most of tensors in one file
  std::int64_t threads = 0;               // 0: all cores
};

config::FlagTable export_flags(ExportArguments& a);
ExportArguments parse_export_arguments(const std::vector<std::string>& words);  // ConfigError

}  // namespace troika::commands
