// Two copies of every part on hosts without a shared disk: the folder of any one of them may be lost.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "base/file.h"
#include "base/say.h"
#include "checkpoint/layouts_test_support.h"

namespace troika::checkpoint {
using namespace testing_support;
using testing::HasSubstr;

namespace {

class SecondCopies : public testing::Test {
 protected:
  void SetUp() override {
    for (int i = 0; i < 3; ++i) roots_.push_back(fresh_folder("host" + std::to_string(i)) + "/checkpoints");
  }

  // Each rank writes what is its own, which is sent to the next host.
  std::vector<std::string> save_and_send(std::int64_t step) {
    std::vector<std::string> remarks;
    run_ranks(3, [&](comm::Channel& world) {
      SaveRequest request =
          request_for(roots_[static_cast<std::size_t>(world.rank())], step, Cut::flat, Cut::whole, world);
      request.copies = plan_copies({{0, 1, 2}}, {0, 1, 2});
      const std::vector<base::Text> saved = save(request, world);
      if (world.rank() == 1) remarks = base::in(saved, base::Language::english);
    });
    return remarks;
  }

  // Replicas: rank 1 holds what rank 0 writes.
  void save_by_twins(std::int64_t step, const std::function<void(SaveRequest&)>& spoil) {
    run_ranks(2, [&](comm::Channel& world) {
      SaveRequest request =
          request_for(roots_[static_cast<std::size_t>(world.rank())], step, Cut::whole, Cut::flat, world);
      request.weights = request.state = {};
      auto& weights = world.rank() == 0 ? request.weights : request.weights_again;
      auto& state = world.rank() == 0 ? request.state : request.state_again;
      weights = filled_slices(Cut::whole, "", 0, 1);
      state = filled_slices(Cut::flat, "adam_m.", 0, 1);
      request.copies = plan_copies({{0, 1}}, {0, 0});
      if (world.rank() == 1) spoil(request);
      save(request, world);
    });
  }

  std::vector<std::string> roots_;
};

TEST_F(SecondCopies, ThatWereSentStandInForTheFolderOfAnyOneHost) {
  EXPECT_THAT(save_and_send(10), testing::IsEmpty());
  for (const std::string& root : roots_) {
    base::rename_path(root, root + ".away");
    expect_loads(roots_, 3, Cut::columns, 10);
    base::remove_tree(root);
    base::rename_path(root + ".away", root);
  }
  base::remove_tree(roots_[0]);
  base::remove_tree(roots_[1]);
  run_ranks(3, [&](comm::Channel& world) {
    EXPECT_FALSE(find_newest(roots_[static_cast<std::size_t>(world.rank())], world).has_value());
  });
}

TEST_F(SecondCopies, ThatTwinsWroteStandInForTheFolderOfAnyOneHost) {
  save_by_twins(10, [](SaveRequest&) {});
  for (const std::size_t host : {0U, 1U}) {
    base::rename_path(roots_[host], roots_[host] + ".away");
    expect_loads({roots_[0], roots_[1]}, 2, Cut::columns, 10);
    base::remove_tree(roots_[host]);
    base::rename_path(roots_[host] + ".away", roots_[host]);
  }
}

TEST_F(SecondCopies, OfTwinsThatDoNotHoldTheSameAreRefusedWithBothRanks) {
  try {
    save_by_twins(10, [](SaveRequest& request) {
      request.state_again[1].data = request.state_again[1].data.clone();
      request.state_again[1].data[3].zero();
    });
    FAIL() << "saved";
  } catch (const base::DataError& error) {
    EXPECT_THAT(error.what(), testing::AllOf(HasSubstr("state/state-00001-of-00001.safetensors written by rank 0 on "),
                                             HasSubstr("differs from the one written by rank 1 on ")));
  }
  EXPECT_FALSE(base::file_exists(roots_[0] + "/step-00000010/manifest.json"));
}

TEST_F(SecondCopies, ThatCannotBeWrittenCostTheCopyAndNotTheCheckpoint) {
  // The second host has a folder where the file would be.
  const std::string blocked = roots_[1] + "/step-00000010.partial/model";
  run_ranks(3, [&](comm::Channel& world) {
    SaveRequest request = request_for(roots_[static_cast<std::size_t>(world.rank())], 10, Cut::flat, Cut::whole, world);
    request.copies = plan_copies({{0, 1, 2}}, {0, 1, 2});
    if (world.rank() == 1 && !request.weights.empty()) {
      request.weights[0].written = [&] {
        base::make_directories(blocked + "/model-00001-of-00003.safetensors/in-the-way");
      };
    }
    const std::vector<base::Text> saved = save(request, world);
    ASSERT_EQ(saved.size(), 1U);
    EXPECT_THAT(saved[0].english, testing::AllOf(HasSubstr("no second copy on "), HasSubstr("model-00001-of-00003")));
  });
  expect_loads(roots_, 3, Cut::columns, 10);
}

TEST_F(SecondCopies, AreSentNoFasterThanTheyMay) {
  const auto begin = std::chrono::steady_clock::now();
  run_ranks(3, [&](comm::Channel& world) {
    SaveRequest request = request_for(roots_[static_cast<std::size_t>(world.rank())], 10, Cut::flat, Cut::whole, world);
    request.copies = plan_copies({{0, 1, 2}}, {0, 1, 2});
    request.copies.bytes_per_second = 20000;  // about 5 KB are sent by each
    save(request, world);
  });
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - begin;
  EXPECT_GT(seconds.count(), 0.1);
}

}  // namespace
}  // namespace troika::checkpoint
