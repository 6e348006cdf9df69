#include "schedule/check/dependencies.h"

#include <gtest/gtest.h>

#include <set>

#include "schedule/shape_test_support.h"

namespace troika::schedule {
namespace {

std::string proven(const KnownArrivals& arrivals, const std::string& receive) {
  std::string texts;
  for (const Instruction& sent : arrivals.proven_by(parse_instruction(receive)))
    texts += (texts.empty() ? "" : ", ") + to_text(sent);
  return texts;
}

TEST(KnownArrivals, AGradientProvesThatItsActivationArrivedAndAnActivationWhatThePeerTookBefore) {
  const Program program = build("1f1b", shape_of(2, 1, 4, 2));
  const KnownArrivals first(program, 0), last(program, 1);
  EXPECT_EQ(proven(first, "recv_grad 0.0"), "send_act 0.0");
  EXPECT_EQ(proven(first, "recv_grad 3.0"), "send_act 3.0");
  // Rank 0: fwd 0, fwd 1, bwd 0, fwd 2, ... so activation 2 was sent after gradient 0 was taken.
  EXPECT_EQ(proven(last, "recv_act 1.1"), "");
  EXPECT_EQ(proven(last, "recv_act 2.1"), "send_grad 0.1");
  EXPECT_EQ(proven(last, "recv_act 3.1"), "send_grad 1.1");
}

TEST(KnownArrivals, NoSendIsProvenTwiceOrBeforeItIsMadeInAnySchedule) {
  for (const std::string& schedule : schedule_names()) {
    const Program program = build(schedule, shape_of(4, 1, 8, 2, stages_per_rank(schedule)));
    for (int rank = 0; rank < 4; ++rank) {
      const KnownArrivals arrivals(program, rank);
      std::set<std::string> sent;
      std::size_t made = 0, taken = 0;
      for (const Instruction& i : program.ranks[static_cast<std::size_t>(rank)]) {
        if (i.kind == Kind::send_act || i.kind == Kind::send_grad) made += sent.insert(to_text(i)).second ? 1 : 0;
        const bool forward = i.kind == Kind::fwd;
        if (!forward && i.kind != Kind::bwd && i.kind != Kind::bwd_input) continue;
        const Instruction receive{forward ? Kind::recv_act : Kind::recv_grad, i.microbatch, i.stage};
        for (const Instruction& known : arrivals.proven_by(receive)) {
          EXPECT_EQ(sent.erase(to_text(known)), 1u) << schedule << ", rank " << rank << ": " << to_text(known);
          ++taken;
        }
      }
      EXPECT_EQ(made, taken + sent.size());
      EXPECT_TRUE(rank > 0 || schedule == "interleaved" || sent.empty()) << schedule;  // a gradient for each activation
    }
  }
}

}  // namespace
}  // namespace troika::schedule
