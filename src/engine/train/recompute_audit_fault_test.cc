// Steps that are computed twice, by different ranks: nothing is found where nothing is wrong, and numbers stay; a rank that
// computes otherwise is named before the update.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>

#include "base/error.h"
#include "comm/faulty_channel_test_support.h"
#include "tensor/libtorch_test_support.h"
#include "train/heard_segments_test_support.h"
#include "train/layout_runs_test_support.h"

namespace troika::train {
namespace {
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

thread_local int rank_of_thread = 0;

class RecomputeAudit : public testing::Test {
 protected:
  RecomputeAudit() {
    runs_.settings.model.layers = 4;
    runs_.settings.train.steps = 4;
    runs_.settings.train.checksums = config::OnOff::off;
  }

  // The error of a run whose rank `rank` finds another gradient in segment 2 in the passes from the `first`-th to the `last`-th.
  std::string error_of(const std::string& layout, int rank, int first, int last) {
    std::atomic<int> backwards{0};
    runs_.segments = [&](const model::Parallelism& parallel) {
      auto segments = model::make_segments(runs_.settings.model, runs_.settings.batch.seq_len, tensor::Device(), parallel);
      segments[2] = std::make_unique<HeardSegment>(
          std::move(segments[2]), [&, rank](const model::SegmentBuffer& gradients, const model::Tokens&) {
            if (rank_of_thread != rank) return;
            const int turn = ++backwards;
            if (turn >= first && turn <= last) tensor::theirs(gradients.flat[7]) += 1e-3;
          });
      return segments;
    };
    return error_of(layout);
  }

  std::string error_of(const std::string& layout) {
    try {
      runs_.train(fmt::format("run {}", ++run_), layout, [](Surroundings&, int rank) { rank_of_thread = rank; });
    } catch (const base::PeerError& error) {
      return error.what();
    }
    return "";
  }

  LayoutRuns runs_;
  int run_ = 0;
};

TEST_F(RecomputeAudit, FindsNothingWhereNothingIsWrongAndChangesNoNumber) {
  runs_.settings.train.steps = 2;
  runs_.settings.batch.global_batch_size = 6;
  const char* const layouts[] = {"threads 1",
                                 "dp 2",
                                 "dp 3 zero 1",
                                 "dp 2 zero 2",
                                 "dp 3 zero 3 recompute full",
                                 "pp 2 dp 2 zb-h1",
                                 "pp 2 dp 2 zero 2 interleaved 2",
                                 "tp 2 dp 2",
                                 "cp 2 dp 2 zero 3",
                                 "bf16 dp 2",
                                 "fp16 pp 2 dp 2",
                                 "dp 2 zero 1 offload file"};
  for (const bool tied : {false, true}) {
    runs_.settings.model.tie_embeddings = tied;
    for (const std::string layout : layouts) {
      if (tied && layout.find("pp") == std::string::npos) continue;
      runs_.settings.train.recompute_audit_every = 0;
      const Rows alone = runs_.train(fmt::format("alone {} {}", layout, tied), layout);
      runs_.settings.train.recompute_audit_every = 1;
      expect_equal_rows(runs_.train(fmt::format("audited {} {}", layout, tied), layout), alone, layout);
    }
  }
}

TEST_F(RecomputeAudit, NamesTheTwoRanksOfWhichOneOnceComputedOtherwise) {
  runs_.settings.train.recompute_audit_every = 2;
  // Step 1 has 6 backwards of the rank, the audit of step 2 the next 6.
  const std::string found = error_of("dp 2", 1, 15, 15);
  EXPECT_THAT(found,
              AllOf(HasSubstr("ranks 0 ("), HasSubstr(", 1 ("), HasSubstr("computed the gradient of model.layers.1."),
                    HasSubstr("detected in step 2"), HasSubstr("the update was not applied")));
  EXPECT_EQ(error_of("dp 2", 1, 3, 3), "") << "a step that is not audited";
}

TEST_F(RecomputeAudit, NamesTheRankThatAlwaysComputesOtherwiseThanTwoOthers) {
  runs_.settings.train.recompute_audit_every = 3;
  for (const std::string layout : {"dp 3", "dp 3 zero 1", "dp 3 zero 3", "bf16 dp 4"}) {
    EXPECT_THAT(
        error_of(layout, 1, 1, 1 << 20),
        AllOf(HasSubstr("rank 1 ("), Not(HasSubstr(", 2 (")), HasSubstr("computed the gradient of model.layers.1."),
              HasSubstr("other ranks that computed the same"), HasSubstr("detected in step 3")))
        << layout;
  }
}

TEST_F(RecomputeAudit, OfOneReplicaFindsWhatIsOtherTheSecondTime) {
  runs_.settings.train.recompute_audit_every = 1;
  EXPECT_THAT(error_of("", 0, 14, 14), AllOf(HasSubstr("rank 0 ("), HasSubstr("with different bits"),
                                             HasSubstr("gradient of model.layers.1."), HasSubstr("detected in step 1")));
}

TEST_F(RecomputeAudit, OfUnequalSharesFindsWhatIsOtherTheSecondTime) {
  runs_.settings.train.recompute_audit_every = 1;
  runs_.settings.parallel.shares = {9, 3};
  EXPECT_EQ(error_of("dp 2"), "");
  EXPECT_THAT(error_of("dp 2", 1, 4, 4), AllOf(HasSubstr("rank 1 ("), HasSubstr("with different bits")));
}

TEST_F(RecomputeAudit, NamesWhoAddedUpWhatChangedOnTheWay) {
  runs_.settings.train.recompute_audit_every = 1;
  runs_.channels = [](const mesh::Shape& shape) {
    auto channels = thread_channels(shape);
    auto& replicas = channels.back().replicas;
    replicas = comm::faulty(std::move(replicas), {{comm::Fault::Kind::corrupt, 0, 0}}, 60);
    return channels;
  };
  EXPECT_THAT(error_of("dp 2"), AllOf(HasSubstr("rank 1 ("), HasSubstr("summed the gradient of "),
                                      HasSubstr("the bits changed between ranks"), HasSubstr("detected in step 1")));
}

// Stage 1's gradients hand the difference on to what stage 0 computes; it is named where it began.
TEST_F(RecomputeAudit, NamesTheStageWhereItBegan) {
  runs_.settings.train.recompute_audit_every = 1;
  const std::string found = error_of("pp 2 dp 2", 2, 1, 1 << 20);
  EXPECT_EQ(found, "") << "segment 2 is the first stage's";
  EXPECT_THAT(error_of("pp 2 dp 2 stages 1,3", 2, 1, 1 << 20),
              AllOf(HasSubstr("ranks 2 ("), HasSubstr(", 3 ("), HasSubstr("gradient of model.layers.1.")));
}

}  // namespace
}  // namespace troika::train
