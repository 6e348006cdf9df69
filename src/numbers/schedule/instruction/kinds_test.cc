#include "schedule/instruction/kinds.h"

#include <gmock/gmock.h>

#include <string>
#include <vector>

namespace troika::schedule {
namespace {

using ::testing::ElementsAre;

template <class Holds>
std::vector<std::string> kinds_that(Holds holds) {
  std::vector<std::string> names;
  for (const Traits& row : kinds) {
    if (holds(row.kind)) names.emplace_back(row.name);
  }
  return names;
}

TEST(Kinds, EveryMessageHasOnePartnerWhosePartnerItIsAndWhoseStageLiesOnItsSide) {
  for (const Traits& row : kinds) {
    if (!is_message(row.kind)) continue;
    const Kind other = partner(row.kind);
    EXPECT_NE(other, row.kind) << row.name;
    EXPECT_EQ(partner(other), row.kind) << row.name;
    EXPECT_EQ(stage_offset(row.kind), -stage_offset(other)) << row.name;
    EXPECT_NE(stage_offset(row.kind), 0) << row.name;
  }
  EXPECT_EQ(partner(Kind::send_act), Kind::recv_act);
  EXPECT_EQ(partner(Kind::recv_grad), Kind::send_grad);
}

TEST(Kinds, WhatIsWaitedForIsSomethingThatStartsAndPassesBelongToComputationsAlone) {
  for (const Traits& row : kinds) {
    for (const Awaited& wait : row.waits) {
      const bool starts =
          is_message(wait.kind) || traits(wait.kind).role == Role::exchange || traits(wait.kind).role == Role::copy;
      EXPECT_TRUE(wait.scope == Scope::nothing || starts) << row.name << " waits for " << name(wait.kind);
    }
    EXPECT_EQ(is_computation(row.kind), row.passes != no_pass) << row.name;
    EXPECT_EQ(is_exchange(row.kind), row.peers != Peers::none && !is_message(row.kind)) << row.name;
  }
}

TEST(Kinds, PredicatesNameTheKindsTheyMean) {
  EXPECT_THAT(kinds_that(uses_parameters), ElementsAre("fwd", "refwd", "bwd", "bwd_input"));
  EXPECT_THAT(kinds_that(blocks), ElementsAre("reduce_tied", "norm", "loss"));
  EXPECT_THAT(kinds_that(sends),
              ElementsAre("send_act", "send_grad", "gather_params", "reduce_grads", "gather_grads", "reduce_tied"));
  EXPECT_THAT(kinds_that([](Kind kind) { return has_pass(kind, weight_pass); }), ElementsAre("bwd", "bwd_weight"));
}

}  // namespace
}  // namespace troika::schedule
