#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <filesystem>
#include <future>

#include "base/error.h"
#include "base/file.h"
#include "base/text_files_test_support.h"
#include "records/folder_lock.h"
#include "records/line_file.h"
#include "records/run_reader.h"

namespace troika::records {
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

namespace {

Sample sample_of(int rank, std::int64_t number, double time) {
  Sample sample;
  sample.time = time;
  sample.rank = rank;
  sample.host = "pi3";
  sample.number = number;
  sample.place = {41, doing_of("fwd 3.2"), 0.25, 0.2, 1};
  sample.pace_seconds = 0.5;
  sample.elapsed_seconds = 12;
  sample.phases = {{"forward", 1.5}, {"load", 0.25}};
  sample.waits = {{"recv_act", 2}};
  sample.traffic = {{1, 100, 200, 0.5}};
  sample.memory = {{"parameters", 4096}, {"resident", 1 << 20}};
  sample.vitals.emplace();
  sample.vitals->load = 2;
  sample.vitals->link_errors = {{"eth0", 3}};
  return sample;
}

Event event_of(EventKind kind, double time, const std::string& text) {
  Event event;
  event.time = time;
  event.kind = kind;
  event.host = "pi3";
  event.text = text;
  return event;
}

std::string step_line(std::int64_t step, double loss) {
  metrics::StepMetrics row;
  row.step = step;
  row.loss = loss;
  return metrics::to_json(row) + "\n";
}

}  // namespace

TEST(Records, EventComesBackAsItWasWritten) {
  Event event = event_of(EventKind::rank_ended, 1700000000.125, "rank 2 was killed\nby \"someone\"");
  event.attempt = 3;
  event.rank = 2;
  event.step = 17;
  event.numbers = {{"signal", 9}};
  event.words = {{"log", "runs/a/logs/rank-00002.log"}};
  event.incident = told(base::verbatim("killed"), base::Cause::out_of_memory);
  const std::string line = to_json(event);
  EXPECT_EQ(line.find('\n'), std::string::npos);
  const auto read = parse_event(line);
  ASSERT_TRUE(read);
  EXPECT_EQ(to_json(*read), line);
  EXPECT_EQ(read->kind, EventKind::rank_ended);
  EXPECT_EQ(read->number("signal"), 9);
  EXPECT_EQ(read->number("exit_code", -1), -1);
}

TEST(Records, WhatIsNoEventIsNone) {
  for (const char* line : {"", "{", "[]", "7", "{\"event\": \"of tomorrow\"}", "{\"time\": 1}", "{\"event\": 3}"})
    EXPECT_FALSE(parse_event(line)) << line;
}

TEST(Records, EveryKindOfEventHasAWord) {
  for (int kind = 0; kind <= static_cast<int>(EventKind::finish); ++kind) {
    const auto of = static_cast<EventKind>(kind);
    EXPECT_NE(word_of(of), "");
    EXPECT_EQ(event_kind_of(word_of(of)), of);
  }
}

TEST(Records, SampleComesBackAsItWasWritten) {
  const std::string line = to_json(sample_of(3, 7, 1700000000.5));
  const auto read = parse_sample(line);
  ASSERT_TRUE(read);
  EXPECT_EQ(to_json(*read), line);
  EXPECT_EQ(word_of(read->place.at), "fwd 3.2");
  EXPECT_EQ(read->place.waits_for, 1);
  EXPECT_EQ(read->traffic.at(0).received_bytes, 200);
  EXPECT_EQ(read->vitals->load, 2);
  EXPECT_EQ(read->vitals->temperature_celsius, -1);
  EXPECT_FALSE(parse_sample("{\"rank\": -1, \"number\": 1}"));
  EXPECT_FALSE(parse_sample("{\"rank\": 1}"));
  EXPECT_FALSE(parse_sample("torn"));
}

TEST(Records, StateComesBackAsItWasWritten) {
  const base::TestFolder folder;
  RunState state;
  state.life = Life::training;
  state.launch = "abc";
  state.slurm_job = "71.0";
  state.layout = "dp 2";
  state.steps = 60;
  state.ranks = {{0, "pi1", 11, 0, 0, 0, 0}, {1, "pi2", 12, 1, 0, 0, 0}};
  write_run_state(folder.path(), state);
  const auto read = read_run_state(folder.path());
  ASSERT_TRUE(read);
  EXPECT_EQ(to_json(*read), to_json(state));
  folder.write("state.json", "{\"state\": \"of tomorrow\"}");
  EXPECT_FALSE(read_run_state(folder.path()));
  EXPECT_FALSE(read_run_state(folder.path() + "/none"));
}

TEST(Records, TheLengthsOfTheDataAreInTheStateWhereTheyDiffer) {
  RunState state;
  EXPECT_THAT(to_json(state), Not(HasSubstr("lengths")));
  EXPECT_FALSE(parse_run_state(to_json(state))->lengths);
  SampleLengths lengths;
  lengths.samples = lengths.counted = lengths.sequences = 10;
  lengths.tokens = 205;
  lengths.seq_len = 100;
  lengths.longest_work = 1.5;
  lengths.bins = {{0, 16, 4}, {16, 32, 6}};
  state.lengths = lengths;
  const auto read = parse_run_state(to_json(state));
  ASSERT_TRUE(read && read->lengths);
  EXPECT_EQ(to_json(*read), to_json(state));
  EXPECT_EQ(read->lengths->bins.at(1).up_to, 32);
  EXPECT_EQ(read->lengths->if_packed(), 3);
  const auto damaged = parse_run_state(R"({"state": "training", "lengths": {"counted": "all"}, "steps": 7})");
  ASSERT_TRUE(damaged);
  EXPECT_FALSE(damaged->lengths);
  EXPECT_EQ(damaged->steps, 7);
}

TEST(Records, LinesAreReadOnceAndTornOnesWhenTheyAreWhole) {
  const base::TestFolder folder;
  const std::string path = folder.write("a.jsonl", "one\ntw");
  LineReader reader(path);
  EXPECT_THAT(reader.read().lines, ElementsAre("one"));
  EXPECT_THAT(reader.read().lines, IsEmpty());
  base::append_file(path, "o\nthree\n");
  EXPECT_THAT(reader.read().lines, ElementsAre("two", "three"));
  base::write_file_atomic(path, "one\n");
  const LineReader::News news = reader.read();
  EXPECT_TRUE(news.begun_anew);
  EXPECT_THAT(news.lines, ElementsAre("one"));
  EXPECT_THAT(LineReader(folder / "none").read().lines, IsEmpty());
}

TEST(Records, OfALongFileTheEndIsEnough) {
  const base::TestFolder folder;
  const std::string path = folder.write("a.jsonl", "one\ntwo\nthree\n");
  LineReader reader(path, 8);
  EXPECT_THAT(reader.read().lines, ElementsAre("three"));
  base::append_file(path, "four\nfive\nsix\nseven\n");
  EXPECT_THAT(reader.read().lines, ElementsAre("four", "five", "six", "seven"));
}

TEST(Records, APipeIsNoFileOfLines) {
  const base::TestFolder folder;
  ASSERT_EQ(::mkfifo((folder / "pipe").c_str(), 0600), 0);
  EXPECT_THAT(LineReader(folder / "pipe").read().lines, IsEmpty());  // at once, although nobody writes
}

TEST(Records, OfALongRunTheEndIsEnough) {
  const base::TestFolder folder;
  std::string rows;
  for (std::int64_t step = 1; step <= 1000; ++step) {
    metrics::StepMetrics row;
    row.step = step;
    rows += to_json(row) + "\n";
  }
  folder.write("metrics.jsonl", rows);
  RunReader run(folder.path(), {100, 2, 10, 1024});
  run.refresh();
  ASSERT_FALSE(run.steps().empty());
  EXPECT_EQ(run.steps().back().step, 1000);
  EXPECT_LT(run.steps_read(), 20);
}

TEST(Records, LinesWaitForADiskThatTakesThem) {
  const base::TestFolder folder;
  const std::string blocked = folder.write("blocked", "a file where a folder is due");
  LineWriter writer(blocked, "a.jsonl", 2);
  for (const char* line : {"one", "two", "three"}) writer.append(line);
  base::remove_tree(blocked);
  writer.append("four");
  EXPECT_EQ(base::read_file(blocked + "/a.jsonl"), "three\nfour\n");
}

TEST(Records, RunIsReadWhileItGrows) {
  const base::TestFolder folder;
  RunReader run(folder.path() + "/", {2, 2, 0});
  EXPECT_FALSE(run.refresh());
  folder.write("metrics.jsonl", step_line(1, 4) + step_line(2, 3) + "damaged\n" + step_line(3, 2));
  folder.write("records/rank-00001.jsonl", to_json(sample_of(1, 1, 10)) + "\n" + to_json(sample_of(1, 1, 10)) + "\n" +
                                               to_json(sample_of(2, 2, 11)) + "\n" + to_json(sample_of(1, 2, 15)) +
                                               "\n");
  folder.write("records/readme.txt", "not a rank");
  folder.write("events.jsonl", to_json(event_of(EventKind::start, 1, "begins")) + "\n");
  EXPECT_TRUE(run.refresh());
  EXPECT_EQ(run.steps_read(), 3);
  ASSERT_THAT(run.steps(), SizeIs(2));
  EXPECT_EQ(run.steps().back().step, 3);
  ASSERT_THAT(run.samples().at(1), SizeIs(2));
  EXPECT_EQ(run.samples().at(1).back().number, 2);
  EXPECT_THAT(run.events(), SizeIs(1));
  EXPECT_FALSE(run.refresh());
  folder.write("metrics.jsonl", step_line(1, 4));  // cut by a resume
  EXPECT_TRUE(run.refresh());
  EXPECT_EQ(run.steps_read(), 1);
}

TEST(Records, WhatSeveralHostsTellOfOneFailureIsReadOnce) {
  const base::TestFolder folder;
  const std::string failure = to_json(event_of(EventKind::failure, 100, "rank 1 was killed")) + "\n";
  folder.write("events.jsonl",
               failure + failure + to_json(event_of(EventKind::failure, 4000, "rank 1 was killed")) + "\n");
  RunReader run(folder.path());
  run.refresh();
  EXPECT_THAT(run.events(), SizeIs(2));
}

TEST(Records, NewestSamplesAreThoseOfTheLastAttempt) {
  const base::TestFolder folder;
  Sample old = sample_of(0, 9, 50), now = sample_of(1, 1, 60);
  now.attempt = 1;
  folder.write("records/rank-00000.jsonl", to_json(old) + "\n");
  folder.write("records/rank-00001.jsonl", to_json(old) + "\n" + to_json(now) + "\n");
  RunReader run(folder.path());
  run.refresh();
  const auto last = newest(run);
  ASSERT_THAT(last, SizeIs(1));
  EXPECT_EQ(last.at(1).attempt, 1);
}

TEST(Records, FolderWithoutALockIsNotInUse) {
  const base::TestFolder folder;
  EXPECT_FALSE(in_use(folder.path()));
  folder.write("run.lock", "");
  EXPECT_FALSE(in_use(folder.path()));
}

TEST(Records, ALockIsHeldByOneAndSaysWho) {
  const base::TestFolder folder;
  const std::string path = launch_lock_path(folder / "new");
  EXPECT_FALSE(lock_holder(path));
  {
    FolderLock first(path), second(path);
    ASSERT_TRUE(first.take(this_process("", "abc")));
    EXPECT_FALSE(second.take(this_process("", "other")));
    ASSERT_TRUE(lock_holder(path));
    EXPECT_TRUE(lock_holder(path)->is_of("abc"));
    EXPECT_FALSE(held_by_another(path, "abc"));
    EXPECT_TRUE(held_by_another(path, ""));
    first.release();
    EXPECT_FALSE(held_by_another(path, "other"));
    EXPECT_TRUE(second.take(this_process("a run", "")));
    EXPECT_FALSE(lock_holder(path)->is_of("")) << "of no launch";
  }
  EXPECT_FALSE(lock_holder(path));
}

TEST(Records, ALockIsSeenByWhoMayOnlyReadAndIsNotFreeForWhoMayNot) {
  const base::TestFolder folder;
  const std::string path = run_lock_path(folder.path());
  FolderLock lock(path);
  ASSERT_TRUE(lock.take(this_process("a", "abc")));
  ::chmod(folder.path().c_str(), 0755);
  const auto seen_by_another_user = [&](mode_t mode) {
    ::chmod(path.c_str(), mode);
    const pid_t child = ::fork();
    if (child == 0) {
      if (::geteuid() == 0 && ::seteuid(65534) != 0) ::_exit(3);
      const auto holder = lock_holder(path);
      ::_exit(!holder ? 0 : holder->is_of("abc") ? 1 : 2);
    }
    int status = 0;
    ::waitpid(child, &status, 0);
    return WEXITSTATUS(status);
  };
  EXPECT_EQ(seen_by_another_user(0444), 1);
  EXPECT_EQ(seen_by_another_user(0), 2) << "somebody, not nobody";
}

TEST(Records, ALinkOrAPipeIsNoLock) {
  const base::TestFolder folder;
  const std::string keys = folder.write("keys", "secret");
  ASSERT_EQ(::symlink(keys.c_str(), (folder / "run.lock").c_str()), 0);
  EXPECT_THROW(FolderLock(folder / "run.lock").take(this_process("a", "")), base::DataError);
  EXPECT_EQ(base::read_file(keys), "secret");
  EXPECT_FALSE(lock_holder(folder / "run.lock"));
  ASSERT_EQ(::mkfifo((folder / "launch.lock").c_str(), 0600), 0);
  EXPECT_THROW(FolderLock(folder / "launch.lock").take(this_process("a", "")), base::DataError);
  EXPECT_FALSE(lock_holder(folder / "launch.lock"));
}

TEST(Records, ALockSeesThatItsFileWasTakenByAnother) {
  const base::TestFolder folder;
  const std::string path = run_lock_path(folder.path());
  const LockHolder me = this_process("a", "");
  FolderLock lock(path);
  ASSERT_TRUE(lock.take(me));
  EXPECT_FALSE(lock.look(me).other);
  base::remove_tree(path);
  const FolderLock::Look again = lock.look(me);
  EXPECT_TRUE(again.taken_again && !again.other);
  EXPECT_FALSE(lock.look(me).taken_again);
  base::remove_tree(path);
  FolderLock other(path);
  ASSERT_TRUE(other.take(this_process("b", "")));
  ASSERT_TRUE(lock.look(me).other);
  EXPECT_EQ(lock.look(me).other->run, "b");
  other.release();
  EXPECT_TRUE(lock.look(me).other) << "it wrote here meanwhile";
}

TEST(Records, ALockWhoseFileWasWrittenOverSeesByWhom) {
  const base::TestFolder folder;
  const std::string path = run_lock_path(folder.path());
  const LockHolder me = this_process("a", "");
  FolderLock lock(path);
  ASSERT_TRUE(lock.take(me));
  folder.write("copy", "pi7\n4711\n12\n1700000000\nb\n\n");  // as another host does on a disk without locks
  base::append_file(path, "");
  std::filesystem::copy_file(folder / "copy", path, std::filesystem::copy_options::overwrite_existing);
  ASSERT_TRUE(lock.look(me).other);
  EXPECT_EQ(lock.look(me).other->host, "pi7");
}

TEST(Records, ALockThatCannotBeWrittenSaysWhy) {
  const base::TestFolder folder;
  FolderLock lock(folder / "run.lock");
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
  const rlimit small{5, before.rlim_max};
  const auto handler = ::signal(SIGXFSZ, SIG_IGN);
  ::setrlimit(RLIMIT_FSIZE, &small);
  errno = ENOENT;
  const std::string error = base::message_of<base::DataError>([&] { lock.take(this_process("a", "")); });
  ::setrlimit(RLIMIT_FSIZE, &before);
  ::signal(SIGXFSZ, handler);
  EXPECT_THAT(error, testing::HasSubstr("run.lock': files here may have at most 5 B"));
}

TEST(Records, LinesAreNeitherWrittenNorReadThroughLinks) {
  const base::TestFolder folder;
  const std::string keys = folder.write("keys", "secret\n");
  folder.write("run/a", "");
  ASSERT_EQ(::symlink(keys.c_str(), (folder / "run/events.jsonl").c_str()), 0);
  ASSERT_EQ(::symlink(folder.path().c_str(), (folder / "run/records").c_str()), 0);
  LineWriter(folder / "run", "events.jsonl").append("x");
  LineWriter(folder / "run", "records/keys").append("x");
  EXPECT_EQ(base::read_file(keys), "secret\n");
  EXPECT_THAT(LineReader(folder / "run/events.jsonl").read().lines, IsEmpty());
}

TEST(Records, ALineOfMoreThan16MiBIsLeftOut) {
  const base::TestFolder folder;
  const std::string path = folder.write("a.jsonl", "first\n");
  LineReader reader(path);
  EXPECT_THAT(reader.read().lines, ElementsAre("first"));
  base::append_file(path, std::string(40 << 20, 'x'));
  EXPECT_THAT(reader.read().lines, IsEmpty());
  base::append_file(path, "x\nlast\n");
  EXPECT_THAT(reader.read().lines, ElementsAre("last"));
}

TEST(Records, AStateOfMoreThanAnyRunHasIsNone) {
  const base::TestFolder folder;
  ASSERT_EQ(::truncate(folder.write("state.json", "").c_str(), off_t{30} << 30), 0);
  EXPECT_FALSE(read_run_state(folder.path()));
}

TEST(Records, DamagedRowsAreCounted) {
  const base::TestFolder folder;
  folder.write("metrics.jsonl", step_line(1, 4) + "damaged\n\n{}\n" + step_line(2, 3));
  RunReader run(folder.path());
  run.refresh();
  EXPECT_EQ(run.steps_read(), 2);
  EXPECT_EQ(run.rows_left_out(), 2);
}

TEST(Records, JobsOfTheDiskRunInOrderAndTheirErrorsEndNothing) {
  const auto order = std::make_shared<std::string>();
  {
    BackgroundDisk disk;
    disk.post([order] { *order += "a"; });
    disk.post([] { throw base::DataError(base::verbatim("full")); });
    disk.post([order] { *order += "b"; });
  }
  EXPECT_EQ(*order, "ab");
}

TEST(Records, DiskThatDoesNotAnswerKeepsNobodyForLong) {
  std::promise<void> answers;
  const auto began = std::chrono::steady_clock::now();
  {
    BackgroundDisk disk;
    disk.post([answer = answers.get_future().share()] { answer.wait(); });
  }
  EXPECT_LT(std::chrono::steady_clock::now() - began, std::chrono::milliseconds(3000));
}

}  // namespace troika::records
