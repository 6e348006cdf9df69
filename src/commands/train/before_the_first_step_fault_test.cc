// Stop requests while the data are prepared: everything ends soon with 130, and the same command begins again.
#include <gmock/gmock.h>
#include <signal.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <thread>

#include "base/clock.h"
#include "base/file.h"
#include "base/random.h"
#include "commands/train/program_test_support.h"

namespace troika::commands {
namespace {
using testing::HasSubstr;

// Text that takes seconds to tokenize, by one thread.
class BeforeTheFirstStep : public testing::Test {
 protected:
  BeforeTheFirstStep() {
    const base::Philox random(5, "long words");
    for (std::uint64_t word = 0; text_.size() < std::size_t{16} << 20; ++word) {
      for (std::uint64_t bits = random.bits(word), left = 4 + bits % 7; left > 0; --left, bits >>= 6)
        text_ += static_cast<char>('a' + bits % 26);
      text_ += word % 12 == 0 ? '\n' : ' ';
    }
    base::write_file_atomic(corpus_, text_);
    const std::string sample = folder_ / "sample.txt";
    base::write_file_atomic(sample, text_.substr(0, 1 << 18));
    EXPECT_EQ(run(troika({"data", "tokenizer", sample, "--out", tokenizer_, "--vocab", "500"})).code, 0);
  }

  Words train(const Words& more) const {
    return small_run(corpus_, out_) +
           Words{"--data.tokenizer", tokenizer_, "--model.vocab", "500", "--data.workers", "1",
                 "--log.progress",   "none",     "--steps",       "2"} +
           more;
  }

  static bool await(const std::function<bool()>& there) {
    const double until = base::monotonic_seconds() + patience_seconds;
    while (!there() && base::monotonic_seconds() < until) std::this_thread::sleep_for(std::chrono::milliseconds(5));
    return there();
  }
  // Names below `folder` that hold `part`.
  static std::vector<std::string> names(const std::string& folder, const std::string& part) {
    std::vector<std::string> found;
    for (const std::string& name : base::list_directory(folder))
      if (name.find(part) != std::string::npos) found.push_back(name);
    return found;
  }
  void await_part(const std::string& folder) const {
    ASSERT_TRUE(await([&] {
      const auto parts = names(folder, ".parts.");
      return !parts.empty() && !names(folder + "/" + parts.front(), "part-").empty();
    }));
  }
  void expect_nothing_trained() const { EXPECT_TRUE(read_rows(out_).empty() && checkpoints(out_).empty()); }

  const Folder folder_;
  std::string text_;
  const std::string corpus_ = folder_ / "long.txt", tokenizer_ = folder_ / "tokenizer", out_ = folder_ / "run",
                    cache_ = out_ + "/data";
};

TEST_F(BeforeTheFirstStep, AStopEndsAProcessThatTokenizesAndTheSameCommandUsesItsParts) {
  Program program(troika(train({})));
  await_part(cache_);
  program.signal(SIGTERM);
  const double asked = base::monotonic_seconds();
  const End end = program.wait();
  EXPECT_EQ(end.code, 130);
  EXPECT_LT(end.when - asked, 2);
  EXPECT_THAT(end.output, HasSubstr("stopped before the first step; rerunning the same command reuses the tokenized data"));
  expect_nothing_trained();
  EXPECT_FALSE(names(cache_, ".parts.").empty());
  const End again = run(troika(train({})));
  EXPECT_EQ(again.code, 0) << again.output;
  EXPECT_EQ(read_rows(out_).size(), 2u);
  EXPECT_TRUE(names(cache_, ".parts.").empty() && names(cache_, ".partial.").empty());
}

TEST_F(BeforeTheFirstStep, AStopEndsALaunchedRunOfWhichOneRankTokenizesAndOthersWait) {
  Program program(launch(2, train({"--dp", "2"})));
  await_part(cache_);
  const auto processes = program.processes();
  program.signal(SIGINT);
  const double asked = base::monotonic_seconds();
  const End end = program.wait();
  EXPECT_EQ(end.code, 130) << end.output;
  EXPECT_LT(end.when - asked, 2);
  expect_ended(processes);
  expect_nothing_trained();
}

// Neither rank is told by a launcher: the other hears of it.
TEST_F(BeforeTheFirstStep, AStopOfOneRankEndsTheOther) {
  const int port = free_port();
  const Words words = troika(train({"--dp", "2"}));
  Program zero(words, as_torchrun(0, 2, port)), one(words, as_torchrun(1, 2, port));
  await_part(cache_);
  one.signal(SIGTERM);
  EXPECT_EQ(one.wait().code, 130);
  const End end = zero.wait();
  EXPECT_EQ(end.code, 75);
  EXPECT_THAT(end.output, HasSubstr("it was stopped before the first step"));
}

TEST_F(BeforeTheFirstStep, AStopEndsDataPrepareAndTheSameCommandUsesItsParts) {
  const std::string out = folder_ / "tokens";
  const Words words = troika({"data", "prepare", corpus_, "--tokenizer", tokenizer_, "--out", out, "--workers", "1"});
  Program program(words);
  await_part(folder_.path());
  program.signal(SIGTERM);
  const double asked = base::monotonic_seconds();
  const End end = program.wait();
  EXPECT_EQ(end.code, 130);
  EXPECT_LT(end.when - asked, 2);
  EXPECT_THAT(end.output, HasSubstr("stopped; rerun the same command to resume"));
  EXPECT_FALSE(base::directory_exists(out));
  EXPECT_EQ(run(words).code, 0);
  EXPECT_TRUE(names(folder_.path(), ".parts.").empty() && names(folder_.path(), ".partial.").empty());
}

}  // namespace
}  // namespace troika::commands
