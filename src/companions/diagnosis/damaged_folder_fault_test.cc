// Folders that are empty, cut off or full of something else: no diagnosis throws.
#include <gtest/gtest.h>

#include <random>

#include "diagnosis/made_run_test_support.h"

namespace troika::diagnosis {
namespace {

std::string cause_in(const std::string& folder) { return judge(gather(folder, 2000)).cause; }

TEST(DamagedFolder, AnEmptyOneAndAnAbsentOneAreNone) {
  const base::TemporaryFolder folder;
  EXPECT_EQ(cause_in(folder.path()), "none");
  EXPECT_EQ(cause_in(folder.path() + "/nothing"), "none");
}

TEST(DamagedFolder, FilesOfSomethingElseAreNone) {
  const base::TemporaryFolder folder;
  base::make_directories(folder.path() + "/records");
  base::make_directories(folder.path() + "/logs/rank-00000.log");
  base::make_directories(folder.path() + "/checkpoints/step-99999999999999999999.partial");
  for (const char* name :
       {"/state.json", "/events.jsonl", "/metrics.jsonl", "/config.yaml", "/records/rank-00000.jsonl"})
    base::append_file(folder.path() + name, std::string("\0\xff{]\n[[[[\nnull\n{}\n", 19));
  EXPECT_EQ(cause_in(folder.path()), "none");
}

TEST(DamagedFolder, AFileThatIsCutAnywhereChangesTheAnswerAndNothingElse) {
  MadeRun run;
  run.start();
  run.train(40);
  run.sample();
  run.killed(1, 9).numbers["memory_kills"] = 1;
  run.write();
  for (const std::string name :
       {"/state.json", "/events.jsonl", "/metrics.jsonl", "/config.yaml", "/records/rank-00001.jsonl"}) {
    const std::string whole = base::read_file(run.path() + name);
    for (std::size_t size = 0; size < whole.size(); size += whole.size() / 9 + 1) {
      base::write_file_atomic(run.path() + name, whole.substr(0, size));
      EXPECT_NO_THROW(cause_in(run.path())) << name << " cut to " << size;
    }
    base::write_file_atomic(run.path() + name, whole);
  }
  EXPECT_EQ(cause_in(run.path()), "host_out_of_memory");
}

TEST(DamagedFolder, BytesThatFlippedThrowNothing) {
  MadeRun run;
  run.start();
  run.train(20);
  run.sample();
  run.killed(1, 9);
  run.write();
  std::mt19937 chance(7);
  for (const std::string name :
       {"/state.json", "/events.jsonl", "/metrics.jsonl", "/config.yaml", "/records/rank-00000.jsonl"}) {
    const std::string whole = base::read_file(run.path() + name);
    for (int time = 0; time < 20; ++time) {
      std::string damaged = whole;
      for (int flips = 0; flips < 8; ++flips) damaged[chance() % damaged.size()] = static_cast<char>(chance() % 256);
      base::write_file_atomic(run.path() + name, damaged);
      EXPECT_NO_THROW(to_json(judge(gather(run.path(), 2000)), base::Language::english)) << name;
    }
    base::write_file_atomic(run.path() + name, whole);
  }
}

}  // namespace
}  // namespace troika::diagnosis
