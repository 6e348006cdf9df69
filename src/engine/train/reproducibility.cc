#include "train/reproducibility.h"

#include <fmt/format.h>

#include "base/error.h"
#include "base/file.h"
#include "base/say.h"
#include "base/text.h"
#include "comm/collectives.h"
#include "config/fields.h"
#include "cpu/gemm.h"
#include "tensor/device.h"

namespace troika::train {
namespace {

std::string text_of_traits(const Traits& traits) {
  std::string text;
  for (const auto& [name, value] : traits) text += base::join({name, value.english, value.chinese}, "\t") + '\n';
  return text;
}

Traits parse(const std::string& text) {
  Traits traits;
  for (const std::string& line : base::split(text, '\n')) {
    const std::vector<std::string> words = base::split(line, '\t');
    if (words.size() == 3) traits.emplace_back(words[0], base::Text{words[1], words[2]});
  }
  return traits;
}

// The settings on which the order of a sum depends.
std::vector<std::string> keys_of_sums(const config::Settings& saved, const config::Settings& now) {
  std::vector<std::string> keys{"parallel.tp", "parallel.cp", "batch.micro_batch_size", "batch.tokens_per_microbatch", "precision.compute"};
  if (saved.parallel.tp > 1 && now.parallel.tp > 1) keys.push_back("parallel.sequence_parallel");
  const bool floats = config::adds_in_floats(now.parallel.reproducible);
  if (config::adds_in_floats(saved.parallel.reproducible) != floats) keys.push_back("parallel.reproducible");
  if (floats) {
    for (const char* key : {"dp", "pp", "zero", "shares", "schedule", "schedule_file", "virtual_stages"})
      keys.push_back(fmt::format("parallel.{}", key));
  }
  return keys;
}

}  // namespace

// x86 calls it "model name"; on ARM the kernel gives numbers for the maker and the part.
std::string processor_name() {
  std::string name, maker, part;
  try {
    for (const std::string& line : base::split(base::read_file("/proc/cpuinfo"), '\n')) {
      const auto colon = line.find(':');
      if (colon == std::string::npos) continue;
      const std::string key = base::trim(line.substr(0, colon)), value = base::trim(line.substr(colon + 1));
      if (key == "model name" && name.empty()) name = value;
      if (key == "CPU implementer" && maker.empty()) maker = value;
      if (key == "CPU part" && part.empty()) part = value;
    }
  } catch (const base::DataError&) {  // no /proc here
  }
  if (!name.empty()) return name;
  return maker.empty() ? "unknown" : fmt::format("ARM {} {}", maker, part);
}

Traits traits_of_this_rank(const tensor::Device& device) {
  const auto name = [](base::Phrase phrase) { return std::string(phrase.english()); };
  Traits traits{{name(base::Phrase("the processor")), base::verbatim(processor_name())},
                {name(base::Phrase("the device")), tensor::describe(device)},
                {name(base::Phrase("the matrix library")), base::verbatim(cpu::product_library())}};
  try {
    traits.emplace_back(name(base::Phrase("the program's fingerprint")), base::verbatim(base::hash_file("/proc/self/exe")));
  } catch (const base::DataError&) {  // no /proc here
  }
  return traits;
}

base::Text different_ranks(comm::Channel& world, const Traits& mine) {
  if (world.size() == 1) return {};
  const std::vector<std::string> all = comm::all_gather_text(world, text_of_traits(mine));
  const Traits first = parse(all[0]);
  for (std::size_t rank = 1; rank < all.size(); ++rank) {
    const Traits other = parse(all[rank]);
    for (std::size_t i = 0; i < first.size() && i < other.size(); ++i) {
      if (first[i].first == other[i].first && first[i].second.english == other[i].second.english) continue;
      return base::say(
          "{} is '{}' on rank 0 but '{}' on rank {}; results may differ in the last bits from those of equal ranks",
          base::say(base::Phrase(first[i].first)), first[i].second, other[i].second, rank);
    }
  }
  return {};
}

base::Text differences(const std::vector<std::string>& keys, const config::Settings& saved,
                       const config::Settings& now) {
  std::vector<base::Text> found;
  for (const std::string& key : keys) {
    const config::Field& field = config::field_of(key);
    const std::string before = config::get_text(field, saved), after = config::get_text(field, now);
    if (before != after) found.push_back(base::say("{} changed from {} to {}", key, before, after));
  }
  return base::join(found, ", ", "，");
}

base::Text different_sums(const config::Settings& saved, const config::Settings& now) {
  const base::Text found = differences(keys_of_sums(saved, now), saved, now);
  if (found.empty()) return {};
  return base::say("since the checkpoint {}; the run resumes within rounding, not bit-identically", found);
}

base::Text note_or_refuse(const config::Settings& settings, const base::Text& sentence) {
  if (!sentence.empty() && settings.parallel.reproducible == config::Reproducible::bits)
    throw base::ConfigError(base::say("{}: parallel.reproducible=bits does not allow that; change it, or set reproducible to run", sentence));
  return settings.parallel.reproducible == config::Reproducible::off ? base::Text{} : sentence;
}

}  // namespace troika::train
