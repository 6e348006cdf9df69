// A rank that dies at any message of a run over the stand-in for NCCL: every other rank ends soon and names it.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include <algorithm>
#include <initializer_list>
#include <regex>
#include <string>

#include "train/gpus_over_nccl_test_support.h"

namespace troika::train {
namespace {
using ::testing::Each;
using ::testing::HasSubstr;

enum class Devices { gpus, late };

class DeathsOnGpus : public GpusOverNccl {
 protected:
  static constexpr double patience_seconds = 60, limit_seconds = 30;

  DeathsOnGpus() {
    runs_.settings.train.steps = 1;
    runs_.settings.batch.global_batch_size = 2;
  }

  End one(Devices devices, const std::string& layout, int rank, std::int64_t number, Death death) {
    return devices == Devices::late ? die_on_late_devices(layout, rank, number, death)
                                    : die(layout, rank, number, death, patience_seconds);
  }

  // At every `stride`th message of every rank, in both ways by turns; before the first step, where most are alike, at every 13th at most.
  void expect_that_all_end(Devices devices, std::initializer_list<const char*> layouts, std::int64_t stride) {
    for (const std::string layout : layouts) {
      const bool many_stages = layout.find("interleaved") != std::string::npos || layout.find("pp 4") != std::string::npos;
      runs_.settings.model.layers = many_stages ? 4 : 2;
      constexpr std::int64_t never = std::int64_t{1} << 60;
      const End whole = one(devices, layout, 0, never, Death::reported);
      ASSERT_THAT(whole.errors, Each("")) << layout;
      for (int rank = 0; rank < static_cast<int>(whole.posted.size()); ++rank) {
        const std::int64_t messages = whole.posted[static_cast<std::size_t>(rank)];
        ASSERT_GT(messages, 0);
        const std::int64_t began = whole.began[static_cast<std::size_t>(rank)];
        for (std::int64_t number = rank % stride; number < messages; number += number < began ? std::max<std::int64_t>(stride, 13) : stride) {
          const Death death = (number / stride + rank) % 2 == 0 ? Death::reported : Death::noticed;
          SCOPED_TRACE(fmt::format("{}: rank {} at message {} of {}, {}", layout, rank, number, messages,
                                   death == Death::reported ? "reported" : "noticed"));
          const End end = one(devices, layout, rank, number, death);
          if (end.posted[static_cast<std::size_t>(rank)] <= number && end.errors[static_cast<std::size_t>(rank)].empty())
            continue;  // links are measured by as many messages as time allows
          expect_that_it_is_named(end, rank, death);
          ++deaths_;
        }
      }
    }
  }

  static void expect_that_it_is_named(const End& end, int dead, Death death) {
    EXPECT_LT(end.seconds, limit_seconds);
    EXPECT_EQ(end.errors[static_cast<std::size_t>(dead)], "its life ended");
    for (int rank = 0; rank < static_cast<int>(end.errors.size()); ++rank) {
      const std::string& error = end.errors[static_cast<std::size_t>(rank)];
      if (rank == dead || error.empty()) continue;  // what is left to do needs no message of the dead one
      if (death == Death::reported) {
        EXPECT_THAT(error, HasSubstr(fmt::format("rank {} was killed", dead))) << "rank " << rank;
      } else {
        EXPECT_TRUE(leads_to(dead, rank, end.errors)) << "rank " << rank << ": " << ::testing::PrintToString(end.errors);
      }
    }
  }

  // A rank may hear first of another one that has ended for the same reason.
  static bool leads_to(int dead, int rank, const std::vector<std::string>& errors) {
    static const std::regex told("rank ([0-9]+) (has left|has given up)");
    for (std::size_t hops = 0; hops < errors.size() && rank != dead; ++hops) {
      std::smatch match;
      if (!std::regex_search(errors[static_cast<std::size_t>(rank)], match, told)) return false;
      rank = std::stoi(match[1]);
    }
    return rank == dead;
  }

  int deaths_ = 0;
};

TEST_F(DeathsOnGpus, AtSomeMessagesEndTheOthersWhoNameTheDead) {
  expect_that_all_end(Devices::gpus, {"pp 2", "dp 2 zero 3"}, 29);
  EXPECT_GE(deaths_, 8);
}

TEST_F(DeathsOnGpus, OnLateDevicesAtSomeMessagesEndTheOthersWhoNameTheDead) {
  expect_that_all_end(Devices::late, {"pp 2 zb-h1", "tp 2", "cp 3"}, 29);
  EXPECT_GT(deaths_, 10);
}

TEST_F(DeathsOnGpus, ARankThatOnlyStopsEndsTheOthersByTheDeadline) {
  const End end = die("pp 2", 1, 9, Death::silence, 3);
  EXPECT_LT(end.seconds, limit_seconds);
  EXPECT_THAT(end.errors[0], HasSubstr("within 3 s"));
}

class FullDeathsOnGpus : public DeathsOnGpus {};

TEST_F(FullDeathsOnGpus, OnLateDevicesAtMoreMessagesEndTheOthersWhoNameTheDead) {
  expect_that_all_end(Devices::late, {"pp 2 zb-h1", "dp 2 zero 1", "tp 2", "cp 3", "dp 2 pp 2 zero 2"}, 13);
  EXPECT_GT(deaths_, 30);
}

TEST_F(FullDeathsOnGpus, AtEveryMessageOfAPipelineEndTheOthersWhoNameTheDead) {
  expect_that_all_end(Devices::late, {"pp 2", "pp 2 gpipe", "pp 2 zb-h1", "pp 2 interleaved 2", "pp 4", "file pp 2 zb-h1"}, 1);
}

TEST_F(FullDeathsOnGpus, AtEveryMessageOfReplicasEndTheOthersWhoNameTheDead) {
  expect_that_all_end(Devices::late, {"dp 2 zero 0", "dp 2 zero 1", "dp 2 zero 2", "dp 2 zero 3", "dp 2 pp 2 zero 3"}, 1);
}

TEST_F(FullDeathsOnGpus, AtEveryMessageOfSplitTensorsEndTheOthersWhoNameTheDead) {
  expect_that_all_end(Devices::late, {"tp 2", "tp 3", "tp 4"}, 1);
}

TEST_F(FullDeathsOnGpus, AtEveryMessageOfSplitTensorsAmongStagesOrReplicasEndTheOthersWhoNameTheDead) {
  expect_that_all_end(Devices::late, {"pp 2 tp 2", "dp 2 tp 2 zero 2"}, 1);
}

TEST_F(FullDeathsOnGpus, AtEveryMessageOfSplitPositionsEndTheOthersWhoNameTheDead) {
  expect_that_all_end(Devices::late, {"cp 2", "cp 3", "cp 4", "pp 2 cp 2"}, 1);
}

TEST_F(FullDeathsOnGpus, AtEveryMessageOfThreeAxesEndTheOthersWhoNameTheDead) {
  expect_that_all_end(Devices::late, {"tp 2 cp 2", "dp 2 cp 2 zero 1", "dp 2 pp 2 tp 2 zero 1"}, 1);
}

TEST_F(FullDeathsOnGpus, AtMessagesOfEveryKindEndTheOthersWhoNameTheDead) {
  expect_that_all_end(Devices::gpus, {"pp 2 zb-h1", "pp 2 interleaved 2", "dp 2 zero 1", "tp 2", "cp 3", "dp 2 pp 2 zero 3"}, 13);
}

}  // namespace
}  // namespace troika::train
