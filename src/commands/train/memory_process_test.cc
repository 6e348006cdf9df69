// The memory that a rank's process really takes from the machine, beside the rank's own count: from the rank's own log, whose
// summary names both. Growth is over the same program with a model of next to nothing.
#include <gtest/gtest.h>

#include <cmath>
#include <sstream>

#include "base/file.h"
#include "base/text.h"
#include "base/units.h"
#include "commands/train/program_test_support.h"

namespace troika::commands {
namespace {

constexpr double mebibyte = 1 << 20;

struct Peak {
  double counted = 0, state = 0, activations = 0, resident = 0;  // MiB
};

// "  peak memory   294.9 MiB (parameters 48.5 MiB, ..., state 97.1 MiB, ...), resident 478.1 MiB"
double mebibytes_behind(const std::string& line, const std::string& word) {
  std::istringstream in(line.substr(line.find(word) + word.size()));
  std::string number, unit;
  in >> number >> unit;
  unit.erase(unit.find_last_not_of(",)") + 1);
  std::int64_t bytes = 0;
  EXPECT_TRUE(base::parse_bytes(number + unit, &bytes)) << word << " in: " << line;
  return static_cast<double>(bytes) / mebibyte;
}

Peak peak_of(const std::string& out, int rank) {
  const std::string log = base::read_file(out + "/logs/rank-0000" + std::to_string(rank) + ".log");
  const std::size_t at = log.find("peak memory");
  EXPECT_NE(at, std::string::npos) << log;
  const std::string line = log.substr(at, log.find('\n', at) - at);
  return {mebibytes_behind(line, "peak memory"), mebibytes_behind(line, "state"), mebibytes_behind(line, "activations"),
          mebibytes_behind(line, "resident")};
}

// The memory of a running process that ulimit -d counts: its data segment and private mappings.
std::int64_t data_kilobytes(pid_t process) {
  const std::string status = base::read_file("/proc/" + std::to_string(process) + "/status");
  std::istringstream in(status.substr(status.find("VmData:") + 7));
  std::int64_t kilobytes = 0;
  in >> kilobytes;
  return kilobytes;
}

// Minor page faults of a running process so far: field 10 of its stat, the name in field 2 ends with the last ')'.
std::int64_t page_faults(pid_t process) {
  const std::string stat = base::read_file("/proc/" + std::to_string(process) + "/stat");
  const auto fields = base::split(stat.substr(stat.rfind(')') + 2), ' ');
  std::int64_t faults = -1;
  EXPECT_TRUE(base::parse_int(fields.at(7), &faults)) << stat;
  return faults;
}

Words under_limit(std::int64_t kilobytes, const Words& words) {
  return Words{"/bin/sh", "-c", "ulimit -d " + std::to_string(kilobytes) + "; exec \"$@\"", "sh"} + words;
}

class Memory : public testing::Test {
 protected:
  Words common(const std::string& name) const {
    return {
        "train",  "--data.train", corpus_, "--data.tokenizer", "bytes", "--micro-batch-size", "1",    "--model.vocab",
        "259",    "--seed",       "7",     "--train.threads",  "1",     "--log.progress",     "none", "--out",
        out(name)};
  }
  // 9.8 million parameters, 38 MiB, and next to no activations.
  Words large(const std::string& name) const {
    return common(name) + Words{"--seq-len",        "8", "--global-batch-size", "6",   "--steps",       "2",
                                "--model.layers",   "6", "--model.hidden",      "384", "--model.heads", "6",
                                "--model.kv-heads", "3", "--model.head-dim",    "64",  "--model.ffn",   "1024"};
  }
  Words tiny(const std::string& name) const {
    return common(name) + Words{"--seq-len",        "8", "--global-batch-size", "6",  "--steps",       "2",
                                "--model.layers",   "2", "--model.hidden",      "16", "--model.heads", "1",
                                "--model.kv-heads", "1", "--model.head-dim",    "16", "--model.ffn",   "16"};
  }
  // Nearly all activations.
  Words long_sequences(const std::string& name) const {
    return common(name) + Words{"--seq-len",     "512", "--micro-batch-size", "2",  "--global-batch-size", "2",
                                "--steps",       "1",   "--model.layers",     "16", "--model.hidden",      "128",
                                "--model.heads", "2",   "--model.kv-heads",   "2",  "--model.head-dim",    "64",
                                "--model.ffn",   "512"};
  }

  std::string out(const std::string& name) const { return folder_ / name; }
  void train(int ranks, const Words& words) const {
    const End end = run(ranks == 1 ? troika(words) : launch(ranks, words));
    ASSERT_EQ(end.code, 0) << end.output;
  }

  std::int64_t kilobytes_of_the_program() const {
    const Program running(troika(tiny("running") + Words{"--steps", "100000"}));
    await_step(out("running"), 2);
    return data_kilobytes(running.pid());
  }

  // Two ranks of the large model, over "tiny".
  void expect_counted_growth(int zero) const {
    const std::string name = "zero-" + std::to_string(zero);
    train(2, large(name) + Words{"--zero", std::to_string(zero)});
    double most = 0;
    for (int rank = 0; rank < 2; ++rank) {
      const Peak tiny = peak_of(out("tiny"), rank), large = peak_of(out(name), rank);
      const double growth = large.resident - tiny.resident, counted = large.counted - tiny.counted;
      RecordProperty(name + "-rank-" + std::to_string(rank), std::to_string(growth) + " " + std::to_string(counted));
      EXPECT_NEAR(growth, counted, 0.05 * counted) << name << ", rank " << rank;
      most = std::max(most, large.counted);
    }
    const Rows rows = read_rows(out(name));
    EXPECT_NEAR(static_cast<double>(rows.back().memory_bytes) / mebibyte, most, 0.01 * most) << name;
  }

  const Folder folder_;
  const std::string corpus_ = write_corpus(folder_);
};

using FullMemory = Memory;

TEST_F(FullMemory, WithWholeAndWithSharedStateGrowsByWhatIsCounted) {
  train(2, tiny("tiny"));
  for (const int zero : {0, 3}) expect_counted_growth(zero);
  const Peak whole = peak_of(out("zero-0"), 0), sharded = peak_of(out("zero-3"), 0);
  EXPECT_GT(whole.counted - sharded.counted, 70);
  EXPECT_GT(whole.resident - sharded.resident, 0.9 * (whole.counted - sharded.counted));
}

using FullMemory = Memory;

TEST_F(FullMemory, OfTheZeroStagesBetweenGrowsByWhatIsCounted) {
  train(2, tiny("tiny"));
  for (const int zero : {1, 2}) expect_counted_growth(zero);
}

TEST_F(FullMemory, OfThreeRanksInZero3GrowsByWhatIsCounted) {
  train(3, tiny("tiny"));
  train(3, large("large") + Words{"--zero", "3"});
  for (int rank = 0; rank < 3; ++rank) {
    const Peak tiny = peak_of(out("tiny"), rank), large = peak_of(out("large"), rank);
    EXPECT_NEAR(large.resident - tiny.resident, large.counted - tiny.counted, 0.05 * large.counted) << rank;
  }
}

TEST_F(Memory, IsThirtyPercentSmallerWithFullRecomputationAtTheSameLossBits) {
  train(1, tiny("tiny"));
  train(1, long_sequences("none"));
  train(1, long_sequences("full") + Words{"--recompute", "full"});
  const double program = peak_of(out("tiny"), 0).resident;
  const Peak none = peak_of(out("none"), 0), full = peak_of(out("full"), 0);
  EXPECT_LE(full.activations, 0.7 * none.activations);
  EXPECT_LE(full.resident - program, 0.6 * (none.resident - program));
  expect_rows(read_rows(out("full")), read_rows(out("none")), "recompute full");
}

// A step of this model uses some 100 MiB of tensors again and again: 25000 pages if they came from the system.
TEST_F(Memory, OfAStepIsThatOfTheStepBefore) {
  const Program running(troika(long_sequences("running") + Words{"--steps", "100000"}));
  await_step(out("running"), 4);
  const std::int64_t before = page_faults(running.pid());
  await_step(out("running"), 14);
  EXPECT_LE(page_faults(running.pid()) - before, 11 * 500);
}

TEST_F(Memory, FallsByTheOptimizerStateInAFileAndOnlySoFitsUnderALimit) {
  train(1, large("none"));
  train(1, large("file") + Words{"--offload", "file"});
  const Peak none = peak_of(out("none"), 0), file = peak_of(out("file"), 0);
  EXPECT_NEAR(none.state, 8 * 9.84e6 / mebibyte, 0.3);
  EXPECT_EQ(file.state, 0);
  EXPECT_NEAR(none.resident - file.resident, none.state, 0.05 * none.state);
  expect_rows(read_rows(out("file")), read_rows(out("none")), "offload file");

  const std::int64_t program = kilobytes_of_the_program();
  const auto limit = program + static_cast<std::int64_t>(1024 * (none.counted - none.state / 2));
  const End without = run(under_limit(limit, troika(large("without"))));
  EXPECT_EQ(without.code, 2) << without.output;
  EXPECT_NE(without.output.find("out of memory"), std::string::npos) << without.output;
  EXPECT_NE(without.output.find("--offload file"), std::string::npos) << without.output;
  const End with = run(under_limit(limit, troika(large("with") + Words{"--offload", "file"})));
  ASSERT_EQ(with.code, 0) << with.output;
  expect_rows(read_rows(out("with")), read_rows(out("none")), "offload file under a limit");
}

}  // namespace
}  // namespace troika::commands
