// Starting, stopping, resuming and exporting, with small shell programs in place of troika.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>

#include "base/text.h"
#include "host/process.h"
#include "records/folder_lock.h"
#include "serve/programs.h"
#include "serve/checkpoints.h"
#include "serve/run_config.h"
#include "serve/served_runs_test_support.h"
#include "serve/run_control.h"

namespace troika::serve {
namespace {
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::StartsWith;

class Control : public testing::Test {
 protected:
  Control() { base::write_file_atomic(served.options.root + "/data/a.txt", "some text\n"); }
  ~Control() override {
    for (const pid_t pid : started_) ::kill(pid, SIGKILL);
  }

  Form form(const std::string& name) const {
    return {name, 2, {{"data.train", served.options.root + "/data/a.txt"}, {"train.steps", "5"}}};
  }
  // One that ends is waited for.
  std::string started(const std::string& name, double patience_seconds = 20) const {
    return refusal_of([&] { start_run(served.context, form(name), {}, patience_seconds); });
  }
  std::string resumed(const std::string& name, std::optional<std::int64_t> step = {}) const {
    return refusal_of([&] { resume_run(served.context, name, step, {}, 20); });
  }
  std::string stopped(const std::string& name, StopHow how) {
    return refusal_of([&] { stops.stop(served.context, name, how); });
  }
  std::string await_text(const std::string& path, const std::string& part = "") const {
    for (const double until = base::monotonic_seconds() + 20; base::monotonic_seconds() < until; ::usleep(10'000))
      if (base::file_exists(path) && base::file_size(path) > 0)
        if (std::string text = base::read_file(path); text.find(part) != std::string::npos) return text;
    ADD_FAILURE() << path << " did not hold " << part;
    return "";
  }
  // The program of `served` says so by its first word in the run's folder.
  void ends_with_the_test(const std::string& pid_file) { started_.push_back(std::stoi(await_text(pid_file))); }

  const ServedRuns served;
  RunStops stops;

 private:
  std::vector<pid_t> started_;
};

// The last word is the run's folder.
constexpr const char* in_folder = "for last; do :; done; cd \"$last\" || exit 1; ";

TEST_F(Control, StartsTroikaInANewFolderAndLeavesItAlone) {
  served.program_is(std::string("pwd > where; ") + in_folder +
                    "for word; do echo \"$word\"; done > words; echo $$ > pid; exec sleep 60");
  ASSERT_EQ(started("first", 0.1), "done");
  ends_with_the_test(served / "first/pid");
  const std::string data = served.options.root + "/data/a.txt", out = served / "first";
  EXPECT_EQ(base::read_file(served.options.root + "/where"), served.options.root + "\n");
  EXPECT_EQ(base::read_file(served / "first/words"), "launch\n--lang\nen\n--nproc-per-node\n2\n--\ntrain\n--data.train\n" + data +
                                                         "\n--train.steps\n5\n--train.out\n" + out + "\n");
  EXPECT_EQ(base::read_file(served / "first/launch.yaml"),
            "data:\n  train: " + data + "\ntrain:\n  steps: 5\n  out: " + out + "\n");
  EXPECT_TRUE(has_writer(served / "first/launch.log"));
  EXPECT_THAT(started("first"), AllOf(StartsWith("409"), HasSubstr("already running")));
  EXPECT_EQ(served.catalog.folder_of("first"), out);
}

TEST_F(Control, SaysWhyARunEndedAtOnceAndFreesItsName) {
  served.program_is("echo 'there is no room'; exit 2");
  EXPECT_THAT(started("first"), AllOf(StartsWith("400"), HasSubstr("exit code 2:\nthere is no room")));
  EXPECT_FALSE(base::directory_exists(served / "first"));
  served.program_is(std::string(in_folder) + "echo '{}' > events.jsonl; exit 3");
  EXPECT_THAT(started("second"), StartsWith("400"));
  EXPECT_TRUE(base::file_exists(served / "second/launch.log"));
  served.program_is("exit 0");
  EXPECT_EQ(started("second"), "done");  // it had not trained
  served.program_is(std::string(in_folder) + "echo '{}' > events.jsonl; exit 2");
  EXPECT_THAT(started("third"), StartsWith("400"));
  EXPECT_FALSE(base::directory_exists(served / "third")) << "its settings were refused: it is no run";
}

TEST_F(Control, StartsNothingWhereTheFormIsWrong) {
  served.program_is("exit 0");
  served.make_run("trained");
  base::make_directories(served / "texts/more");
  EXPECT_THAT(started("trained"), StartsWith("409"));
  EXPECT_THAT(started("texts"), AllOf(StartsWith("409"), HasSubstr("is not a run")));
  EXPECT_THAT(started("../out"), StartsWith("400"));
  EXPECT_THAT(refusal_of([&] {
                start_run(served.context, {"a", 2, {{"train.steps", "5"}}}, {});
              }),
              AllOf(StartsWith("400"), HasSubstr("data.train")));
  Form impossible = form("a");
  impossible.settings.emplace_back("parallel.pp", "3");
  EXPECT_THAT(refusal_of([&] { start_run(served.context, impossible, {}); }), StartsWith("error "));
  EXPECT_FALSE(base::directory_exists(served / "a"));
}

TEST_F(Control, ARefusedStartHasTheCauseThatWhyFindsInTheLanguageOfWhoAsked) {
  served.program_is(R"(if [ "$1" = why ]; then [ -e "$2/events.jsonl" ] || exit 2
echo "{\"cause\": \"$5\", \"evidence\": [], \"advice\": []}"; exit 0; fi
[ "$1 $2 $3" = "launch --lang zh" ] || exit 1
for last; do :; done; echo '{}' > "$last/events.jsonl"; exit 3)");
  Asked asked;
  asked.language = base::Language::chinese;
  try {
    start_run(served.context, form("first"), asked, 20);
    FAIL();
  } catch (const Refused& refused) {
    EXPECT_THAT(refused.why, HasSubstr(R"("cause":"zh")"));
    EXPECT_THAT(error_response(400, "said", refused.why).body, AllOf(HasSubstr("\"said\""), HasSubstr(R"("why":{"cause":"zh")")));
  }
}

// A launcher of this host that counts the signals it gets, and ends at the second one. It answers SIGWINCH after signals sent earlier.
constexpr const char* counting_launcher =
    "trap 'echo term >> heard' TERM; trap 'echo > answered' WINCH; exec 9> launch.lock; echo $$ > pid; "
    "while [ \"$(wc -l < heard)\" -lt 2 ]; do sleep 0.02; done";

TEST_F(Control, AsksTheLauncherToSaveOnceHoweverOftenItIsAskedTo) {
  served.program_is(std::string(in_folder) + ": > heard; " + counting_launcher);
  ASSERT_EQ(started("first", 0.1), "done");
  ends_with_the_test(served / "first/pid");
  const auto pid = std::stol(base::read_file(served / "first/pid"));
  EXPECT_THAT(stopped("first", StopHow::save),
              AllOf(StartsWith("409"), HasSubstr("is not running")));  // it has said nothing yet
  served.add_event(served / "first", records::EventKind::launch, base::wall_seconds(),
                   {{"pid", pid}, {"process_start", host::process_start(pid)}});
  EXPECT_EQ(stopped("first", StopHow::save), "done");
  await_text(served / "first/heard", "term\n");
  EXPECT_EQ(stopped("first", StopHow::save), "done");
  RunStops of_another_server;
  served.add_event(served / "first", records::EventKind::stop_requested, base::wall_seconds());
  EXPECT_EQ(refusal_of([&] { of_another_server.stop(served.context, "first", StopHow::save); }), "done");
  ::kill(static_cast<pid_t>(pid), SIGWINCH);
  await_text(served / "first/answered");
  EXPECT_EQ(base::read_file(served / "first/heard"), "term\n");
  EXPECT_EQ(stopped("first", StopHow::now), "done");
  EXPECT_EQ(host::process_start(pid), 0);
  EXPECT_THAT(stopped("first", StopHow::now), AllOf(StartsWith("409"), HasSubstr("is not running")));
}

TEST_F(Control, EndsAtOnceWhatDoesNotListen) {
  RunStops impatient(0.1);
  served.program_is(std::string(in_folder) +
                    "trap '' TERM; exec 9> launch.lock; echo $$ > pid; while :; do sleep 1; done");
  ASSERT_EQ(started("first", 0.1), "done");
  ends_with_the_test(served / "first/pid");
  const auto pid = std::stol(base::read_file(served / "first/pid"));
  served.add_event(served / "first", records::EventKind::launch, base::wall_seconds(),
                   {{"pid", pid}, {"process_start", host::process_start(pid)}});
  EXPECT_EQ(refusal_of([&] { impatient.stop(served.context, "first", StopHow::now); }), "done");
  for (const double until = base::monotonic_seconds() + 10; host::process_start(pid) != 0; ::usleep(10'000))
    ASSERT_LT(base::monotonic_seconds(), until);
}

TEST_F(Control, SignalsNoProcessButTheOneThatLeadsTheRun) {
  const pid_t other = ::fork();
  if (other == 0)
    for (;;) ::pause();
  const std::string folder =
      served.make_run("a", [](records::RunState& state) { state.life = records::Life::training; });
  const std::int64_t start = host::process_start(other);
  served.add_event(folder, records::EventKind::launch, 1000, {{"pid", other}, {"process_start", start + 1}});
  EXPECT_THAT(stopped("a", StopHow::now), StartsWith("409"));
  served.add_event(folder, records::EventKind::launch, 1001, {{"pid", other}});
  EXPECT_THAT(stopped("a", StopHow::now), StartsWith("409"));
  EXPECT_THAT(stopped("b", StopHow::now), StartsWith("404"));
  served.add_event(folder, records::EventKind::launch, 1002, {{"pid", other}, {"process_start", start}});
  base::write_file_atomic(folder + "/run.lock", fmt::format("{}\n{}\n{}\n1\nx\n\n", base::host_name(), other, start));
  EXPECT_THAT(stopped("a", StopHow::now), AllOf(StartsWith("409"), HasSubstr("is not running")));
  EXPECT_EQ(::waitpid(other, nullptr, WNOHANG), 0);  // it lives
  ::kill(other, SIGKILL);
  ::waitpid(other, nullptr, 0);
}

// A stranger's folder names a run that is led elsewhere, and a program of another name has its lock open.
TEST_F(Control, SignalsNoLauncherOfAnotherRunAndNoOtherProgram) {
  served.program_is(std::string(in_folder) + ": > heard; " + counting_launcher);
  ASSERT_EQ(started("first", 0.1), "done");
  ends_with_the_test(served / "first/pid");
  const auto pid = std::stol(base::read_file(served / "first/pid"));
  const std::string folder =
      served.make_run("a", [](records::RunState& state) { state.life = records::Life::training; });
  ASSERT_EQ(::link((served / "first/launch.lock").c_str(), (folder + "/launch.lock").c_str()), 0);
  served.add_event(folder, records::EventKind::launch, 1000,
                   {{"pid", pid}, {"process_start", host::process_start(pid)}});
  EXPECT_THAT(stopped("a", StopHow::now), StartsWith("409"));
  const records::LockHolder me = records::this_process("x", "");
  records::FolderLock lock(folder + "/run.lock");
  ASSERT_TRUE(lock.take(me));
  served.add_event(folder, records::EventKind::launch, 1001, {{"pid", me.pid}, {"process_start", me.process_start}});
  EXPECT_THAT(stopped("a", StopHow::now), AllOf(StartsWith("409"), HasSubstr("does not write this run's folder")));
  EXPECT_EQ(base::read_file(served / "first/heard"), "");
  EXPECT_TRUE(writes_run(pid, served / "first"));
  EXPECT_FALSE(writes_run(pid, folder));
  EXPECT_FALSE(writes_run(::getpid(), folder));
}

TEST_F(Control, ResumesWithTheLastSettingsAndAsManyProcesses) {
  served.program_is(std::string(in_folder) + "for word; do echo \"$word\"; done > words");
  const std::string folder = served.make_run("a", [](records::RunState& state) {
    state.life = records::Life::stopped;
    state.ranks.push_back({1, base::host_name(), 2, 1, 0, 0, 0});
  });
  EXPECT_THAT(resumed("a"), AllOf(StartsWith("409"), HasSubstr("config.yaml")));
  base::write_file_atomic(folder + "/config.yaml", "train:\n  steps: 10\n");
  base::write_file_atomic(folder + "/config-2.yaml", "train:\n  steps: 12\n  out: /elsewhere\n  resume: never\n");
  EXPECT_EQ(resumed("a"), "done");
  const std::string behind = "\n--train.out\n" + folder + "\n";
  EXPECT_EQ(base::read_file(folder + "/words"),
            "launch\n--lang\nen\n--nproc-per-node\n2\n--\ntrain\n--train.steps\n12\n--train.resume\nauto" + behind);
  EXPECT_THAT(resumed("a", 5), AllOf(StartsWith("409"), HasSubstr("step 5")));
  served.add_checkpoint(folder, "step-00000005");
  EXPECT_EQ(resumed("a", 5), "done");
  EXPECT_THAT(base::read_file(folder + "/words"),
              HasSubstr("--train.resume\n" + folder + "/checkpoints/step-00000005" + behind));
  served.program_is("echo 'no such data'; exit 3");
  EXPECT_THAT(resumed("a"), AllOf(StartsWith("409"), HasSubstr("no such data")));
}

TEST_F(Control, ResumesNothingThatWouldStartACommandOrLeaveTheRoot) {
  served.program_is(std::string(in_folder) + "for word; do echo \"$word\"; done > words");
  const std::string folder = served.make_run("a");
  const std::string line = "troika launch --nproc-per-node 1 -- train --config " + folder +
                           "/config.yaml --train.resume auto --train.out " + folder;
  const auto resumed_with = [&](const std::string& yaml) {
    base::write_file_atomic(folder + "/config.yaml", yaml);
    return resumed("a");
  };
  EXPECT_THAT(resumed_with("log:\n  on_event: id > pwned\n"),
              AllOf(StartsWith("409"), HasSubstr("log.on_event names a command, but a page starts none"),
                    HasSubstr(line)));
  EXPECT_THAT(resumed_with("data:\n  train: /etc/passwd\n"),
              AllOf(StartsWith("409"), HasSubstr("data.train '/etc/passwd'")));
  EXPECT_THAT(resumed_with("data:\n  cache: /tmp\nlog:\n  tensorboard: ../../x\n"),
              AllOf(StartsWith("409"), HasSubstr("data.cache '/tmp'"), HasSubstr("log.tensorboard '../../x'")));
  EXPECT_THAT(resumed_with("no_such_setting: 1\n"), AllOf(StartsWith("409"), HasSubstr("no_such_setting")));
  ASSERT_EQ(::symlink("/etc/passwd", (served.options.root + "/data/b.txt").c_str()), 0);
  EXPECT_THAT(resumed_with("data:\n  train: data\n"), AllOf(StartsWith("409"), HasSubstr("contains the link b.txt")));
  EXPECT_FALSE(base::file_exists(folder + "/words"));
  EXPECT_EQ(resumed_with("data:\n  train: data/a.txt\nlog:\n  on_event: \"\"\n  tensorboard: \"off\"\n"), "done");
  EXPECT_THAT(
      base::read_file(folder + "/words"),
      HasSubstr("--data.train\n" + served.options.root + "/data/a.txt\n--log.tensorboard\noff\n--train.resume\n"));
}

TEST_F(Control, ResumesNothingThatIsUnderWayOrOfSeveralHosts) {
  const std::string folder = served.make_run("a");
  base::write_file_atomic(folder + "/config.yaml", "train:\n  steps: 10\n");
  {
    records::FolderLock lock(folder + "/run.lock");
    ASSERT_TRUE(lock.take(records::this_process("x", "")));
    EXPECT_THAT(resumed("a"), AllOf(StartsWith("409"), HasSubstr("already running")));
  }

  const std::string of_two = served.make_run("b", [](records::RunState& state) {
    state.ranks = {{0, "pi0", 1, 0, 0, 0, 0}, {1, "pi1", 2, 1, 0, 0, 0}};
  });
  base::write_file_atomic(of_two + "/config.yaml", "train:\n  steps: 10\n");
  served.catalog.look_again();
  EXPECT_THAT(resumed("b"),
              AllOf(StartsWith("409"), HasSubstr("on pi1: troika launch --nnodes 2 --node-rank 1 --master-addr pi0 "
                                                 "--nproc-per-node 1 -- train --config " +
                                                 of_two)));
}

TEST(FlagsOfResumed, BeginWhereTheRunWasStartedAsFarAsThatIsBelowTheRoot) {
  const base::TemporaryFolder folder;
  const std::string root = std::filesystem::canonical(folder.path()).string() + "/root";
  base::make_directories(root + "/home");
  base::make_directories(folder.path() + "/other");
  for (const std::string& place : {root, root + "/home", folder.path() + "/other"})
    base::write_file_atomic(place + "/a,b.txt", "text\n");
  const ConfigFile config{"config.yaml", "data:\n  train: a,b.txt\n"};
  EXPECT_THAT(flags_of_resumed(config, root + "/home", root), ElementsAre("--data.train", root + "/home/a,b.txt"));
  for (const std::string& elsewhere : {folder.path() + "/other", root + "/none", std::string()})
    EXPECT_THAT(flags_of_resumed(config, elsewhere, root), ElementsAre("--data.train", root + "/a,b.txt")) << elsewhere;
  base::write_file_atomic(root + "/home/c.txt", "text\n");
  base::write_file_atomic(root + "/home/d.txt", "text\n");
  EXPECT_THAT(flags_of_resumed({"config.yaml", "data:\n  train: c.txt, d.txt\n"}, root + "/home", root),
              ElementsAre("--data.train", root + "/home/c.txt," + root + "/home/d.txt"));
}

TEST(ResumeWords, BeginWhereTheRunWasStarted) {
  const base::TemporaryFolder folder;
  const std::string run = folder.path() + "/runs/a";
  base::make_directories(run);
  base::write_file_atomic(run + "/config.yaml", "parallel:\n  dp: 3\n  pp: 2\n");
  EXPECT_THAT(resume_words(run, "auto")->launch[2], "6");  // nothing else says how many
  EXPECT_EQ(resume_words(run, "auto")->works_in, "");
  records::RunState state;
  state.folder = "./runs/a/";
  records::write_run_state(run, state);
  EXPECT_EQ(resume_words(run, "auto")->works_in, folder.path());
  state.folder = "/elsewhere/runs/a";
  records::write_run_state(run, state);
  EXPECT_EQ(resume_words(run, "auto")->works_in, "");
}

TEST_F(Control, ExportsACheckpointBesideThePage) {
  const auto exported = [&](std::optional<std::int64_t> step = {}) {
    return refusal_of([&] { export_checkpoint(served.context, "a", step, base::Language::english); });
  };
  served.program_is("[ \"$1\" = export ] || exit 9; echo \"from $2\"; mkdir \"$3\"; echo '{}' > \"$3/config.json\"");
  const std::string folder = served.make_run("a");
  EXPECT_THAT(exported(), AllOf(StartsWith("409"), HasSubstr("no complete checkpoint")));
  for (const char* step : {"step-00000005", "step-00000010"}) served.add_checkpoint(folder, step);
  EXPECT_EQ(exported(), "done");
  EXPECT_THAT(exported(), AllOf(StartsWith("409"), HasSubstr("has already exported its checkpoint of step 10 to " + folder + "/exports/step-00000010")));
  served.program_is("echo 'the disk is full'; exit 3");
  EXPECT_THAT(exported(5), AllOf(StartsWith("409"), HasSubstr("the disk is full")));
  EXPECT_THAT(exported(7), AllOf(StartsWith("409"), HasSubstr("step 7")));
  const std::vector<ExportState> all = exports_of(folder);
  ASSERT_EQ(all.size(), 2u);
  EXPECT_EQ(all[0].is, ExportState::Is::failed);
  EXPECT_EQ(all[0].text, "the disk is full");
  EXPECT_EQ(all[1].is, ExportState::Is::done);
  EXPECT_EQ(all[1].text, "from " + folder + "/checkpoints/step-00000010");
}

}  // namespace
}  // namespace troika::serve
