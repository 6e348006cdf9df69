#include "commands/cli.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <functional>

#include "base/error.h"
#include "base/file.h"
#include "base/temporary_folder_test_support.h"
#include "host/subprocess.h"

namespace troika::commands {
namespace {
using ::testing::HasSubstr;

// The output of a child that has inherited such state, and its end: "TEXT, exit N" or "TEXT, signal N".
std::string heir(const std::function<void()>& inherit, const std::function<std::string()>& says) {
  base::Pipe pipe = base::make_pipe();
  const pid_t child = ::fork();
  if (child == 0) {
    inherit();
    std::string text;
    try {
      settle_inherited();
      text = says();
    } catch (const base::Error& error) {
      text = error.what();
    }
    ::_exit(::write(pipe.writes.number(), text.data(), text.size()) < 0 ? 99 : 0);
  }
  pipe.writes.close();
  const std::string said = base::read_to_end(pipe.reads, 20, 1 << 16).value_or("(nothing)");
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFSIGNALED(status) ? fmt::format("{}, signal {}", said, WTERMSIG(status))
                             : fmt::format("{}, exit {}", said, WEXITSTATUS(status));
}

TEST(Inherited, AParentThatIgnoresTheEndOfItsChildrenHidesNoEnd) {
  const auto says = [] {
    host::Subprocess program({{"/bin/sh", "-c", "exit 3"}, {}});
    return std::to_string(program.wait().exit_code);
  };
  EXPECT_EQ(heir([] { ::signal(SIGCHLD, SIG_IGN); }, says), "3, exit 0");
}

TEST(Inherited, AFileBeyondTheLimitIsAnErrorThatNamesIt) {
  const base::TemporaryFolder folder;
  const auto limit = [] {
    const rlimit small{1 << 10, RLIM_INFINITY};
    ::setrlimit(RLIMIT_FSIZE, &small);
  };
  const auto says = [&]() -> std::string {
    base::write_file_atomic(folder.path() + "/large", std::string(4096, 'x'));
    return "written";
  };
  EXPECT_THAT(heir(limit, says), AllOf(HasSubstr("files here may have at most 1.00 KiB (ulimit -f)"), HasSubstr("exit 0")));
  EXPECT_TRUE(base::list_directory(folder.path()).empty());
}

TEST(Inherited, ABlockedStopSignalEndsTheProgramAllTheSame) {
  const auto block = [] {
    sigset_t all;
    ::sigfillset(&all);
    ::sigprocmask(SIG_BLOCK, &all, nullptr);
    ::raise(SIGTERM);
  };
  EXPECT_EQ(heir(block, [] { return std::string("went on"); }), fmt::format(", signal {}", SIGTERM));
}

TEST(Inherited, AStackThatIsTooSmallIsNamedOrRaised) {
  const auto limit = [] {
    const rlimit small{100 << 10, 100 << 10};
    ::setrlimit(RLIMIT_STACK, &small);
    if (::getuid() == 0 && ::setuid(65534) != 0) ::_exit(98);
  };
  EXPECT_EQ(heir(limit, [] { return std::string("went on"); }),
            "the stack is limited to 100.0 KiB (ulimit -s), but Troika needs 192.0 KiB: raise the limit, as in `ulimit -s "
            "8192`, exit 0");
  const auto soft = [] {
    rlimit small{};
    ::getrlimit(RLIMIT_STACK, &small);
    small.rlim_cur = 100 << 10;
    ::setrlimit(RLIMIT_STACK, &small);
  };
  const auto says = [] {
    rlimit now{};
    ::getrlimit(RLIMIT_STACK, &now);
    return std::to_string(now.rlim_cur);
  };
  EXPECT_EQ(heir(soft, says), "8388608, exit 0");
}

}  // namespace
}  // namespace troika::commands
