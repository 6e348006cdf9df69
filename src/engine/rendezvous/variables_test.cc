#include "rendezvous/variables.h"

#include <gmock/gmock.h>

#include "base/error.h"

namespace troika::rendezvous {
namespace {
using ::testing::HasSubstr;

// The variables that slurmstepd 22.05 sets for the second of two tasks on the second of two nodes.
Environment task_of_a_step() {
  return {{"SLURM_JOB_ID", "4294901761"},
          {"SLURM_STEP_ID", "12"},
          {"SLURM_PROCID", "3"},
          {"SLURM_LOCALID", "1"},
          {"SLURM_NODEID", "1"},
          {"SLURM_STEP_NUM_TASKS", "4"},
          {"SLURM_STEP_NUM_NODES", "2"},
          {"SLURM_NTASKS", "9"},
          {"SLURM_NNODES", "3"},
          {"SLURM_STEP_TASKS_PER_NODE", "2(x2)"},
          {"SLURM_STEP_NODELIST", "rack[0-1]node1"},
          {"SLURM_RESTART_COUNT", "2"}};
}

std::string step_error(const Environment& environment) {
  try {
    slurm_step(environment);
  } catch (const base::ConfigError& error) {
    return error.what();
  }
  return "no error";
}

TEST(SlurmStep, IsReadAsSlurmstepdTellsIt) {
  const auto step = slurm_step(task_of_a_step());
  ASSERT_TRUE(step.has_value());
  EXPECT_EQ(step->rank, 3);
  EXPECT_EQ(step->tasks, 4);
  EXPECT_EQ(step->local_rank, 1);
  EXPECT_EQ(step->local_tasks, 2);
  EXPECT_EQ(step->node, 1);
  EXPECT_EQ(step->nodes, 2);
  EXPECT_EQ(step->first_node, "rack0node1");
  EXPECT_EQ(step->restarts, 2);
  EXPECT_EQ(step->port(), 27612);
}

TEST(SlurmStep, ABatchScriptAndAnInteractiveShellAreNoTasksOfAStep) {
  Environment environment = task_of_a_step();
  environment.erase("SLURM_STEP_ID");
  EXPECT_FALSE(slurm_step(environment).has_value());
  for (const char* own : {"4294967290", "4294967291", "4294967292"}) {
    environment["SLURM_STEP_ID"] = own;
    EXPECT_FALSE(slurm_step(environment).has_value()) << own;
  }
  environment["SLURM_STEP_ID"] = "2147483648";
  EXPECT_TRUE(slurm_step(environment).has_value());
}

TEST(SlurmStep, NamesTheVariableThatIsWrong) {
  const auto with = [](const std::string& name, const std::string& value) {
    Environment environment = task_of_a_step();
    environment[name] = value;
    return step_error(environment);
  };
  EXPECT_THAT(with("SLURM_STEP_ID", "4294967296"), HasSubstr("SLURM_STEP_ID is '4294967296' but must be"));
  EXPECT_THAT(with("SLURM_PROCID", "4"), HasSubstr("SLURM_PROCID is 4 but must be below SLURM_STEP_NUM_TASKS"));
  EXPECT_THAT(with("SLURM_LOCALID", "2"), HasSubstr("SLURM_LOCALID is 2 but must be below SLURM_STEP_TASKS_PER_NODE"));
  EXPECT_THAT(with("SLURM_STEP_TASKS_PER_NODE", "5(x2)"), HasSubstr("has 5 tasks on node 1 but"));
}

TEST(SlurmLists, AreReadAsSlurmWritesThem) {
  EXPECT_EQ(slurm_first_host("login"), "login");
  EXPECT_EQ(slurm_first_host("a,b"), "a");
  EXPECT_EQ(slurm_first_host("node[003-007,12],login"), "node003");
  EXPECT_EQ(slurm_first_host("n[5]-ib,x"), "n5-ib");
  EXPECT_EQ(slurm_first_host("rack[0-1]node[1-2]"), "rack0node1");
  EXPECT_EQ(slurm_first_host("rack[07,09]node[10-12]-ib,x[1-2]"), "rack07node10-ib");
  EXPECT_THROW(slurm_first_host("n[5"), base::ConfigError);
  EXPECT_THROW(slurm_first_host("n[1]m[5"), base::ConfigError);
  EXPECT_THROW(slurm_first_host(",n"), base::ConfigError);
  EXPECT_EQ(slurm_tasks_of_node("2(x3),1", 2), 2);
  EXPECT_EQ(slurm_tasks_of_node("2(x3),1", 3), 1);
  EXPECT_THROW(slurm_tasks_of_node("2(x3),1", 4), base::ConfigError);
  EXPECT_THROW(slurm_tasks_of_node("two", 0), base::ConfigError);
  EXPECT_THROW(slurm_tasks_of_node("2(x9223372036854775807)", 0), base::ConfigError);
}

}  // namespace
}  // namespace troika::rendezvous
