// One flipped bit in parameters, optimizer state or a message between stages ends the run, with rank, tensor and step.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <mutex>

#include "base/error.h"
#include "base/file.h"
#include "comm/faulty_channel_test_support.h"
#include "tensor/libtorch_test_support.h"
#include "train/layout_runs_test_support.h"

namespace troika::train {
namespace {
using testing::AllOf;
using testing::HasSubstr;

class FlippedBits : public testing::Test {
 protected:
  FlippedBits() {
    runs_.settings.model.layers = 4;
    runs_.settings.train.steps = 30;
  }

  // Between step 3 and the next, on the highest rank.
  using Change = std::function<void(const executor::Units& units)>;

  struct Ended {
    std::string text;
    std::int64_t steps = 0;  // of the rank that was changed
  };

  Ended train(const std::string& layout, const Change& change, const MakeChannels& make_channels = thread_channels_of) {
    config::Settings s = runs_.settings;
    s.train.out = runs_.folder(layout);
    base::remove_tree(s.train.out);
    base::make_directories(s.train.out);
    const int world = apply_layout(layout, &s);
    const plan::Plan plan = plan_for(s, world, runs_.stream());
    const data::TokenSamples samples(std::shared_ptr<const data::TokenStream>(std::shared_ptr<void>(), &runs_.stream()),
                                     plan.resolved.batch.seq_len);
    Ended ended;
    std::mutex mutex;
    try {
      on_rank_threads(make_channels(plan.shape), [&](comm::RankChannels& channels, int rank) {
        Surroundings surroundings;
        Trainer* trainer = nullptr;
        surroundings.hooks.on_step = [&, rank](std::int64_t step, double) {
          if (rank == world - 1) ended.steps = step;
          if (rank == world - 1 && step == 3 && change) change(trainer->units());
        };
        Trainer one(plan, samples, channels, surroundings);
        trainer = &one;
        try {
          one.run();
        } catch (const base::PeerError& error) {
          const std::string text = error.what();
          const std::lock_guard<std::mutex> lock(mutex);
          if (ended.text.empty() || text.find("detected in step") != std::string::npos) ended.text = text;
          throw;
        }
      });
    } catch (const base::PeerError&) {  // of any rank: the consequences of what one has found
    }
    return ended;
  }

  static std::vector<comm::RankChannels> thread_channels_of(const mesh::Shape& shape) { return thread_channels(shape); }

  // A bucket in the middle of those of the rank, and the elements of one of its slots that the rank holds.
  static executor::Bucket& some_bucket(const executor::Units& units) {
    return *std::next(units.begin(), static_cast<std::ptrdiff_t>(units.size()) / 2)->second->bucket;
  }

  static void flip(const at::Tensor& flat, std::int64_t element) {
    auto* bytes = static_cast<std::uint8_t*>(flat.data_ptr());
    bytes[element * flat.element_size() + 1] ^= 4;
  }

  LayoutRuns runs_;
  int found_ = 0;
};

const char* const layouts[] = {
    "",          "dp 2",        "dp 3 zero 1", "dp 2 zero 2",      "dp 2 zero 3",
    "pp 2 tp 2", "cp 2 zero 3", "bf16",        "bf16 dp 2 zero 3", "dp 2 zero 2 offload file"};

std::string name_at(const executor::Bucket& bucket, std::int64_t element) {
  for (const executor::Bucket::HeldSlot& part : bucket.held_slots())
    if (element >= part.elements.begin && element < part.elements.end())
      return bucket.layout().slots[part.slot].info.name;
  return "nothing";
}

TEST_F(FlippedBits, InAdamsMomentsAreFoundByTheNextUpdate) {
  for (const std::string layout : layouts) {
    for (const bool second : {false, true}) {
      std::string name;
      const Ended ended = train(layout, [&](const executor::Units& units) {
        executor::Bucket& bucket = some_bucket(units);
        const at::Tensor& moments = bucket.optimizer().buffer(second ? 1 : 0);
        name = name_at(bucket, moments.numel() / 3);
        flip(moments, moments.numel() / 3);
        bucket.optimizer().settle();
      });
      config::Settings s = runs_.settings;
      const int world = apply_layout(layout, &s);
      EXPECT_THAT(ended.text, AllOf(HasSubstr(second ? "(adam_v) of " + name : "(adam_m) of " + name),
                                    HasSubstr(fmt::format("on rank {} ", world - 1)), HasSubstr("detected in step 4")))
          << layout;
      EXPECT_EQ(ended.steps, 3) << layout;
    }
  }
}

TEST_F(FlippedBits, InParametersAreFoundByTheNextUpdate) {
  for (const std::string layout : layouts) {
    std::string name;
    const Ended ended = train(layout, [&](const executor::Units& units) {
      executor::Bucket& bucket = some_bucket(units);
      const at::Tensor& master = bucket.optimizer().master();
      name = name_at(bucket, master.numel() / 2);
      flip(master, master.numel() / 2);
      bucket.optimizer().settle();
    });
    EXPECT_THAT(ended.text,
                AllOf(HasSubstr("the parameter of " + name), HasSubstr("rank "), HasSubstr("detected in step 4")))
        << layout;
    EXPECT_EQ(ended.steps, 3) << layout;
  }
}

TEST_F(FlippedBits, InHalfPrecisionAreFoundByTheNextUpdate) {
  for (const std::string layout : {"bf16", "bf16 dp 2", "bf16 dp 2 zero 1", "bf16 dp 2 zero 3", "fp16 pp 2"}) {
    std::string name;
    const Ended ended = train(layout, [&](const executor::Units& units) {
      executor::Bucket& bucket = some_bucket(units);
      name = name_at(bucket, tensor::theirs(bucket.own_values()).numel() - 1);
      flip(bucket.own_values(), tensor::theirs(bucket.own_values()).numel() - 1);
    });
    EXPECT_THAT(ended.text, AllOf(HasSubstr("the values of " + name), HasSubstr("rank "), HasSubstr("detected in step 4")))
        << layout;
    EXPECT_EQ(ended.steps, 3) << layout;
  }
}

// One buffer a step is compared, in turn: until the next update the flip is there.
TEST_F(FlippedBits, InTheCopyOfWhatAnotherRankAnswersForAreFoundWhenItsTurnComes) {
  for (const std::string layout : {"dp 2 zero 1", "dp 3 zero 2", "bf16 dp 2 zero 2"}) {
    std::string name;
    const Ended ended = train(layout, [&](const executor::Units& units) {
      std::vector<executor::Bucket*> buckets;
      for (const auto& [segment, unit] : units)
        for (executor::Bucket* bucket : unit->buckets()) buckets.push_back(bucket);
      executor::Bucket& bucket = *buckets[4 % buckets.size()];  // step 4's
      name = bucket.layout().slots.front().info.name;           // which an earlier rank answers for
      flip(bucket.values(executor::ReadBy::own_segment), 0);
    });
    EXPECT_THAT(ended.text, AllOf(HasSubstr("the values of " + name), HasSubstr("computes with differ from those"),
                                  HasSubstr("detected in step 4")))
        << layout;
    EXPECT_EQ(ended.steps, 3) << layout;
  }
}

TEST_F(FlippedBits, OfFrozenValuesAreFoundWhenTheirTurnComes) {
  runs_.settings.train.freeze = "0-1";
  std::string name;
  const Ended ended = train("dp 2", [&](const executor::Units& units) {
    const executor::Bucket& bucket = *units.at(1)->bucket;
    name = name_at(bucket, tensor::theirs(bucket.own_values()).numel() - 2);
    flip(bucket.own_values(), tensor::theirs(bucket.own_values()).numel() - 2);
  });
  EXPECT_THAT(ended.text, AllOf(HasSubstr("the values of " + name + " on rank 1 "), HasSubstr("corrupted in memory")));
  EXPECT_LE(ended.steps, 12);
}

// As a processor that updates otherwise than the others would leave it: its own sums fit.
TEST_F(FlippedBits, ReplicasThatUpdateOtherwiseThanTheOthersAreNamed) {
  for (const std::string layout : {"dp 2", "dp 3", "bf16 dp 3"}) {
    std::string name;
    const Ended ended = train(layout, [&](const executor::Units& units) {
      executor::Bucket& bucket = some_bucket(units);
      const at::Tensor& master = bucket.optimizer().master();
      name = name_at(bucket, 0);
      master[0] += 1;
      bucket.optimizer().master_changed();
    });
    EXPECT_THAT(ended.text, AllOf(HasSubstr("different values of " + name), HasSubstr("detected in step"))) << layout;
    EXPECT_THAT(ended.text, HasSubstr(layout == "dp 2" ? "ranks 0, 1 have" : "rank 2 has")) << layout;
    EXPECT_LE(ended.steps, 5) << layout;
  }
}

TEST_F(FlippedBits, InAnyMessageBetweenStagesAreFoundBeforeTheUpdate) {
  runs_.settings.train.steps = 2;
  runs_.settings.batch.global_batch_size = 3;
  for (const std::string layout : {"pp 2", "pp 3 zb-h1", "pp 2 interleaved 2", "bf16 pp 2 dp 3"}) {
    for (std::int64_t message = 0; message < 6; ++message) {
      const Ended ended = train(layout, {}, [&](const mesh::Shape& shape) {
        auto channels = thread_channels(shape);
        auto& pp = channels.back().pp;
        pp = comm::faulty(std::move(pp), {{comm::Fault::Kind::corrupt, message, 0}}, 60);
        return channels;
      });
      // Every message that the last stage receives; what it sends arrives whole.
      if (ended.steps == 2) continue;
      EXPECT_THAT(ended.text, AllOf(HasSubstr(" that rank "), HasSubstr("arrived corrupted"), HasSubstr("detected in step ")))
          << layout << message;
      ++found_;
    }
  }
  EXPECT_GE(found_, 8);
}

TEST_F(FlippedBits, AreNotLookedForWithoutChecksums) {
  runs_.settings.train.steps = 5;
  runs_.settings.train.checksums = config::OnOff::off;
  const Ended ended = train("dp 2", [&](const executor::Units& units) { flip(some_bucket(units).optimizer().buffer(0), 5); });
  EXPECT_EQ(ended.text, "");
}

}  // namespace
}  // namespace troika::train
