#include "config/import/llama_factory_keys.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/error.h"
#include "base/text.h"
#include "config/fields.h"
#include "config/import/tables.h"

namespace troika::config {
namespace {

using Meaning = LlamaFactoryKey::Meaning;
using Rows = std::vector<LlamaFactoryKey>;

Meaning meaning_named(std::string_view word) {
  constexpr std::array<std::string_view, 5> words = {"spelling", "lora", "combined", "idle", "refused"};
  const auto found = std::find(words.begin(), words.end(), word);
  if (found == words.end()) throw base::BugError(fmt::format("'{}' is no meaning of a key", word));
  return static_cast<Meaning>(found - words.begin());
}

// A line of tables/llama_factory.txt, which says how they are written.
void read_keys(std::string_view line, Rows* rows) {
  const Meaning meaning = meaning_named(base::cut_at(": ", &line));
  std::string_view keys = base::cut_at(": ", &line);
  while (!keys.empty()) rows->push_back({base::cut_at(" ", &keys), meaning, line});
}

Rows read_table() {
  Rows rows;
  for (const std::string_view line : lines_of_table("llama_factory.txt")) read_keys(line, &rows);
  return rows;
}

}  // namespace

const std::vector<LlamaFactoryKey>& llama_factory_keys() {
  static const Rows all = read_table();
  return all;
}

const LlamaFactoryKey* find_llama_factory_key(std::string_view name) {
  const std::string wanted = normalised(name);
  const LlamaFactoryKey* prefixed = nullptr;
  for (const auto& row : llama_factory_keys()) {
    const std::string known = normalised(row.name);
    if (known == wanted) return &row;
    if (known.back() == '*' && wanted.compare(0, known.size() - 1, known, 0, known.size() - 1) == 0) prefixed = &row;
  }
  return prefixed;
}

const std::vector<LlamaFactoryDefault>& llama_factory_defaults() {
  static const std::vector<LlamaFactoryDefault> rows = {
      {"data.folder", "data"},         {"data.dedup", "false"},
      {"batch.seq_len", "2048"},       {"batch.micro_batch_size", "8"},
      {"parallel.recompute", "full"},  {"optimizer.lr", "5e-05"},
      {"optimizer.min_lr", "0"},       {"optimizer.beta2", "0.999"},
      {"optimizer.weight_decay", "0"}, {"optimizer.lr_schedule", "linear"},
      {"optimizer.lr_at", "start"},
      {"train.epochs", "3"},           {"train.seed", "42"},
      {"checkpoint.every", "500"},     {"checkpoint.every_minutes", "0"},
      {"checkpoint.keep", "1000000"},
  };
  return rows;
}

}  // namespace troika::config
