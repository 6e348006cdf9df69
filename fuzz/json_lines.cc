// Files with a JSON object a line: text to train on, token ids to train on, metrics of a run.
#include <string>
#include <vector>

#include "base/text.h"
#include "data/corpus.h"
#include "data/loader.h"
#include "data/tokenized.h"
#include "fuzz/input.h"
#include "fuzz/memory_file.h"
#include "fuzz/outcome.h"
#include "metrics/step_metrics.h"

namespace troika::fuzz {

static void read_corpus(std::string_view text) {
  const data::Chunk chunk{nullptr, text, "a.jsonl", true, 1, text, true, true};
  accepted([&] {
    data::for_each_part(chunk, "text", [](const data::DocumentPart& part) {
      require(!part.view.empty() && part.document == part.view, "a line is a whole document");
    });
  });
}

static constexpr std::int64_t vocabulary = 300, most_ids = 8;

static void require_ids(const std::vector<std::int32_t>& ids) {
  for (const std::int32_t id : ids)
    require((id >= 0 && id < vocabulary) || id == data::no_target, "ids and labels are in the vocabulary");
}

static void read_tokenized(const std::string& line) {
  accepted([&] {
    const data::TokenizedLine parsed = data::parse_tokenized_line(line, vocabulary, most_ids, "a line");
    require(parsed.ids.size() <= most_ids, "a line is cut");
    require(parsed.labels.empty() || parsed.labels.size() == parsed.ids.size(), "each id has a label");
    require_ids(parsed.ids);
    require_ids(parsed.labels);
  });
}

static void read_samples(std::string_view content) {
  static MemoryFile file;
  file.set(content);
  accepted([&] {
    data::looks_tokenized(file.path());
    const data::TokenizedSamples samples(file.path(), most_ids, vocabulary);
    std::vector<std::int32_t> inputs(most_ids), targets(most_ids);
    for (std::int64_t i = 0; i < samples.samples(); ++i) {
      samples.read(i, inputs.data(), targets.data());
      require_ids(inputs);
      require_ids(targets);
    }
  });
}

static void read_metrics(const std::string& line) {
  metrics::StepMetrics row;
  if (!accepted([&] { row = metrics::parse_step_metrics(line, "a row"); })) return;
  const auto again = [](const std::string& text) { return metrics::to_json(metrics::parse_step_metrics(text, "it")); };
  const std::string second = again(metrics::to_json(row));  // the first may say -0, which JSON reads as 0
  require(again(second) == second, "a row of metrics reads back");
}

}  // namespace troika::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace troika;
  const std::string_view input = fuzz::text_of(data, size);
  fuzz::read_corpus(input);
  for (const std::string& line : base::split(input, '\n')) {
    fuzz::read_tokenized(line);
    fuzz::read_metrics(line);
  }
  fuzz::read_samples(input);
  return 0;
}
