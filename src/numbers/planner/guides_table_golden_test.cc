// Models of 1 to 70 billion parameters on 4 to 64 devices. When a line differs, the new text is written beside the build; read
// it, then copy it.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "base/file.h"
#include "base/units.h"
#include "config/presets.h"
#include "machine/profiles.h"
#include "planner/reasons.h"

namespace troika::planner {
namespace {

std::string line_of(const std::string& preset, int devices) {
  Question q;
  q.settings.model = config::find_preset(preset);
  q.settings.batch.seq_len = 4096;
  q.settings.comm.backend = config::Backend::nccl;
  q.fixed.precision = config::Precision::bf16;
  q.global = 256;
  const machine::Profile profile = machine::find_profile("h100");
  q.cluster.hosts = {profile.host};
  q.cluster.hosts.front().devices = std::min(devices, 8);
  q.cluster.hosts.front().count = std::max(1, devices / 8);
  q.cluster.network = profile.network;
  q.world = devices;
  q.top = 1;
  const Answer answer = search(q);
  std::string text = fmt::format("{} on {} x h100: ", preset, devices);
  if (answer.best.empty()) return text + nothing_fits(q, answer).english + "\n";
  const Estimate& best = answer.best.front();
  text +=
      fmt::format("{}; {} positions/s, {:.0f} % MFU\n", name_of(best.layout),
                  base::format_count(static_cast<std::int64_t>(best.tokens_per_second())), 100 * best.utilisation());
  for (const base::Text& sentence : three_questions(q)) text += "    " + sentence.english + "\n";
  for (const base::Text& sentence : reasons_of(q, best)) text += "    " + sentence.english + "\n";
  return text;
}

struct Row {
  std::string preset;
  std::vector<int> devices;
};

void expect_golden(const std::string& name, const std::vector<Row>& rows) {
  std::string text;
  for (const Row& row : rows) {
    for (const int devices : row.devices) text += line_of(row.preset, devices);
  }
  const std::string path = TROIKA_SOURCE_DIR "/src/numbers/planner/golden/" + name;
  const std::string expected = base::file_exists(path) ? base::read_file(path) : "";
  if (text == expected) return;
  const std::string fresh = TROIKA_BINARY_DIR "/" + name;
  base::write_file_atomic(fresh, text);
  FAIL() << path << " differs from what is printed now, which stands in " << fresh;
}

TEST(GuidesTable, IsTheGoldenFile) {
  expect_golden("guides_table.txt", {{"llama3.2-1b", {4, 8, 16, 32, 64}},
                                     {"llama3.2-3b", {4, 8, 16, 32, 64}},
                                     {"llama3-8b", {4, 8, 16, 32, 64}}});
}

// Models that barely fit take the longest search.
TEST(FullGuidesTable, OfLargerModelsIsTheGoldenFile) {
  expect_golden("guides_table_full.txt", {{"qwen3-32b", {4, 8, 16, 32, 64}}, {"llama3-70b", {4, 8, 16, 32, 64}}});
}

}  // namespace
}  // namespace troika::planner
