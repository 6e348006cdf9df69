#include "base/mapping_guard.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <functional>
#include <thread>
#include <vector>

#include "base/text_files_test_support.h"

namespace troika::base {
namespace {
using testing::AllOf;
using testing::HasSubstr;

constexpr std::size_t page = 4096;

int sum_of(const MappedFile& file) {
  int sum = 0;
  const volatile std::byte* bytes = file.data();  // volatile: read even where nobody wants the sum
  for (std::size_t i = 0; i < file.size(); i += page) sum += static_cast<int>(bytes[i]);
  return sum;
}

class GuardedMapping : public testing::Test {
 protected:
  std::string write(const std::string& name, std::size_t pages) const {
    return folder_.write(name, std::string(pages * page, 'x'));
  }
  static void cut(const std::string& path, std::size_t bytes) {
    ASSERT_EQ(::truncate(path.c_str(), static_cast<off_t>(bytes)), 0);
  }

  const TestFolder folder_;
  MappingGuard guard_;
};

TEST_F(GuardedMapping, ThatWasCutIsAnErrorWithItsPathAndPlace) {
  const std::string path = write("a.bin", 8), other = write("b.bin", 8);
  const MappedFile cut_one(path), sound(other);
  EXPECT_EQ(sum_of(cut_one), 8 * 'x');
  EXPECT_NO_THROW(check_mapping(cut_one));
  cut(path, 3 * page);
  EXPECT_EQ(sum_of(cut_one), 3 * 'x');
  EXPECT_THAT(message_of<DataError>([&] { check_mapping(cut_one); }),
              AllOf(HasSubstr(path), HasSubstr("at byte 12288"), HasSubstr("truncated to 12288 of its 32768 bytes")));
  EXPECT_EQ(sum_of(sound), 8 * 'x');
  EXPECT_NO_THROW(check_mapping(sound));
}

TEST_F(GuardedMapping, IsTheErrorWhateverTheReaderMadeOfTheZeros) {
  const std::string path = write("a.bin", 4);
  const MappedFile file(path);
  cut(path, 0);
  const auto misled = [&] {
    if (sum_of(file) == 0) throw DataError(verbatim("this is no file of ours"));
  };
  EXPECT_THAT(message_of<DataError>([&] { while_reading(file, misled); }), HasSubstr("truncated to 0"));
}

TEST_F(GuardedMapping, IsForgottenWithItsFileAndItsPlaceUsedAgain) {
  const std::string path = write("a.bin", 4);
  {
    const MappedFile file(path);
    cut(path, page);
    sum_of(file);
  }
  const MappedFile again(write("b.bin", 4));
  MappedFile moved(write("c.bin", 4));
  const MappedFile taken(std::move(moved));
  EXPECT_EQ(sum_of(again) + sum_of(taken), 8 * 'x');
  EXPECT_NO_THROW(check_mapping(again));
  EXPECT_NO_THROW(check_mapping(taken));
}

TEST_F(GuardedMapping, FailsInEveryThreadWhileOthersAreMappedAndUnmapped) {
  const std::string path = write("a.bin", 64);
  const MappedFile file(path);
  std::atomic<int> told{0};
  std::vector<std::thread> readers;
  for (int i = 0; i < 3; ++i) {
    readers.emplace_back([&] {
      const std::string mine = write("mine" + std::to_string(::gettid()), 2);
      for (;;) {
        const MappedFile other(mine);
        if (sum_of(other) != 2 * 'x') break;
        sum_of(file);
        if (message_of<DataError>([&] { check_mapping(file); }).empty()) continue;
        check_mapping(other);
        ++told;
        break;
      }
    });
  }
  cut(path, 10 * page);
  for (std::thread& reader : readers) reader.join();
  EXPECT_EQ(told, 3);
}

int signal_that_ends(const std::function<void()>& work) {
  const pid_t child = ::fork();
  if (child == 0) {
    ::signal(SIGBUS, SIG_DFL);  // a sanitizer has a handler of its own
    const MappingGuard guard;
    work();
    ::_exit(0);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFSIGNALED(status) ? WTERMSIG(status) : 0;
}

TEST(MappingGuard, LeavesEveryOtherBusErrorAsItWas) {
  EXPECT_EQ(signal_that_ends([] { ::raise(SIGBUS); }), SIGBUS);
  const TestFolder folder;
  const std::string path = folder.write("a.bin", std::string(2 * page, 'x'));
  EXPECT_EQ(signal_that_ends([&] {
              const int file = ::open(path.c_str(), 0);  // a mapping that nobody watches
              const auto* bytes = static_cast<const char*>(::mmap(nullptr, 2 * page, PROT_READ, MAP_PRIVATE, file, 0));
              if (::truncate(path.c_str(), 0) != 0) return;
              static_cast<void>(*static_cast<const volatile char*>(bytes));
            }),
            SIGBUS);
}

TEST_F(GuardedMapping, HasOneGuard) { EXPECT_THROW(MappingGuard(), BugError); }

}  // namespace
}  // namespace troika::base
