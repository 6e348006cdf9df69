#include "rendezvous/identity.h"

#include <gmock/gmock.h>
#include <sys/stat.h>

#include "base/error.h"
#include "base/file.h"
#include "base/temporary_folder_test_support.h"
#include "rendezvous/store.h"

namespace troika::rendezvous {
namespace {
using Environment = std::map<std::string, std::string>;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

std::string error_of(const Environment& environment) {
  try {
    identify(environment);
  } catch (const base::ConfigError& error) {
    return error.what();
  }
  return "no error";
}

TEST(Identity, IsAloneInAnEmptyEnvironment) {
  const Identity me = identify({});
  EXPECT_EQ(me.source, Identity::Source::alone);
  EXPECT_EQ(me.world_size, 1);
  EXPECT_FALSE(me.hosts_store);
}

TEST(Identity, TakesOurLaunchersStore) {
  const Identity me = identify({{"RANK", "3"},
                                {"WORLD_SIZE", "4"},
                                {"LOCAL_RANK", "1"},
                                {"LOCAL_WORLD_SIZE", "2"},
                                {"GROUP_RANK", "1"},
                                {"MASTER_ADDR", "10.0.0.1"},
                                {"MASTER_PORT", "29500"},
                                {"TROIKA_STORE", "10.0.0.1:29500"},
                                {"TROIKA_GENERATION", "2"},
                                {"TROIKA_LAUNCH", "c0ffee"}});
  EXPECT_EQ(me.source, Identity::Source::troika_launch);
  EXPECT_EQ(me.world_rank, 3);
  EXPECT_EQ(me.local_rank, 1);
  EXPECT_EQ(me.node_rank, 1);
  EXPECT_EQ(me.master_address, "10.0.0.1");
  EXPECT_EQ(me.store_port, 29500);
  EXPECT_EQ(me.generation, "2");
  EXPECT_EQ(me.launch, "c0ffee");
  EXPECT_TRUE(me.restarted);
  EXPECT_FALSE(me.hosts_store);
  EXPECT_EQ(key_of(me, "failure_report"), "c0ffee/2/failure_report");
}

TEST(Identity, KeepsOffThePortOfTorchrunsAgent) {
  const Environment environment = {{"RANK", "0"},
                                   {"WORLD_SIZE", "2"},
                                   {"LOCAL_RANK", "0"},
                                   {"LOCAL_WORLD_SIZE", "2"},
                                   {"MASTER_ADDR", "host"},
                                   {"MASTER_PORT", "29500"},
                                   {"TORCHELASTIC_RESTART_COUNT", "1"}};
  const Identity me = identify(environment);
  EXPECT_EQ(me.source, Identity::Source::torchrun);
  EXPECT_EQ(me.store_port, 29501);
  EXPECT_TRUE(me.hosts_store);
  EXPECT_EQ(me.generation, "1");
}

TEST(Identity, PrefersRankOverMpirunAndMpirunOverSrun) {
  Environment environment = {{"SLURM_STEP_ID", "0"},
                             {"SLURM_PROCID", "1"},
                             {"SLURM_NTASKS", "3"},
                             {"SLURM_LOCALID", "0"},
                             {"OMPI_COMM_WORLD_RANK", "1"},
                             {"OMPI_COMM_WORLD_SIZE", "2"},
                             {"OMPI_COMM_WORLD_LOCAL_RANK", "1"},
                             {"OMPI_COMM_WORLD_LOCAL_SIZE", "2"}};
  EXPECT_EQ(identify(environment).source, Identity::Source::mpirun);
  EXPECT_EQ(identify(environment).world_size, 2);
  environment["RANK"] = "0";
  environment["WORLD_SIZE"] = "1";
  EXPECT_EQ(identify(environment).source, Identity::Source::torchrun);
}

TEST(Identity, ReadsHydraAndMvapich) {
  const Environment hydra = {
      {"PMI_RANK", "3"}, {"PMI_SIZE", "4"}, {"MPI_LOCALRANKID", "1"}, {"MPI_LOCALNRANKS", "2"}, {"MASTER_ADDR", "pi0"}};
  const Identity me = identify(hydra);
  EXPECT_EQ(me.source, Identity::Source::mpirun);
  EXPECT_EQ(me.world_rank, 3);
  EXPECT_EQ(me.world_size, 4);
  EXPECT_EQ(me.local_rank, 1);
  EXPECT_EQ(me.local_size, 2);
  EXPECT_EQ(me.node_rank, 1);
  EXPECT_EQ(me.master_address, "pi0");
  EXPECT_FALSE(me.hosts_store);
  EXPECT_EQ(identify({{"MV2_COMM_WORLD_RANK", "0"},
                      {"MV2_COMM_WORLD_SIZE", "2"},
                      {"MV2_COMM_WORLD_LOCAL_RANK", "0"},
                      {"MV2_COMM_WORLD_LOCAL_SIZE", "2"}})
                .world_size,
            2);
  EXPECT_THAT(error_of({{"PMI_RANK", "0"}, {"PMI_SIZE", "2"}, {"MPI_LOCALNRANKS", "1"}}),
              HasSubstr("-genv MASTER_ADDR <host of rank 0>"));
  EXPECT_THAT(error_of({{"PMI_RANK", "0"}}), HasSubstr("PMI_SIZE is not set but PMI_RANK is"));
  EXPECT_THAT(error_of({{"PMIX_RANK", "1"}}), HasSubstr("but the number of ranks is not"));
}

TEST(Identity, TellsHydraInAStepOfSlurmFromSrunWithPmi2) {
  Environment environment = {{"SLURM_STEP_ID", "0"}, {"SLURM_PROCID", "1"}, {"SLURM_STEP_NUM_TASKS", "2"},
                             {"SLURM_LOCALID", "1"}, {"PMI_RANK", "3"},     {"PMI_SIZE", "4"}};
  EXPECT_EQ(identify(environment).source, Identity::Source::srun);
  EXPECT_EQ(identify(environment).world_size, 2);
  environment.insert({{"MPI_LOCALRANKID", "3"}, {"MPI_LOCALNRANKS", "4"}});
  EXPECT_EQ(identify(environment).source, Identity::Source::mpirun);
  EXPECT_EQ(identify(environment).world_size, 4);
}

TEST(Identity, APodsNumberIsNoRank) {
  Environment pod = {{"RANK", "1"},       {"WORLD_SIZE", "4"},         {"MASTER_ADDR", "job-master-0"},
                     {"PET_NNODES", "2"}, {"PET_NPROC_PER_NODE", "2"}, {"PET_NODE_RANK", "1"}};
  EXPECT_THAT(error_of(pod), HasSubstr("RANK is the number of this pod, not of a process; start `troika launch --"));
  pod["LOCAL_RANK"] = "0";  // of a launcher in the pod
  EXPECT_EQ(identify(pod).world_size, 4);
  pod.erase("LOCAL_RANK");
  pod["WORLD_SIZE"] = "2";  // one process in each pod
  EXPECT_EQ(identify(pod).world_rank, 1);
}

TEST(Identity, APodWithoutRankIsToldToLaunch) {
  EXPECT_THAT(
      error_of({{"PET_NNODES", "2"}, {"PET_NODE_RANK", "0"}}),
      HasSubstr("PET_NNODES is 2 and PET_NPROC_PER_NODE is 1, but this process has no rank: start `troika"));
  EXPECT_THAT(error_of({{"PET_NPROC_PER_NODE", "2"}}), HasSubstr("has no rank"));
  EXPECT_EQ(identify({{"PET_NNODES", "1"}, {"PET_NPROC_PER_NODE", "auto"}}).source, Identity::Source::alone);
}

TEST(Identity, ReadsSrunsLists) {
  const Environment environment = {{"SLURM_STEP_ID", "4"},
                                   {"SLURM_PROCID", "0"},
                                   {"SLURM_STEP_NUM_TASKS", "7"},
                                   {"SLURM_LOCALID", "0"},
                                   {"SLURM_NODEID", "0"},
                                   {"SLURM_STEP_TASKS_PER_NODE", "2(x3),1"},
                                   {"SLURM_STEP_NODELIST", "pi[3-6]"},
                                   {"SLURM_JOB_ID", "71"}};
  const Identity me = identify(environment);
  EXPECT_EQ(me.source, Identity::Source::srun);
  EXPECT_EQ(me.local_size, 2);
  EXPECT_EQ(me.master_address, "pi3");
  EXPECT_EQ(me.store_port, 20714);
  EXPECT_TRUE(me.hosts_store);
}

TEST(Identity, KnowsTheJobOfSlurmWhoeverStartedIt) {
  Environment environment = {{"RANK", "0"}, {"WORLD_SIZE", "1"}, {"TROIKA_STORE", "127.0.0.1:29500"}};
  EXPECT_EQ(identify(environment).slurm_job, "");
  environment["SLURM_JOB_ID"] = "71";
  EXPECT_EQ(identify(environment).slurm_job, "71");
  environment["SLURM_STEP_ID"] = "0";
  EXPECT_EQ(identify(environment).slurm_job, "71.0");
  environment["SLURM_STEP_ID"] = "4294967290";  // an interactive shell
  EXPECT_EQ(identify(environment).slurm_job, "71");
}

TEST(Identity, IsAloneInASlurmAllocationOutsideAStep) {
  EXPECT_EQ(identify({{"SLURM_PROCID", "0"}, {"SLURM_NTASKS", "8"}}).source, Identity::Source::alone);
}

TEST(Identity, RanksOfOneHostMeetAtItsLoopback) {
  const Environment environment = {{"OMPI_COMM_WORLD_RANK", "0"},       {"OMPI_COMM_WORLD_SIZE", "2"},
                                   {"OMPI_COMM_WORLD_LOCAL_RANK", "0"}, {"OMPI_COMM_WORLD_LOCAL_SIZE", "2"},
                                   {"MASTER_ADDR", "desk.example"},     {"PMIX_NAMESPACE", "1234567681"}};
  const Identity me = identify(environment);
  EXPECT_EQ(me.master_address, "127.0.0.1");
  EXPECT_EQ(me.launch, "1234567681");
  EXPECT_EQ(reach_of(me), Reach::this_host);
  EXPECT_EQ(reach_of(identify({{"RANK", "0"}, {"WORLD_SIZE", "2"}, {"MASTER_ADDR", "10.0.0.1"}})), Reach::networks);
}

TEST(Identity, TheSecretIsGivenItselfOrInAFile) {
  const base::TemporaryFolder folder;
  base::write_file_atomic(folder.path() + "/secret", "correct horse battery\n");
  const std::string file = folder.path() + "/secret";
  EXPECT_EQ(secret_of({}), "");
  EXPECT_EQ(secret_of({{"TROIKA_SECRET", "correct horse battery"}}), "correct horse battery");
  EXPECT_EQ(secret_of({{"TROIKA_SECRET_FILE", file}}), "correct horse battery");
  const auto error = [](const Environment& environment) -> std::string {
    try {
      secret_of(environment);
    } catch (const base::ConfigError& problem) {
      return problem.what();
    }
    return "no error";
  };
  EXPECT_THAT(error({{"TROIKA_SECRET", "horse"}}), HasSubstr("has 5 characters, but needs at least 16"));
  EXPECT_THAT(error({{"TROIKA_SECRET_FILE", folder.path() + "/none"}}),
              AllOf(HasSubstr("TROIKA_SECRET_FILE (--secret-file) names no file"), Not(HasSubstr("/none"))));
  EXPECT_THAT(error({{"TROIKA_SECRET", "a"}, {"TROIKA_SECRET_FILE", file}}), HasSubstr("are both set"));
}

TEST(Identity, MasterAddressMayHaveBracketsAndThePort) {
  Environment environment = {{"RANK", "0"}, {"WORLD_SIZE", "2"}, {"MASTER_ADDR", "[::1]:4000"}};
  EXPECT_EQ(identify(environment).master_address, "::1");
  EXPECT_EQ(identify(environment).store_port, 4001);  // beside the agent's
  environment["MASTER_PORT"] = "5000";
  EXPECT_THAT(error_of(environment), HasSubstr("MASTER_ADDR is '[::1]:4000' but MASTER_PORT is 5000: give one port"));
  environment["MASTER_ADDR"] = "tcp://host";
  EXPECT_THAT(error_of(environment), HasSubstr("MASTER_ADDR is 'tcp://host', but "));
  const Identity launched = identify({{"RANK", "0"}, {"WORLD_SIZE", "1"}, {"TROIKA_STORE", "[::1]:29500"}});
  EXPECT_EQ(launched.master_address, "::1");
  EXPECT_EQ(launched.store_port, 29500);
}

TEST(Identity, ASecretsFileThatOthersReadOrChangeIsNoted) {
  const base::TemporaryFolder folder;
  const std::string file = folder.path() + "/secret";
  base::write_file_atomic(file, "correct horse battery\n");
  const auto note = [&](unsigned mode) {
    EXPECT_EQ(::chmod(file.c_str(), mode), 0);
    return note_about_secret_file({{"TROIKA_SECRET_FILE", file}}).value_or(base::Text{}).english;
  };
  EXPECT_EQ(note(0600), "");
  EXPECT_EQ(note(0640), "");
  EXPECT_THAT(note(0666), HasSubstr("has mode 0666: other users of this host can read and change it; `chmod 600 "));
  EXPECT_THAT(note(0644), HasSubstr("can read it"));
  EXPECT_THAT(note(0620), HasSubstr("can change it"));
  EXPECT_FALSE(note_about_secret_file({{"TROIKA_SECRET_FILE", folder.path() + "/none"}}));
  EXPECT_FALSE(note_about_secret_file({}));
}

TEST(Identity, NamesTheVariableThatIsWrong) {
  EXPECT_THAT(error_of({{"RANK", "0"}}), HasSubstr("WORLD_SIZE is not set but RANK is"));
  EXPECT_THAT(error_of({{"RANK", "x"}, {"WORLD_SIZE", "2"}}), HasSubstr("RANK is 'x' but must be a whole number"));
  EXPECT_THAT(error_of({{"RANK", "2"}, {"WORLD_SIZE", "2"}}),
              HasSubstr("RANK is 2 but must be below WORLD_SIZE, which is 2"));
  EXPECT_THAT(error_of({{"RANK", "0"}, {"WORLD_SIZE", "2"}, {"LOCAL_RANK", "2"}, {"LOCAL_WORLD_SIZE", "2"}}),
              HasSubstr("LOCAL_RANK is 2 but must be below LOCAL_WORLD_SIZE"));
  EXPECT_THAT(error_of({{"RANK", "0"}, {"WORLD_SIZE", "2"}, {"LOCAL_WORLD_SIZE", "4"}}),
              HasSubstr("LOCAL_WORLD_SIZE is 4"));
  EXPECT_THAT(error_of({{"RANK", "0"}, {"WORLD_SIZE", "2"}}), HasSubstr("MASTER_ADDR is not set"));
  EXPECT_THAT(error_of({{"RANK", "0"}, {"WORLD_SIZE", "2"}, {"TROIKA_STORE", "nowhere"}}), HasSubstr("host:port"));
  EXPECT_THAT(
      error_of({{"OMPI_COMM_WORLD_RANK", "0"}, {"OMPI_COMM_WORLD_SIZE", "4"}, {"OMPI_COMM_WORLD_LOCAL_SIZE", "2"}}),
      HasSubstr("-x MASTER_ADDR"));
}

}  // namespace
}  // namespace troika::rendezvous
