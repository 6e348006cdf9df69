#include "commands/launch/options.h"

#include <gmock/gmock.h>

#include "base/say.h"
#include "base/error.h"
#include "base/file.h"
#include "base/temporary_folder_test_support.h"

namespace troika::commands {
namespace {
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using Environment = std::map<std::string, std::string>;

LaunchOptions parse_launch(const std::vector<std::string>& arguments, const Environment& environment,
                           base::Language language = base::Language::english) {
  config::FlagReading reading;
  const launch::LaunchFlags flags = read_launch_flags(arguments, environment, &reading);
  return settle_launch(flags, std::move(reading), environment, language);
}

std::string error_of(const std::vector<std::string>& arguments, const Environment& environment = {}) {
  try {
    parse_launch(arguments, environment);
  } catch (const base::ConfigError& error) {
    return error.what();
  }
  return "no error";
}

TEST(LaunchOptions, UnderstandsTorchrunsSpellings) {
  const auto options = parse_launch(
      {"--nproc_per_node=2", "--nnodes", "3", "--node-rank", "1", "--master_addr", "10.0.0.1", "--master-port", "29511",
       "--max_restarts", "2", "--rdzv_backend", "c10d", "--program", "x", "--", "--a", "b"},
      {});
  EXPECT_EQ(options.nproc_per_node, 2);
  EXPECT_EQ(options.hosts.nnodes, 3);
  EXPECT_EQ(options.hosts.node_rank, 1);
  EXPECT_EQ(options.hosts.master_address, "10.0.0.1");
  EXPECT_EQ(options.hosts.master_port, 29511);
  EXPECT_TRUE(options.hosts.port_is_given);
  EXPECT_EQ(options.max_restarts, 2);
  EXPECT_THAT(base::in(options.notes, base::Language::english), ElementsAre(HasSubstr("--rdzv_backend is ignored")));
  EXPECT_THAT(options.worker, ElementsAre("--a", "b"));
}

TEST(LaunchOptions, AWrongFlagComesBeforeAMissingFile) {
  EXPECT_THAT(error_of({"--host", "a,b", "--", "train", "/nowhere.yaml"}), HasSubstr("unknown flag --host"));
  EXPECT_THROW(parse_launch({"--", "train", "/nowhere.yaml"}, {}), base::DataError);
}

TEST(LaunchOptions, BindsUnlessToldOtherwise) {
  EXPECT_EQ(parse_launch({"--program", "x", "y"}, {}).bind, launch::Bind::automatic);
  EXPECT_EQ(parse_launch({"--bind", "auto", "--program", "x", "y"}, {}).bind, launch::Bind::automatic);
  EXPECT_EQ(parse_launch({"--bind=none", "--program", "x", "y"}, {}).bind, launch::Bind::none);
  EXPECT_THAT(error_of({"--bind", "core", "--program", "x", "y"}), HasSubstr("--bind takes auto or none, not 'core'"));
}

TEST(LaunchOptions, RanksWithoutADeviceAreRefusedBeforeTheyStart) {
  for (const char* device : {"cuda", "cuda:1"})
    EXPECT_THAT(error_of({"--nproc-per-node", "2", "--", "train", "--device", device}), HasSubstr("no CUDA back end"));
  EXPECT_THAT(error_of({"--nproc-per-node", "4096", "--", "train", "--device", "cpu"}), Not(HasSubstr("device")));
}

TEST(LaunchOptions, MetricsAreServedOfATrainingAlone) {
  const auto options = parse_launch(
      {"--metrics-port", "9400", "--metrics-address", "::1", "--", "train", "--out", "runs/a", "--on-event", "notify"},
      {});
  ASSERT_TRUE(options.metrics.has_value());
  EXPECT_EQ(options.metrics->port, 9400);
  EXPECT_EQ(options.metrics->address, "::1");
  EXPECT_EQ(options.run_folder, "runs/a");
  EXPECT_EQ(options.on_event, "notify");
  EXPECT_FALSE(parse_launch({"--", "train"}, {}).metrics.has_value());
  EXPECT_THAT(error_of({"--metrics-port", "0", "--program", "x", "y"}), HasSubstr("'y' has none"));
  EXPECT_THAT(error_of({"--metrics-port", "65536", "--", "train"}), HasSubstr("--metrics-port"));
}

TEST(LaunchOptions, TheDoubleDashMayBeLeftOut) {
  const auto options = parse_launch({"--nproc-per-node", "3", "--program", "x", "run", "--nnodes", "7", "--", "y"}, {});
  EXPECT_EQ(options.hosts.nnodes, 1);
  EXPECT_THAT(options.worker, ElementsAre("run", "--nnodes", "7", "--", "y"));
  EXPECT_FALSE(options.hosts.port_is_given);
}

TEST(LaunchOptions, RanksThatAreVerbsSpeakTheLaunchersLanguageWhereTheirEnvironmentHasAnother) {
  const std::vector<std::string> probe = {"--", "probe", "--out", "x.yaml"}, chinese = {"--", "probe", "--lang", "zh"},
                                 other = {"--program", "x", "--", "run"};
  const auto worker = [](const std::vector<std::string>& words, const std::string& locale, base::Language language) {
    return parse_launch(words, {{"LANG", locale}}, language).worker;
  };
  EXPECT_THAT(worker(probe, "C", base::Language::chinese), ElementsAre("probe", "--lang", "zh", "--out", "x.yaml"));
  EXPECT_THAT(worker(probe, "zh_CN.UTF-8", base::Language::english),
              ElementsAre("probe", "--lang", "en", "--out", "x.yaml"));
  EXPECT_THAT(worker(probe, "zh_CN.UTF-8", base::Language::chinese), ElementsAre("probe", "--out", "x.yaml"));
  EXPECT_THAT(worker(chinese, "C", base::Language::english), ElementsAre("probe", "--lang", "zh"));
  EXPECT_THAT(worker(other, "C", base::Language::chinese), ElementsAre("run"));
}

TEST(LaunchOptions, TakesWhatAPodIsGiven) {
  const Environment job = {{"RANK", "1"},
                           {"WORLD_SIZE", "4"},
                           {"MASTER_ADDR", "job-master-0"},
                           {"PET_NNODES", "2:2"},
                           {"PET_NPROC_PER_NODE", "2"},
                           {"PET_NODE_RANK", "1"},
                           {"MASTER_PORT", "23456"},
                           {"PET_MAX_RESTARTS", "3"}};
  const auto options = parse_launch({"--program", "x", "y"}, job);
  EXPECT_EQ(options.hosts.nnodes, 2);
  EXPECT_EQ(options.hosts.node_rank, 1);
  EXPECT_EQ(options.nproc_per_node, 2);
  EXPECT_EQ(options.hosts.master_address, "job-master-0");
  EXPECT_EQ(options.hosts.master_port, 23456);
  EXPECT_EQ(options.max_restarts, 3);
  const auto trainer = parse_launch({"--program", "x", "y"}, {{"PET_NNODES", "2"},
                                                              {"PET_NPROC_PER_NODE", "cpu"},
                                                              {"PET_NODE_RANK", "0"},
                                                              {"PET_MASTER_ADDR", "job-node-0-0.job"},
                                                              {"PET_MASTER_PORT", "29500"}});
  EXPECT_EQ(trainer.hosts.master_address, "job-node-0-0.job");
  EXPECT_EQ(trainer.hosts.nnodes, 2);
}

TEST(LaunchOptions, RankWithoutLocalRankNumbersHosts) {
  const Environment pods = {{"RANK", "1"}, {"WORLD_SIZE", "2"}, {"MASTER_ADDR", "a"}};
  const auto options = parse_launch({"--nproc-per-node", "3", "--program", "x", "y"}, pods);
  EXPECT_EQ(options.hosts.nnodes, 2);
  EXPECT_EQ(options.hosts.node_rank, 1);
  EXPECT_THAT(base::in(options.notes, base::Language::english), ElementsAre(HasSubstr("this is host 1 of 2")));
  EXPECT_EQ(parse_launch({"--standalone", "--program", "x", "y"}, pods).hosts.nnodes, 1);
}

TEST(LaunchOptions, TakesTheEndpointApart) {
  const auto options =
      parse_launch({"--rdzv-endpoint", "pi3:2000", "--nnodes", "2", "--node-rank", "0", "--program", "x", "y"}, {});
  EXPECT_EQ(options.hosts.master_address, "pi3");
  EXPECT_EQ(options.hosts.master_port, 2000);
}

TEST(LaunchOptions, TheEnvironmentGivesDefaultsAndFlagsWin) {
  const Environment environment = {
      {"NNODES", "2"}, {"NODE_RANK", "1"}, {"MASTER_ADDR", "a"}, {"MASTER_PORT", "5"}, {"NPROC_PER_NODE", "4"}};
  const auto options = parse_launch({"--nproc-per-node", "2", "--program", "x", "y"}, environment);
  EXPECT_EQ(options.hosts.nnodes, 2);
  EXPECT_EQ(options.hosts.node_rank, 1);
  EXPECT_EQ(options.hosts.master_address, "a");
  EXPECT_EQ(options.hosts.master_port, 5);
  EXPECT_EQ(options.nproc_per_node, 2);
}

TEST(LaunchOptions, AStepOfSlurmSaysWhichHostsThereAre) {
  Environment step = {{"SLURM_JOB_ID", "71"},
                      {"SLURM_STEP_ID", "0"},
                      {"SLURM_PROCID", "1"},
                      {"SLURM_NODEID", "1"},
                      {"SLURM_LOCALID", "0"},
                      {"SLURM_STEP_NUM_TASKS", "2"},
                      {"SLURM_STEP_NUM_NODES", "2"},
                      {"SLURM_STEP_TASKS_PER_NODE", "1(x2)"},
                      {"SLURM_STEP_NODELIST", "pi[3-4]"}};
  const auto options = parse_launch({"--program", "x", "y"}, step);
  EXPECT_EQ(options.hosts.nnodes, 2);
  EXPECT_EQ(options.hosts.node_rank, 1);
  EXPECT_EQ(options.hosts.master_address, "pi3");
  EXPECT_EQ(options.hosts.master_port, 20710);
  EXPECT_TRUE(options.hosts.port_is_given);
  EXPECT_TRUE(options.hosts.numbered_by_cluster);
  const auto stated = parse_launch(
      {"--nnodes", "4", "--node-rank", "3", "--master-addr", "a", "--master-port", "5", "--program", "x", "y"}, step);
  EXPECT_EQ(stated.hosts.nnodes, 4);
  EXPECT_EQ(stated.hosts.node_rank, 3);
  EXPECT_EQ(stated.hosts.master_address, "a");
  EXPECT_EQ(stated.hosts.master_port, 5);
  EXPECT_FALSE(stated.hosts.numbered_by_cluster);
  EXPECT_EQ(parse_launch({"--standalone", "--program", "x", "y"}, step).hosts.nnodes, 1);
  step["SLURM_STEP_NUM_TASKS"] = "4";
  step["SLURM_STEP_TASKS_PER_NODE"] = "2(x2)";
  EXPECT_THAT(error_of({"--program", "x", "y"}, step),
              HasSubstr("srun starts 4 launchers on 2 nodes: start one per host"));
}

TEST(FamiliarLaunches, ThreeHostsStartedByHand) {
  const auto options = parse_launch({"--nnodes", "3", "--node-rank", "2", "--master-addr", "192.168.1.10",
                                     "--master-port", "29500", "--program", "x", "y"},
                                    {});
  EXPECT_EQ(options.hosts.nnodes, 3);
  EXPECT_EQ(options.hosts.node_rank, 2);
  EXPECT_EQ(options.nproc_per_node, 1);
  EXPECT_EQ(options.hosts.master_address, "192.168.1.10");
}

TEST(FamiliarLaunches, ANodeOfTheClusterIsInTheEnvironment) {
  const Environment environment = {{"FORCE_TORCHRUN", "1"},     {"NNODES", "2"},          {"NODE_RANK", "1"},
                                   {"MASTER_ADDR", "10.0.0.1"}, {"MASTER_PORT", "29600"}, {"NPROC_PER_NODE", "8"}};
  const auto options = parse_launch(implied_launch({"train", "--help"}, environment), environment);
  EXPECT_EQ(options.hosts.nnodes * options.nproc_per_node, 16);
  EXPECT_EQ(options.hosts.node_rank, 1);
  EXPECT_EQ(options.hosts.master_port, 29600);
  EXPECT_THAT(options.worker, ElementsAre("train", "--help"));
}

TEST(FamiliarLaunches, TheirScriptsVariablesAreDefaultsToo) {
  const auto options = parse_launch({"--node-rank", "1", "--master-addr", "a", "--program", "x", "y"},
                                    {{"NUM_GPUS", "8"}, {"NUM_NODES", "2"}});
  EXPECT_EQ(options.nproc_per_node, 8);
  EXPECT_EQ(options.hosts.nnodes, 2);
}

TEST(LaunchOptions, TrainStartsItsRanksWhereTheEnvironmentAsksForThem) {
  EXPECT_TRUE(launches_itself({{"FORCE_TORCHRUN", "1"}}));
  EXPECT_TRUE(launches_itself({{"NNODES", "2"}, {"NODE_RANK", "0"}}));
  EXPECT_FALSE(launches_itself({{"NNODES", "1"}}));
  EXPECT_FALSE(launches_itself({{"FORCE_TORCHRUN", "0"}}));
  EXPECT_FALSE(launches_itself({}));
  const Environment of_a_rank = {{"FORCE_TORCHRUN", "1"}, {"RANK", "0"},        {"WORLD_SIZE", "2"},
                                 {"LOCAL_RANK", "0"},     {"MASTER_ADDR", "a"}, {"MASTER_PORT", "5"}};
  EXPECT_FALSE(launches_itself(of_a_rank));
  const auto words = implied_launch({"train", "x.yaml"}, {{"NPROC_PER_NODE", "2"}});
  EXPECT_THAT(words, ElementsAre("--", "train", "x.yaml"));
}

TEST(LaunchOptions, SaysWhatIsWrong) {
  EXPECT_THAT(error_of({"--nproc-per-nod", "3", "train"}),
              AllOf(HasSubstr("unknown flag --nproc-per-nod; did you mean --nproc-per-node?"),
                    HasSubstr("Flags of the training go after `-- train`")));
  EXPECT_THAT(error_of({"--nproc-per-node", "0", "train"}),
              HasSubstr("--nproc-per-node is '0' but must be a whole number from 1 to 4096, or cpu, gpu or auto"));
  EXPECT_THAT(error_of({"--nproc-per-node", "2"}), HasSubstr("nothing to launch"));
  EXPECT_THAT(error_of({"--nnodes", "1:3", "train"}), HasSubstr("a range of hosts is not supported"));
  EXPECT_THAT(error_of({"--nnodes", "3", "--node-rank", "1", "train"}), HasSubstr("--master-addr is not given"));
  EXPECT_THAT(error_of({"--nnodes", "3", "--master-addr", "a", "train"}), HasSubstr("--node-rank is not given"));
  EXPECT_THAT(error_of({"--nnodes", "3", "--node-rank", "3", "--master-addr", "a", "train"}),
              HasSubstr("must be below --nnodes, which is 3"));
  EXPECT_THAT(error_of({"--master-port", "99999", "train"}),
              HasSubstr("--master-port must be at most 65535, not 99999"));
  EXPECT_THAT(error_of({"--join-timeout", "soon", "--program", "x", "y"}),
              HasSubstr("--join-timeout takes a time such as 30, 500ms or 2m, not 'soon'"));
  EXPECT_THAT(error_of({"--master-port"}), HasSubstr("--master-port needs a value"));
  EXPECT_THAT(error_of({"--rdzv-endpoint", "a:x", "train"}), HasSubstr("its port must be from 1 to 65535"));
  EXPECT_THAT(error_of({"--", "trian"}), HasSubstr("did you mean 'train'?"));
}

TEST(LaunchOptions, TakesFolderAndPatienceFromTheTrainingsSettings) {
  const auto options = parse_launch({"train", "--out", "runs/x", "--comm.join-seconds", "7"}, {});
  EXPECT_EQ(options.log_folder, "runs/x/logs");
  EXPECT_EQ(options.join_seconds, 7);
  EXPECT_THAT(error_of({"train", "--no-such-setting", "1"}), HasSubstr("no-such-setting"));
  const auto other = parse_launch({"--log-dir", "here", "--join-timeout", "3", "train"}, {});
  EXPECT_EQ(other.log_folder, "here");
  EXPECT_EQ(other.join_seconds, 3);
}

TEST(LaunchOptions, ABenchHasAFolderOnlyWhenOneIsGiven) {
  const auto folder_of = [](const std::vector<std::string>& words) { return parse_launch(words, {}).log_folder; };
  EXPECT_EQ(folder_of({"--", "bench", "step", "--json", "--seconds", "1"}), "");
  EXPECT_EQ(folder_of({"--", "bench", "comm", "--most", "1MiB"}), "");
  EXPECT_EQ(folder_of({"--", "bench", "step", "--out", "there"}), "there/logs");
  EXPECT_EQ(folder_of({"--log-dir", "logs", "--", "bench", "step"}), "logs");
  const base::TemporaryFolder folder;
  base::write_file_atomic(folder.path() + "/run.yaml", "train: {out: there}\n");
  EXPECT_EQ(folder_of({"--", "bench", "step", folder.path() + "/run.yaml"}), "");
  EXPECT_THAT(error_of({"--", "bench", "step", "--bogus", "1"}), HasSubstr("unknown flag --bogus"));
}

TEST(LaunchOptions, ItsOwnFlagsBehindTheVerbAreSentBeforeIt) {
  EXPECT_EQ(
      error_of({"--nproc-per-node", "2", "--", "train", "--steps", "3", "--join-timeout", "2", "--max_restarts=1"}),
      "--join-timeout is a flag of `troika launch`, not of `train`: put it before `-- train`\n"
      "--max_restarts is a flag of `troika launch`, not of `train`: put it before `-- train`");
  EXPECT_THAT(error_of({"--", "bench", "step", "--node-rank", "1"}), HasSubstr("put it before `-- bench step`"));
}

TEST(LaunchOptions, ErrorsOfTheLaunchAndOfTheSettingsComeTogether) {
  const std::string text = error_of({"--nnodes", "many", "--max-restart", "2", "--", "eval", "--stpes", "3", "--json"});
  EXPECT_THAT(text, AllOf(HasSubstr("--nnodes is 'many'"), HasSubstr("did you mean --max-restarts?"),
                          HasSubstr("unknown flag --stpes; did you mean --steps?"), Not(HasSubstr("json"))));
}

TEST(LaunchOptions, AVariableOfTheEnvironmentIsNamedWhereItIsWrong) {
  EXPECT_THAT(error_of({"--program", "x", "y"}, {{"MASTER_PORT", "many"}}),
              HasSubstr("--master-port (MASTER_PORT) takes a whole number, not 'many'"));
  EXPECT_EQ(error_of({"--master-port", "5", "--program", "x", "y"}, {{"MASTER_PORT", "many"}}), "no error");
}

}  // namespace
}  // namespace troika::commands
