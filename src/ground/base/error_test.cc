#include "base/error.h"

#include <gtest/gtest.h>

#include "base/say.h"

namespace troika::base {
namespace {

TEST(Error, KindsCarryTheirExitCodes) {
  EXPECT_EQ(ConfigError(verbatim("x")).exit_code(), 2);
  EXPECT_EQ(DataError(verbatim("x")).exit_code(), 3);
  EXPECT_EQ(PeerError(verbatim("x")).exit_code(), 75);
  EXPECT_EQ(BugError("x").exit_code(), 70);
  EXPECT_EQ(exit_interrupted, 130);
}

TEST(Error, SaysItsSentence) { EXPECT_STREQ(DataError(verbatim("'a.txt' is empty")).what(), "'a.txt' is empty"); }

TEST(Error, AppendsContextInnermostFirst) {
  DataError error(verbatim("shard 3 is truncated"));
  error.add_context(verbatim("while reading 'train'"));
  error.add_context(verbatim("on rank 5"));
  EXPECT_STREQ(error.what(), "shard 3 is truncated\n  while reading 'train'\n  on rank 5");
}

TEST(Error, ShowsContentOfFilesWithoutItsControlCharacters) {
  DataError error(verbatim("'\x1b[31m' is no name"));
  error.add_context(verbatim("while reading '\xff'"));
  EXPECT_STREQ(error.what(), "'\\x1b[31m' is no name\n  while reading '\\xff'");
  EXPECT_LT(std::string(DataError(verbatim(std::string(1 << 20, 'x'))).what()).size(), 17000u);
}

TEST(Error, KeepsItsKindAndContextWhenRethrownThroughTheBase) {
  try {
    try {
      throw PeerError(verbatim("rank 2 is gone"));
    } catch (Error& error) {
      error.add_context(verbatim("while running recv_act 1.2"));
      throw;
    }
  } catch (const PeerError& error) {
    EXPECT_STREQ(error.what(), "rank 2 is gone\n  while running recv_act 1.2");
    EXPECT_EQ(error.exit_code(), 75);
  }
}

TEST(Error, SpeaksTheLanguageOfItsReader) {
  DataError both(Text{"no such run", "没有这个运行"});
  both.add_context(verbatim("at /api/why"));
  EXPECT_STREQ(both.what(), "no such run\n  at /api/why");
  EXPECT_EQ(both.in(Language::chinese), "没有这个运行\n  at /api/why");
  EXPECT_EQ(both.in(Language::english), both.what());
  EXPECT_EQ(ConfigError(verbatim("no such run")).in(Language::chinese), "no such run");
}

TEST(Error, IsMadeAgainWithWhereItHappenedInBothLanguages) {
  const DataError error = with_context(DataError(Text{"no such run", "没有这个运行"}), {"while reading", "读取时出错"});
  EXPECT_STREQ(error.what(), "no such run\n  while reading");
  EXPECT_EQ(error.in(Language::chinese), "没有这个运行\n  读取时出错");
}

TEST(Error, IsAStandardException) { EXPECT_THROW(throw BugError("x"), std::exception); }

}  // namespace
}  // namespace troika::base
