// Other programs that start ranks: torchrun, srun and mpirun, and people with three terminals.
#include <gmock/gmock.h>

#include <memory>

#include "commands/train/program_test_support.h"
#include "rendezvous/store.h"

namespace troika::commands {
namespace {

class Launchers : public testing::Test {
 protected:
  void SetUp() override { ASSERT_EQ(run(troika(train("alone", {}))).code, 0); }

  Words train(const std::string& name, const Words& more) const {
    return small_run(corpus_, folder_ / name) + Words{"--log.progress", "none", "--steps", "5"} + more;
  }

  void expect_same(const std::string& name) const {
    expect_rows(read_rows(folder_ / name), read_rows(folder_ / "alone"), name);
  }

  // One process per environment, the last one first.
  void expect_all_end_well(const std::string& name, const Words& words, const std::vector<Variables>& ranks) const {
    std::vector<std::unique_ptr<Program>> programs;
    for (auto rank = ranks.rbegin(); rank != ranks.rend(); ++rank)
      programs.push_back(std::make_unique<Program>(words, *rank));
    for (const auto& program : programs) {
      const End end = program->wait();
      EXPECT_EQ(end.code, 0) << end.output;
    }
    expect_same(name);
  }

  const Folder folder_;
  const std::string corpus_ = write_corpus(folder_);
};

// The agent of torchrun holds MASTER_PORT itself while its workers run.
TEST_F(Launchers, TorchrunsVariablesAreUnderstood) {
  const int port = free_port();
  const rendezvous::StoreServer agent(port);
  expect_all_end_well("torchrun", troika(train("torchrun", {"--pp", "3"})),
                      {as_torchrun(0, 3, port), as_torchrun(1, 3, port), as_torchrun(2, 3, port)});
}

TEST_F(Launchers, SrunsVariablesAreUnderstood) {
  std::vector<Variables> ranks;
  const std::string port = std::to_string(free_port());
  for (const char* rank : {"0", "1"}) {
    ranks.push_back({{"SLURM_PROCID", rank},
                     {"SLURM_NTASKS", "2"},
                     {"SLURM_LOCALID", rank},
                     {"SLURM_NODEID", "0"},
                     {"SLURM_STEP_ID", "0"},
                     {"SLURM_STEP_NODELIST", "localhost"},
                     {"SLURM_STEP_TASKS_PER_NODE", "2"},
                     {"SLURM_NNODES", "1"},
                     {"SLURM_JOB_ID", "4711"},
                     {"MASTER_PORT", port}});
  }
  expect_all_end_well("srun", troika(train("srun", {"--dp", "2"})), ranks);
}

// Three terminals, the last host first.
TEST_F(Launchers, ThreeLaunchersFindEachOther) {
  const std::string port = std::to_string(free_port());
  std::vector<std::unique_ptr<Program>> hosts;
  for (const char* host : {"2", "1", "0"}) {
    hosts.push_back(
        std::make_unique<Program>(troika({"launch", "--nnodes", "3", "--node-rank", host, "--master-addr", "127.0.0.1",
                                          "--master-port", port, "--nproc-per-node", "1", "--"}) +
                                  train("terminals", {"--pp", "3"})));
  }
  for (const auto& host : hosts) {
    const End end = host->wait();
    EXPECT_EQ(end.code, 0) << end.output;
  }
  expect_same("terminals");
}

#ifdef TROIKA_MPIRUN
TEST_F(Launchers, MpirunStartsRanks) {
  const Words mpirun{TROIKA_MPIRUN, "--allow-run-as-root", "--oversubscribe", "-n", "2"};
  const End end = run(mpirun + troika(train("mpirun", {"--pp", "2"})), {{"MASTER_PORT", std::to_string(free_port())}});
  EXPECT_EQ(end.code, 0) << end.output;
  expect_same("mpirun");
}
#endif

}  // namespace
}  // namespace troika::commands
