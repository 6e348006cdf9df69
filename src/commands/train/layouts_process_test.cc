// The promise of all layouts, with real processes: the layout never changes the result.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "base/file.h"
#include "base/text.h"
#include "commands/train/program_test_support.h"

namespace troika::commands {
namespace {

struct Layout {
  std::string name;
  int ranks;
  std::string flags;  // each with a blank before it
};

const std::vector<Layout>& tied() {
  static const std::vector<Layout> all{
      {"pp2-gpipe", 2, " --pp 2 --schedule gpipe"},
      {"dp3", 3, ""},
      {"dp2-zero1-accumulation", 2, " --dp 2 --zero 1 --gradient-accumulation-steps 3"},
      {"dp3-zero3", 3, " --dp 3 --zero-stage 3 --overlap off"},
      {"pp2-interleaved", 2, " --pp-size 2 --schedule interleaved --virtual-stages 2"},
      {"dp2-pp2-zb-zero3", 4, " --dp 2 --pp 2 --zero 3 --schedule zb-h1"},
      {"dp2-pp3", 6, " --pp 3 --recompute full"},
  };
  return all;
}

const std::vector<Layout>& untied() {
  static const std::vector<Layout> all{
      {"pp3-zb", 3, " --pp 3 --schedule zb-h1 --recompute selective"},
      {"pp4-stages", 4, " --pp 4 --stage-layers 1,2,2,1 --overlap no"},
      {"dp2-zero2-offload", 2, " --zero 2 --offload file"},
      {"dp6-zero2", 6, " --zero 2 --dp 6"},
      {"dp3-pp2-zero1", 6, " --dp 3 --pp 2 --zero 1"},
      {"dp2-pp2-interleaved-zero2", 4, " --pp 2 --virtual-stages 3 --zero 2 --recompute full"},
  };
  return all;
}

// Sums in other orders: the first loss is equal within rounding.
const std::vector<Layout>& tied_splits() {
  static const std::vector<Layout> all{
      {"tp3", 3, " --tp 3"},
      {"tp2-cp2", 4, " --tp 2 --cp 2 --zero 1 --recompute full"},
  };
  return all;
}

const std::vector<Layout>& untied_splits() {
  static const std::vector<Layout> all{
      {"cp3-zero3", 3, " --cp 3 --zero 3"},
      {"tp2-pp2", 4, " --tp-size 2 --pp 2 --schedule zb-h1 --sequence-parallel no"},
  };
  return all;
}

class Layouts : public testing::TestWithParam<bool> {
 protected:
  Words train(const std::string& name, const std::string& flags) const {
    const std::string common = fmt::format(
        "--steps 10 --lr 1e-3 --model.layers 6 --model.heads 4 --model.tie-embeddings {} --log.progress none",
        GetParam() ? "yes" : "no");
    return small_run(corpus_, folder_ / name) + base::split(common + flags, ' ');
  }

  Rows alone(const std::string& flags = "") const {
    EXPECT_EQ(run(troika(train("alone", flags))).code, 0);
    const Rows rows = read_rows(folder_ / "alone");
    EXPECT_EQ(rows.size(), 10u);
    EXPECT_LT(rows.back().loss, rows.front().loss - 0.05);
    return rows;
  }

  Rows rows_in(const Layout& layout, const std::string& flags = "") const {
    const End end = run(launch(layout.ranks, train(layout.name, layout.flags + flags)));
    EXPECT_EQ(end.code, 0) << layout.name << "\n" << end.output;
    return read_rows(folder_ / layout.name);
  }

  // The file's text, too: every line up to the first field that measures time.
  std::vector<std::string> texts(const std::string& name) const {
    std::vector<std::string> lines;
    const std::string all = base::read_file(folder_ / name + "/metrics.jsonl");
    for (std::size_t at = 0; at < all.size(); at = all.find('\n', at) + 1)
      lines.push_back(all.substr(at, all.find("\"step_seconds\"", at) - at));
    return lines;
  }

  const Folder folder_;
  const std::string corpus_ = write_corpus(folder_);
};

TEST_P(Layouts, GiveTheSameLossBitsAndGradientNormsInEveryProcessCount) {
  const Rows whole = alone();
  for (const Layout& layout : GetParam() ? tied() : untied()) {
    expect_rows(rows_in(layout), whole, layout.name);
    EXPECT_EQ(texts(layout.name), texts("alone")) << layout.name;
  }
}

// Every block exchanges sums; fewer blocks and microbatches keep the time short.
TEST_P(Layouts, ThatSplitTensorsOrSequencesStayWithinRounding) {
  const std::string fewer = " --global-batch-size 2 --model.layers 2";
  const Rows whole = alone(fewer);
  for (const Layout& layout : GetParam() ? tied_splits() : untied_splits()) {
    const Rows rows = rows_in(layout, fewer);
    ASSERT_EQ(rows.size(), whole.size()) << layout.name;
    EXPECT_LT(std::abs(rows[0].loss / whole[0].loss - 1), 1e-6) << layout.name;
    EXPECT_LT(std::abs(rows[9].loss / whole[9].loss - 1), 1e-5) << layout.name;
  }
}

using Threads = Layouts;

// At sizes where most operations are cut into several pieces.
TEST_P(Threads, GiveTheSameBitsOnOneTwoAndThreePerRank) {
  const std::string larger =
      " --model.layers 2 --model.hidden 160 --model.head-dim 40 --model.ffn 300 --model.vocab 2001 --seq-len 160"
      " --micro-batch-size 2 --global-batch-size 4 --steps 2 --train.threads ";
  std::vector<Rows> all;
  for (const Layout& layout : std::vector<Layout>{{"one", 1, "1"},
                                                  {"two", 1, "2"},
                                                  {"three", 1, "3"},
                                                  {"dp2", 2, "3 --dp 2 --zero 2"},
                                                  {"pp2", 2, "2 --pp 2"}}) {
    const End end = run(launch(layout.ranks, train(layout.name, larger + layout.flags)));
    ASSERT_EQ(end.code, 0) << layout.name << "\n" << end.output;
    all.push_back(read_rows(folder_ / layout.name));
    ASSERT_EQ(all.back().size(), 2u);
    expect_rows(all.back(), all.front(), layout.name);
    EXPECT_THAT(base::read_file(folder_ / layout.name + "/logs/rank-00000.log"),
                testing::HasSubstr("threads: " + layout.flags.substr(0, 1) + ", on "));
  }
}

INSTANTIATE_TEST_SUITE_P(Embeddings, Layouts, testing::Values(true),
                         [](const auto& which) { return which.param ? "Tied" : "Untied"; });
INSTANTIATE_TEST_SUITE_P(FullEmbeddings, Layouts, testing::Values(false),
                         [](const auto& which) { return which.param ? "Tied" : "Untied"; });
INSTANTIATE_TEST_SUITE_P(FullEmbeddings, Threads, testing::Bool(),
                         [](const auto& which) { return which.param ? "Tied" : "Untied"; });

}  // namespace
}  // namespace troika::commands
