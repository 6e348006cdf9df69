// The promise of the house, with real processes: the layout never changes the result.
#include <gtest/gtest.h>

#include "base/file.h"
#include "commands/train/program_test_support.h"

namespace troika::commands {
namespace {

struct Layout {
  std::string name;
  int ranks;
  Words flags;
};

const std::vector<Layout>& layouts() {
  static const std::vector<Layout> all{
      {"pp2", 2, {"--pp", "2"}},
      {"pp3-gpipe", 3, {"--pp", "3", "--schedule", "gpipe"}},
      {"pp3-1f1b", 3, {"--pp", "3", "--schedule", "1f1b"}},
      {"dp2", 2, {"--dp", "2"}},
      {"dp3", 3, {}},
      {"dp2-pp2", 4, {"--dp", "2", "--pp", "2"}},
  };
  return all;
}

class Layouts : public testing::TestWithParam<std::string> {};

// The file's text, too: the line up to the first field that measures time.
std::vector<std::string> texts(const std::string& out) {
  std::vector<std::string> lines;
  const std::string all = base::read_file(out + "/metrics.jsonl");
  for (std::size_t at = 0; at < all.size(); at = all.find('\n', at) + 1) {
    lines.push_back(all.substr(at, all.find("\"step_seconds\"", at) - at));
  }
  return lines;
}

TEST_P(Layouts, GiveTheSameLossBitsAndGradientNormsInEveryProcessCount) {
  const Folder folder;
  const std::string corpus = write_corpus(folder);
  const Words common{"--model.tie-embeddings", GetParam(), "--log.progress", "none"};
  ASSERT_EQ(run(troika(pinned_run(corpus, folder / "alone") + common)).code, 0);
  const Rows alone = read_rows(folder / "alone");
  ASSERT_EQ(alone.size(), 20u);
  EXPECT_LT(alone.back().loss, alone.front().loss - 0.3);
  for (const Layout& layout : layouts()) {
    const std::string out = folder / layout.name;
    const End end = run(launch(layout.ranks, pinned_run(corpus, out) + common + layout.flags));
    ASSERT_EQ(end.code, 0) << layout.name << "\n" << end.output;
    expect_rows(read_rows(out), alone, layout.name);
    EXPECT_EQ(texts(out), texts(folder / "alone")) << layout.name;
  }
}

INSTANTIATE_TEST_SUITE_P(Embeddings, Layouts, testing::Values("true", "false"),
                         [](const auto& which) { return which.param == "true" ? "Tied" : "Untied"; });

}  // namespace
}  // namespace troika::commands
