#include "base/language.h"

#include <map>

#include "base/error.h"

namespace troika::base {
using ::testing::HasSubstr;

TEST(Language, IsWhatIsStatedOrTheLocales) {
  EXPECT_EQ(language_of("zh", "de_DE.UTF-8"), Language::chinese);
  EXPECT_EQ(language_of("en", "zh_CN.UTF-8"), Language::english);
  EXPECT_EQ(language_of("auto", "zh_CN.UTF-8"), Language::chinese);
  EXPECT_EQ(language_of("auto", "zh"), Language::chinese);
  EXPECT_EQ(language_of("auto", "C.UTF-8"), Language::english);
  EXPECT_EQ(language_of("auto", ""), Language::english);
  EXPECT_THROW(language_of("fr", ""), ConfigError);
}

TEST(Language, LocaleIsTheFirstThatIsSet) {
  using Environment = std::map<std::string, std::string>;
  EXPECT_EQ(locale_in(Environment{{"LANG", "zh_CN.UTF-8"}, {"LC_ALL", ""}}), "zh_CN.UTF-8");
  EXPECT_EQ(locale_in(Environment{{"LANG", "zh_CN.UTF-8"}, {"LC_ALL", "C"}}), "C");
  EXPECT_EQ(locale_in(Environment{}), "");
}

TEST(Language, FaultsOfAPairAreNamed) {
  EXPECT_EQ(fault_of({"step {} of {}", "第 {} 步，共 {} 步"}), "");
  EXPECT_EQ(fault_of({"{rank} waits for {peer}", "{rank} 在等 {peer}"}), "");
  EXPECT_THAT(fault_of({"step {}", ""}), HasSubstr("no Chinese text"));
  EXPECT_THAT(fault_of({"", "步"}), HasSubstr("no English text"));
  EXPECT_THAT(fault_of({"step {}", "step {}"}), HasSubstr("no Chinese character"));
  EXPECT_THAT(fault_of({"step {} of {}", "第 {} 步"}), HasSubstr("other arguments"));
  EXPECT_THAT(fault_of({"{rank} waits", "{peer} 在等"}), HasSubstr("other arguments"));
}

}  // namespace troika::base
