// A sweep over two hosts, which are processes of this one: it resumes, a layout fails on the other host, a host goes for good.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <signal.h>
#include <sys/stat.h>

#include "base/error.h"
#include "base/file.h"
#include "base/temporary_folder_test_support.h"
#include "base/text.h"
#include "commands/launch/launch_test_support.h"
#include "commands/sweep/sweep.h"
#include "rendezvous/store.h"
#include "sweep/row.h"
#include "sweep/sweep_test_support.h"

namespace troika::commands {
namespace {
using testing::AllOf;
using testing::HasSubstr;

// With the port behind it.
class TwoHosts : public testing::Test {
 protected:
  TwoHosts() {
    std::string text;
    for (int i = 0; i < 300; ++i) text += fmt::format("line {} of the corpus\n", i * i % 977);
    base::write_file_atomic(at("corpus.txt"), text);
    base::write_file_atomic(at("two.yaml"), "hosts:\n  - device: cloud-2-cores\n    count: 2\n");
    base::write_file_atomic(at("training.yaml"),
                            "model: {layers: 2, hidden: 32, heads: 2, kv_heads: 1, head_dim: 16, ffn: 64, vocab: 259}\n"
                            "data: {train: corpus.txt, tokenizer: bytes}\n"
                            "batch: {seq_len: 16, global_batch_size: 4, micro_batch_size: 1}\n");
  }

  std::string at(const std::string& name) const { return folder_.path() + "/" + name; }

  // The command that a person types on that host.
  std::vector<std::string> words(int node, const std::vector<std::string>& more) const {
    std::vector<std::string> all = {"sweep",
                                    "training.yaml",
                                    "--nproc",
                                    "1",
                                    "--nnodes",
                                    "2",
                                    "--node-rank",
                                    std::to_string(node),
                                    "--master-addr",
                                    "127.0.0.1",
                                    "--master-port",
                                    std::to_string(port_),
                                    "--cluster",
                                    "two.yaml",
                                    "--steps",
                                    "2",
                                    "--train.threads",
                                    "1",
                                    "--precision.compute",
                                    "fp32",
                                    "--recompute",
                                    "none",
                                    "--offload",
                                    "none",
                                    "--schedule",
                                    "1f1b",
                                    "--micro-batch-size",
                                    "1",
                                    "--cp",
                                    "1",
                                    "--zero",
                                    "0",
                                    "--out",
                                    "sweep"};
    all.insert(all.end(), more.begin(), more.end());
    return all;
  }

  sweep::SweepRows rows() const {
    const std::string path = at("sweep/summary.csv");
    return base::file_exists(path) ? sweep::parse_csv(base::read_file(path), path) : sweep::SweepRows{};
  }

  // A program for the ranks that is troika, but for what `cases` says of a command line.
  void write_program(const std::string& cases) const {
    base::write_file_atomic(at("rank.sh"), fmt::format("#!/bin/sh\ncase \"$GROUP_RANK $* \" in\n{}\nesac\n"
                                                       "exec {}/troika \"$@\"\n",
                                                       cases, TROIKA_BINARY_DIR));
    ::chmod(at("rank.sh").c_str(), 0755);
  }

  const base::TemporaryFolder folder_;
  const int port_ = free_port();
};

TEST_F(TwoHosts, RunALayoutTogetherStopTogetherAndGoOn) {
  write_program(fmt::format("'1 '*' --pp 2 '*) [ -e {0}/again ] || {{ echo up > {0}/hangs; exec sleep 100; }} ;;",
                            folder_.path()));
  const std::vector<std::string> more = {"--tp", "1", "--program", at("rank.sh"), "--deadline", "60"};
  {
    Launcher zero(words(0, more), folder_.path()), one(words(1, more), folder_.path());
    await_file(at("hangs"));
    one.signal(SIGINT);
    EXPECT_EQ(one.wait(), 130);
    EXPECT_EQ(zero.wait(), 130);
  }
  ASSERT_FALSE(rows().empty());
  EXPECT_EQ(rows().back().status, sweep::SweepStatus::interrupted);
  base::write_file_atomic(at("again"), "");
  Launcher zero(words(0, more), folder_.path()), one(words(1, more), folder_.path());
  EXPECT_EQ(zero.wait(), 0);
  EXPECT_EQ(one.wait(), 0);
  ASSERT_EQ(rows().size(), 2u) << zero.output();
  for (const sweep::SweepRow& row : rows()) {
    EXPECT_EQ(row.status, sweep::SweepStatus::ok) << row.reason.english;
    EXPECT_EQ(row.layout.world(), 2);
    EXPECT_GT(row.measured->resident_bytes, row.measured->memory_bytes);
  }
  EXPECT_EQ(rows()[0].measured->loss_bits, rows()[1].measured->loss_bits);
  EXPECT_THAT(zero.output(), AllOf(HasSubstr("on host 1: the same command with --node-rank 1"),
                                   HasSubstr(fmt::format("train it: troika launch --nnodes 2 --node-rank K "
                                                         "--master-addr 127.0.0.1 --master-port {} --nproc-per-node 1 "
                                                         "-- train sweep/best.yaml\n(on every host",
                                                         port_))));
  EXPECT_THAT(one.output(), HasSubstr("host 0 exited: the sweep is complete"));
  EXPECT_TRUE(base::directory_exists(at("sweep/host-1/data"))) << "tokenized before the first layout";
}

TEST_F(TwoHosts, AFailureIsARowAndAHostThatIsGoneEndsTheSweep) {
  write_program(
      fmt::format("'1 '*' --dp 2 '*) echo 'troika: not on this host' >&2; exit 3 ;;\n"
                  "'1 '*' --pp 2 '*) echo up > {}/hangs; exec sleep 100 ;;",
                  folder_.path()));
  const std::vector<std::string> more = {"--tp", "1", "--program", at("rank.sh"), "--join-timeout", "2"};
  Launcher zero(words(0, more), folder_.path()), one(words(1, more), folder_.path());
  await_file(at("hangs"));
  one.signal(SIGKILL);
  EXPECT_EQ(zero.wait(), 75);
  EXPECT_THAT(zero.output(),
              HasSubstr("troika sweep: host 1 did not join within 2 s: start troika sweep there with its "
                        "--node-rank"));
  for (const sweep::SweepRow& row : rows()) {
    EXPECT_EQ(row.status, row.layout.dp == 2 ? sweep::SweepStatus::failed : sweep::SweepStatus::interrupted) << row.reason.english;
    EXPECT_THAT(row.reason.english, HasSubstr(row.layout.dp == 2 ? "not on this host" : "host 1 was lost"));
  }
}

TEST_F(TwoHosts, TurnAwayOtherSettingsAndEndWithTheErrorOfTheOther) {
  Launcher zero(words(0, {"--tp", "1"}), folder_.path());
  Launcher other(words(1, {"--tp", "1", "--seq-len", "17"}), folder_.path());
  EXPECT_EQ(other.wait(), 2);
  EXPECT_THAT(other.output(), HasSubstr("use the same flags on every host"));
  Launcher one(words(1, {"--tp", "1", "--data.train", "nothing-here.txt"}), folder_.path());
  EXPECT_EQ(zero.wait(), 75);
  EXPECT_EQ(one.wait(), 75);
  EXPECT_THAT(zero.output(), AllOf(HasSubstr("host 1: "), HasSubstr("nothing-here.txt")));
}

TEST(SweepHosts, WithoutAMachineFileAreToldHowToGetIt) {
  try {
    parse_sweep({"--nproc", "1", "--nnodes", "3", "--node-rank", "1", "--master-addr", "a"}, {});
    FAIL();
  } catch (const base::ConfigError& error) {
    EXPECT_THAT(error.what(), HasSubstr("`troika launch --nnodes 3 ... -- probe --out cluster.yaml`"));
  }
  const SweepArguments a = parse_sweep({"--nproc", "2", "--cluster", "c.yaml", "--master-port", "7"},
                                       {{"NNODES", "3"}, {"NODE_RANK", "2"}, {"MASTER_ADDR", "pi"}});
  EXPECT_EQ(a.hosts.nnodes, 3);
  EXPECT_EQ(a.hosts.master_address, "pi");
  EXPECT_EQ(a.folder(), "runs/sweep/host-2");
}

}  // namespace
}  // namespace troika::commands
