#include "train/restore.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"

namespace troika::train {
namespace {

using testing::HasSubstr;

TEST(ResumedSettings, OfEpochsWhatIsLeftIsCutIntoTodaysBatches) {
  EXPECT_EQ(steps_of_epochs(2, {16, 16}, 4, 8), 6);    // 16 of 32 samples are left
  EXPECT_EQ(steps_of_epochs(2, {8, 16}, 2, 2), 14);    // 24 are
  EXPECT_EQ(steps_of_epochs(2, {28, 16}, 7, 8), 7);    // less than a batch
  EXPECT_EQ(steps_of_epochs(1, {40, 16}, 10, 8), 10);  // more than all were seen
  EXPECT_EQ(steps_of_epochs(2, {16, 16}, 4, 4), 8);
}

TEST(ResumedSettings, AnotherGlobalBatchIsSaidWithTheStepsThatRemain) {
  config::Settings saved, now;
  saved.batch.global_batch_size = 4;
  now.batch.global_batch_size = 8;
  EXPECT_EQ(changed_batch(saved, now, 4, 6).english, "the global batch changed from 4 to 8: 2 of 6 steps remain");
  EXPECT_EQ(changed_batch(saved, now, 7, 6).english, "the global batch changed from 4 to 8: 0 of 6 steps remain");
  EXPECT_TRUE(changed_batch(saved, saved, 4, 6).empty());
}

TEST(ResumedSettings, WhatIsNotAsItWasIsOneSentence) {
  config::Settings saved, now;
  EXPECT_TRUE(changed_settings(saved, now).empty());
  now.optimizer.lr_schedule = config::LrSchedule::constant;
  now.optimizer.weight_decay = 0;
  now.lora.dropout = 0.1;
  now.optimizer.warmup_steps = 5;
  now.train.seed = 9;
  EXPECT_EQ(changed_settings(saved, now).english,
            "since the checkpoint optimizer.lr_schedule changed from cosine to constant, optimizer.weight_decay changed from 0.1 to "
            "0, lora.dropout changed from 0 to 0.1, optimizer.warmup_steps changed from 0 to 5, train.seed changed from 1234 to 9: "
            "the run continues with the new values");
  config::Settings longer = saved;
  longer.train.steps = 100;
  longer.optimizer.warmup_steps = 10;
  EXPECT_TRUE(changed_settings(saved, longer).empty());
}

TEST(ResumedSettings, AnotherOrderIsRefusedInTheMiddleOfAnEpoch) {
  config::Settings saved, seed, order;
  seed.train.seed = 9;
  order.data.shuffle = false;
  for (const config::Settings& now : {seed, order}) {
    EXPECT_THROW(refuse_other_order(saved, now, {20, 16}), base::ConfigError);
    EXPECT_NO_THROW(refuse_other_order(saved, now, {32, 16}));
  }
  try {
    refuse_other_order(saved, seed, {20, 16});
  } catch (const base::ConfigError& error) {
    EXPECT_THAT(error.what(), HasSubstr("train.seed changed from 1234 to 9: from sample 4 of 16 on"));
  }
  saved.data.shuffle = seed.data.shuffle = false;  // one order for every seed
  EXPECT_NO_THROW(refuse_other_order(saved, seed, {20, 16}));
}

}  // namespace
}  // namespace troika::train
