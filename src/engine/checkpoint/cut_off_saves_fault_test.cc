// A save that is cut off, or whose disk fails, at any one of its calls: what was there before, or all of what is new, is found.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "base/file.h"
#include "checkpoint/layouts_test_support.h"
#include "checkpoint/recorded_disk_test_support.h"
#include "comm/channel.h"

namespace troika::checkpoint {
using namespace testing_support;

namespace {

class CutOffSaves : public testing::Test {
 protected:
  void SetUp() override {
    root_ = fresh_folder("run") + "/checkpoints";
    base::make_directories(root_);
    save_step(root_, 10);
  }

  static void save_step(const std::string& root, std::int64_t step) {
    const auto self = comm::make_self_channel("world");
    SaveRequest request = request_for(root, step, Cut::whole, Cut::flat, *self);
    request.keep = 1;
    request.model_files = {{"tokenizer.json", "{}"}};
    save(request, *self);
  }

  // The step that is found there, with every value as it was saved.
  static std::int64_t step_found(const std::string& root) {
    const auto self = comm::make_self_channel("world");
    const auto found = find_newest(root, *self);
    if (!found) return -1;
    auto wanted = empty_slices(Cut::whole, "", 0, 1);
    load(*found, wanted, *self);
    EXPECT_EQ(wrong_elements(wanted), 0);
    return found->facts.step;
  }

  std::string root_;
};

TEST_F(CutOffSaves, LeaveTheOldCheckpointOrTheNewOneWhateverTheDiskForgets) {
  RecordedDisk disk(root_);
  save_step(root_, 20);
  disk.stop();
  ASSERT_GT(disk.calls(), 30U);
  const std::string after = fresh_folder("after");
  std::int64_t last = 10;
  for (std::size_t calls = 0; calls <= disk.calls(); ++calls) {
    for (const Crash crash : {Crash::process, Crash::machine_keeps_names, Crash::machine_drops_names}) {
      base::remove_tree(after);
      disk.make_after(calls, crash, after);
      const std::int64_t step = step_found(after);
      EXPECT_TRUE(step == 10 || step == 20) << step << " after call " << calls << ", crash " << static_cast<int>(crash)
                                            << (calls == 0 ? "" : ", " + disk.describe(calls - 1));
      if (crash != Crash::process) continue;
      EXPECT_GE(step, last) << "after call " << calls;
      last = step;
    }
  }
  EXPECT_EQ(step_found(root_), 20);
  for (const Crash crash : {Crash::machine_keeps_names, Crash::machine_drops_names}) {
    base::remove_tree(after);
    disk.make_after(disk.calls(), crash, after);
    EXPECT_EQ(step_found(after), 20) << "a save that has returned is on the disk";
  }
}

TEST_F(CutOffSaves, OfTheSameStepLeaveOneOfTheTwo) {
  RecordedDisk disk(root_);
  save_step(root_, 10);
  disk.stop();
  const std::string after = fresh_folder("after");
  for (std::size_t calls = 0; calls <= disk.calls(); ++calls) {
    for (const Crash crash : {Crash::process, Crash::machine_keeps_names, Crash::machine_drops_names}) {
      base::remove_tree(after);
      disk.make_after(calls, crash, after);
      EXPECT_EQ(step_found(after), 10) << "after call " << calls << ", crash " << static_cast<int>(crash)
                                       << (calls == 0 ? "" : ", " + disk.describe(calls - 1));
    }
  }
}

TEST_F(CutOffSaves, WithADiskThatFailsOnceLeaveACheckpointAndTheNextSaveSucceeds) {
  const std::string work = fresh_folder("work");
  for (const DiskFault::Kind kind :
       {DiskFault::Kind::no_space, DiskFault::Kind::io_error, DiskFault::Kind::short_write}) {
    for (std::size_t call = 0;; ++call) {
      const std::string root = fmt::format("{}/{}-{}", work, static_cast<int>(kind), call);
      save_step(root, 10);
      std::size_t calls = 0;
      bool failed = false;
      {
        const RecordedDisk disk(root, {kind, call});
        try {
          save_step(root, 20);
        } catch (const base::DataError&) {
          failed = true;
          EXPECT_TRUE(base::list_directory(root + "/step-00000020.partial").empty())
              << "after a fault at call " << call;
        }
        calls = disk.calls();
      }
      const std::int64_t step = step_found(root);
      EXPECT_TRUE(step == 20 || (failed && step == 10)) << step << " after a fault at call " << call;
      EXPECT_FALSE(failed && kind == DiskFault::Kind::short_write) << "call " << call;
      save_step(root, 30);
      EXPECT_EQ(step_found(root), 30) << "after a fault at call " << call;
      base::remove_tree(root);
      if (call > calls + 1) break;
    }
  }
}

// The other disk has given its folder its name before rank 0's disk fails.
TEST_F(CutOffSaves, WithADiskOfRank0ThatFailsLateLeaveNothingOnTheOtherDisk) {
  const std::string work = fresh_folder("two");
  std::string told;
  for (std::size_t call = 0, calls = 0; call <= calls + 1; ++call) {  // a call that fails is not counted
    const std::vector<std::string> roots{fmt::format("{}/a-{}", work, call), fmt::format("{}/b-{}", work, call)};
    save_all(roots, 2, 10, Cut::whole, Cut::flat);
    const RecordedDisk disk(roots[0], {DiskFault::Kind::io_error, call});
    const auto errors = errors_of_ranks(2, [&](comm::Channel& world) {
      save(request_for(roots[static_cast<std::size_t>(world.rank())], 20, Cut::whole, Cut::flat, world), world);
    });
    calls = disk.calls();
    if (errors[0].empty() || base::file_exists(roots[0] + "/step-00000020/manifest.json")) continue;
    const std::string partial = roots[1] + "/step-00000020.partial";
    EXPECT_FALSE(base::directory_exists(roots[1] + "/step-00000020")) << "after a fault at call " << call;
    EXPECT_TRUE(!base::directory_exists(partial) || base::list_directory(partial).empty()) << call;
    told += errors[0] + "\n";
    expect_loads(roots, 2, Cut::flat, 10);
  }
  EXPECT_NE(told.find(".partial/manifest.json"), std::string::npos) << told;
}

}  // namespace
}  // namespace troika::checkpoint
