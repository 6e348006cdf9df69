#include "commands/engine_runs.h"

#include <gtest/gtest.h>

namespace troika::commands {
namespace {

TEST(EngineRuns, AreTheVerbsOfTheEngineAndNoOthers) {
  std::size_t of_engine = 0;
  for (const Verb& verb : verbs()) {
    EXPECT_EQ(engine_runs().count(verb.name), verb.program == Program::engine ? 1u : 0u) << verb.name;
    if (verb.program == Program::engine) ++of_engine;
  }
  EXPECT_EQ(engine_runs().size(), of_engine);
}

}  // namespace
}  // namespace troika::commands
