#include "train/save_policy.h"

#include <gmock/gmock.h>

#include <optional>

#include "base/clock.h"
#include "base/error.h"
#include "base/text_files_test_support.h"

namespace troika::train {
namespace {
using testing::ElementsAre;
using testing::HasSubstr;
using Position = SavePolicy::Position;
using Reason = SavePolicy::Reason;
using Until = SavePolicy::Until;

// The messages about a run in which each try to save fails that has a cause.
class SavePolicyTest : public testing::Test {
 protected:
  class Writer final : public CheckpointWriter {
   public:
    explicit Writer(const SavePolicyTest& test) : test_(test) {}
    void begin(Until until) override {
      ASSERT_FALSE(writing());
      step_ = test_.state_.progress.step;
      until_ = until;
    }
    bool writing() const override { return until_.has_value(); }
    bool complete() const override { return writing() && (written || *until_ == Until::complete); }
    std::int64_t step() const override { return step_; }
    Outcome finish() override {
      until_.reset();
      if (!cause.empty()) throw base::DataError(base::verbatim(cause));
      saved.push_back(step_);
      return {step_, 0, {}};
    }

    std::string cause;                // why the disk fails; "": it does not
    bool written = false;             // what is written beside training
    std::vector<std::int64_t> saved;  // steps

   private:
    const SavePolicyTest& test_;
    std::int64_t step_ = 0;
    std::optional<Until> until_;
  };

  SavePolicyTest() : screen_(std::tmpfile()) {}
  ~SavePolicyTest() override { std::fclose(screen_); }

  SavePolicy policy() {
    return {settings_.checkpoint, writer_, reporter_, [this] { ++looked_; }, -1};
  }
  Position after(std::int64_t step) {
    state_.progress.step = step;
    return {step, 10, step == 10};
  }
  std::string shown() {
    std::string text(static_cast<std::size_t>(std::ftell(screen_)), '\0');
    std::rewind(screen_);
    const std::size_t read = std::fread(text.data(), 1, text.size(), screen_);
    std::rewind(screen_);
    return text.substr(0, read);
  }

  config::Settings settings_;
  TrainState state_{config::PrecisionSettings{}, {"w"}};
  std::FILE* const screen_;
  Writer writer_{*this};
  RunReporter reporter_{settings_, 0, state_, {screen_}};
  int looked_ = 0;  // called before each checkpoint
};

TEST_F(SavePolicyTest, ACheckpointIsDueByStepsByTheBestLossAndWhenItIsAskedFor) {
  settings_.checkpoint.every = 4;
  const SavePolicy saving = policy();
  EXPECT_TRUE(saving.due(8, Reason::none));
  EXPECT_FALSE(saving.due(9, Reason::none));
  EXPECT_TRUE(saving.due(9, Reason::asked));
  settings_.checkpoint.keep_best = false;
  EXPECT_FALSE(saving.due(9, Reason::best));
  settings_.checkpoint.keep_best = true;
  EXPECT_TRUE(saving.due(9, Reason::best));
}

TEST_F(SavePolicyTest, TheIntervalCountsFromTheLastTry) {
  settings_.checkpoint.every_minutes = 2;
  SavePolicy saving = policy();
  saving.begins(1000);
  EXPECT_FALSE(saving.due_by_time(1119));
  EXPECT_TRUE(saving.due_by_time(1120));
  const Position at = after(3);
  saving.begin(at, Until::copied);
  const double now = base::monotonic_seconds();
  EXPECT_FALSE(saving.due_by_time(now + 1000)) << "one is being written";
  EXPECT_TRUE(saving.settle(at));
  EXPECT_FALSE(saving.due_by_time(now + 100));
  EXPECT_TRUE(saving.due_by_time(now + 121));
  EXPECT_EQ(looked_, 1);
}

TEST_F(SavePolicyTest, AFailedSaveIsTriedAgainInAMinuteAndTheRunContinues) {
  settings_.checkpoint.every = 4;
  settings_.checkpoint.every_minutes = 0;
  SavePolicy saving = policy();
  writer_.cause = "the disk is full";
  const Position at = after(4);
  saving.begin(at, Until::copied);
  saving.settle_if_complete(at);
  EXPECT_TRUE(writer_.writing()) << "nothing waits for it";
  writer_.written = true;
  saving.settle_if_complete(at);
  EXPECT_EQ(shown(),
            "step 4 could not be saved: the disk is full; nothing from the run is saved so far; the run continues and retries in a minute, or after step 8 if that comes first\n");
  const double now = base::monotonic_seconds();
  EXPECT_FALSE(saving.due_by_time(now + 50));
  EXPECT_TRUE(saving.due_by_time(now + 61));
  writer_.cause.clear();
  const Position later = after(6);
  saving.begin(later, Until::complete);
  EXPECT_TRUE(saving.settle(later));
  EXPECT_EQ(saving.saved_step(), 6);
  EXPECT_FALSE(saving.due_by_time(now + 1000)) << "the time is not limited any more";
}

TEST_F(SavePolicyTest, ASecondCheckpointWaitsForTheFirst) {
  SavePolicy saving = policy();
  saving.begin(after(4), Until::copied);
  saving.begin(after(8), Until::copied);
  EXPECT_THAT(writer_.saved, ElementsAre(4));
  saving.save_the_end(after(8));
  EXPECT_THAT(writer_.saved, ElementsAre(4, 8));
}

TEST_F(SavePolicyTest, WhatIsSavedAlreadyIsNotSavedAgain) {
  SavePolicy saving = policy();
  EXPECT_TRUE(saving.save_now(after(5)));
  EXPECT_TRUE(saving.save_now(after(5)));
  saving.save_the_end(after(5));
  EXPECT_THAT(writer_.saved, ElementsAre(5));
}

TEST_F(SavePolicyTest, WhatCannotBeSavedAtTheEndIsAnError) {
  SavePolicy saving = policy();
  saving.begin(after(4), Until::complete);
  EXPECT_TRUE(saving.settle(after(4)));
  writer_.cause = "the disk is full";
  EXPECT_THAT(
      base::message_of<base::DataError>([&] { saving.save_the_end(after(10)); }),
      HasSubstr("step 10 could not be saved: the disk is full; the newest checkpoint is from step 4; the run ends without a checkpoint of this step"));
  settings_.checkpoint.at_end = false;
  saving.save_the_end(after(10));
  EXPECT_THAT(writer_.saved, ElementsAre(4));
}

TEST_F(SavePolicyTest, AtTheEndOneThatFailedBesideTrainingIsTriedAgainAtOnce) {
  SavePolicy saving = policy();
  writer_.cause = "the disk is full";
  saving.begin(after(9), Until::copied);
  EXPECT_FALSE(saving.settle(after(10)));
  EXPECT_THAT(shown(), HasSubstr("the run retries now, with step 10"));
}

}  // namespace
}  // namespace troika::train
