#include "serve/programs.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/file.h"
#include "base/temporary_folder_test_support.h"
#include "base/text.h"
#include "serve/chat.h"
#include "serve/form_routes.h"
#include "serve/site.h"

namespace troika::serve {
namespace {
using testing::HasSubstr;

class Detached : public testing::Test {
 protected:
  Program script(const std::string& text) const {
    return {{"/bin/sh", "-c", text}, {{"PATH", "/usr/bin:/bin"}, {"SAID", "yes"}}, folder.path(), log};
  }
  std::string await_file(const std::string& name) const {
    const std::string path = folder.path() + "/" + name;
    for (const double until = base::monotonic_seconds() + 20; base::monotonic_seconds() < until; ::usleep(10'000))
      if (base::file_exists(path) && base::file_size(path) > 0) return base::read_file(path);
    ADD_FAILURE() << path << " did not come";
    return "";
  }
  void await_no_writer() const {
    for (const double until = base::monotonic_seconds() + 20; base::monotonic_seconds() < until; ::usleep(10'000))
      if (!has_writer(log)) return;
    ADD_FAILURE() << "the log is still written to";
  }

  const base::TemporaryFolder folder;
  const std::string log = folder.path() + "/said.log";
};

TEST_F(Detached, AnEndWithAnErrorIsSaidWithItsLastWords) {
  base::write_file_atomic(log, "from before\n");
  const DetachedStart start = start_detached(script("echo one; echo 'two \033[1m' >&2; exit 3"), 20);
  EXPECT_TRUE(start.ended);
  EXPECT_EQ(start.exit_code, 3);
  EXPECT_EQ(start.last_words, "one\ntwo \\x1b[1m");
  EXPECT_THAT(base::read_file(log), HasSubstr("from before\none\n"));
  EXPECT_EQ(start_detached(script("kill -9 $$"), 20).exit_code, 128 + SIGKILL);
}

TEST_F(Detached, LivesOnWithNothingOfWhoStartedIt) {
  const int open_here = ::open("/dev/null", O_RDONLY);  // without O_CLOEXEC
  ::signal(SIGUSR2, SIG_IGN);
  sigset_t blocked, before;
  ::sigemptyset(&blocked);
  ::sigaddset(&blocked, SIGTERM);
  ::pthread_sigmask(SIG_BLOCK, &blocked, &before);
  const DetachedStart start =
      start_detached(script("ls /proc/self/fd | tr '\\n' ' ' > fds; grep -E 'Sig(Blk|Ign)' /proc/self/status > "
                            "signals; echo $SAID > said; "
                            "cut -d' ' -f6 /proc/self/stat > session; echo $$ > pid; exec sleep 60"),
                     0.05);
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  ::signal(SIGUSR2, SIG_DFL);
  ::close(open_here);
  EXPECT_FALSE(start.ended);
  const pid_t pid = std::stoi(await_file("pid"));
  EXPECT_EQ(await_file("fds"), "0 1 2 3 ");  // 3: that of ls itself
  EXPECT_THAT(await_file("signals"), HasSubstr("SigBlk:\t0000000000000000\nSigIgn:\t0000000000000000"));
  EXPECT_EQ(await_file("said"), "yes\n");
  EXPECT_NE(std::stoi(await_file("session")), ::getsid(0));
  EXPECT_TRUE(has_writer(log));
  EXPECT_THROW(start_detached(script("true"), 0), base::ConfigError);
  ::kill(pid, SIGKILL);
  await_no_writer();
  for (const double until = base::monotonic_seconds() + 20; ::kill(pid, 0) == 0; ::usleep(10'000))
    ASSERT_LT(base::monotonic_seconds(), until) << "nobody has collected its end";
}

TEST_F(Detached, WhatCannotBeStartedIsSaid) {
  Program absent = script("");
  absent.words = {"/no/such/program"};
  EXPECT_THROW(start_detached(absent, 5), base::ConfigError);
  Program elsewhere = script("true");
  ASSERT_EQ(::symlink("/dev/full", (folder.path() + "/link").c_str()), 0);
  elsewhere.log = folder.path() + "/link";
  EXPECT_THROW(start_detached(elsewhere, 5), base::ConfigError);
}

}  // namespace

namespace {
using ::testing::ElementsAre;
using ::testing::HasSubstr;

// A program in place of troika, and options that name it.
struct StandIn {
  explicit StandIn(const std::string& script) {
    options.program = folder.file("program");
    options.root = "/tmp";
    options.environment = {{"PATH", "/usr/bin:/bin"}};
    base::write_file_atomic(options.program, "#!/bin/sh\n" + script + "\n");
    ::chmod(options.program.c_str(), 0700);
  }
  const ScratchFolder folder;
  Options options;
};

ShortProgram shell(const ScratchFolder& folder, const std::string& script, double deadline = 20) {
  return {{{"/bin/sh", "-c", script}, {{"PATH", "/usr/bin:/bin"}}, "", folder.file("log")}, deadline};
}

TEST(ShortProgram, SaysHowItEnded) {
  const ScratchFolder folder;
  EXPECT_EQ(run_short(shell(folder, "echo well")), ShortEnd::well);
  EXPECT_EQ(base::read_file(folder.file("log")), "well\n");
  EXPECT_EQ(run_short(shell(folder, "exit 3")), ShortEnd::badly);
  EXPECT_EQ(run_short(shell(folder, "kill -9 $$")), ShortEnd::badly);
  EXPECT_THROW(run_short({{{"/nowhere/program"}, {}, "", folder.file("log")}}), base::ConfigError);
}

TEST(ShortProgram, IsEndedAtItsDeadlineWithWhatItHasStarted) {
  const ScratchFolder folder;
  const double begin = base::monotonic_seconds();
  EXPECT_EQ(run_short(shell(folder, "(trap '' TERM; sleep 60) & trap '' TERM; sleep 60", 0.2)), ShortEnd::too_late);
  EXPECT_LT(base::monotonic_seconds() - begin, 5);
}

TEST(ChatTurn, GivesTheConversationAndReadsTheAnswer) {
  const StandIn program(R"(
while [ $# -gt 0 ]; do case $1 in --input) in=$2 ;; --output) out=$2 ;; esac; all="$all $1"; shift; done
grep -q '"messages": \[{"role":"user","content":"hi"}\]' "$in" || exit 1
echo '{"messages": [{"role": "user", "content": "hi"}, {"role": "assistant", "content": "hello"}], "tokens": 2, "finish": "stop"}' > "$out")");
  const ChatAnswer answer =
      answer_of({"/runs/a", R"([{"role":"user","content":"hi"}])", 10, 1, 0.0}, program.options, 20);
  EXPECT_EQ(answer.text, "hello");
  EXPECT_EQ(answer.finish, "stop");
  EXPECT_EQ(answer.tokens, 2);
}

TEST(ChatTurn, AModelThatDoesNotAnswerHasItsLastWords) {
  try {
    answer_of({"/runs/a", "[]"}, StandIn("echo the model is damaged >&2; exit 3").options, 20);
    FAIL();
  } catch (const base::DataError& error) {
    EXPECT_THAT(error.what(), HasSubstr("the model is damaged"));
  }
  EXPECT_THROW(answer_of({"/runs/a", "[]"}, StandIn("exit 0").options, 20), base::DataError);
  EXPECT_THROW(answer_of({"/runs/a", "[]"}, StandIn("sleep 60").options, 0.2), base::DataError);
}

TEST(ShortProgram, EndsWhenNobodyWaitsForItAnyMore) {
  const ScratchFolder folder;
  ShortProgram program;
  program.words = {"/bin/sh", "-c", "sleep 60"};
  program.log = folder.file("log");
  const double begin = base::monotonic_seconds();
  program.abandoned = [begin] { return base::monotonic_seconds() > begin + 0.3; };
  EXPECT_EQ(run_short(program), ShortEnd::abandoned);
  EXPECT_LT(base::monotonic_seconds() - begin, 20);
}

TEST(DataSample, AndTheReasonOfARunEndWithWhoeverHasAsked) {
  const StandIn slow("exec sleep 60");
  Asked gone;
  gone.abandoned = [] { return true; };
  const double begin = base::monotonic_seconds();
  EXPECT_THROW(data_sample({}, slow.options, gone, 60), base::DataError);
  EXPECT_THROW(why_json(slow.options, "/runs/a", gone), Refused);
  EXPECT_LT(base::monotonic_seconds() - begin, 10);
}

TEST(DataSample, IsWhatInspectSaysWithoutEscapeCodes) {
  Form form;
  form.settings = {{"data.train", "/tmp/a.jsonl"}};
  const StandIn program(R"(echo "$1 $2"; printf '\033[31mred\033[0m\n'; pwd)");
  const std::string text = data_sample(form, program.options, Asked(), 20);
  EXPECT_THAT(text, HasSubstr("data inspect\n"));
  EXPECT_THAT(text, HasSubstr("/tmp\n"));
  EXPECT_EQ(text.find('\033'), std::string::npos);
  Asked in_chinese;
  in_chinese.language = base::Language::chinese;
  EXPECT_THAT(data_sample(form, StandIn(R"(echo "$@")").options, in_chinese, 20), HasSubstr("--lang zh"));
  EXPECT_THROW(data_sample(form, StandIn("exit 2").options, Asked(), 20), base::DataError);
}

TEST(TokenFile, IsForThisUserAloneAndGoesWithItsServer) {
  const ScratchFolder folder;
  const std::string kept = token_folder({{"XDG_RUNTIME_DIR", folder.file("")}});
  struct stat facts {};
  ASSERT_EQ(::stat(kept.c_str(), &facts), 0);
  EXPECT_EQ(facts.st_mode & 0777, 0700u);
  {
    const TokenFile one(kept, 8400, "http://127.0.0.1:8400/#token=a"),
        other(kept, 8401, "http://127.0.0.1:8401/#token=b");
    ASSERT_EQ(::stat((kept + "/serve-8400").c_str(), &facts), 0);
    EXPECT_EQ(facts.st_mode & 0777, 0600u);
    EXPECT_THAT(kept_urls(kept), ElementsAre("http://127.0.0.1:8400/#token=a", "http://127.0.0.1:8401/#token=b"));
  }
  EXPECT_TRUE(kept_urls(kept).empty());
  base::write_file_atomic(kept + "/serve-8402", "not a server\n");
  base::write_file_atomic(kept + "/serve-x", "1 http://x\n");
  EXPECT_TRUE(kept_urls(kept).empty());
  ::chmod(kept.c_str(), 0755);
  EXPECT_THROW(token_folder({{"XDG_RUNTIME_DIR", folder.file("")}}), base::ConfigError);
}

}  // namespace

}  // namespace troika::serve
