#include "base/language.h"

#include <map>

#include "base/error.h"

namespace troika::base {

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

}  // namespace troika::base
