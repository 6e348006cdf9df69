#include <gmock/gmock.h>

#include <algorithm>

#include "jinja/template_test_support.h"

namespace troika::jinja {
namespace {
using testing::HasSubstr;

std::string parse_refusal(const std::string& source) {
  try {
    const Template parsed(source, "t.jinja");
  } catch (const base::DataError& error) {
    return error.what();
  }
  return "";
}

TEST(Refusals, NameWhatIsNotSupportedWhenTheTemplateIsRead) {
  const std::vector<Case> cases = {
      {"\n\n{{ x | foo }}", "t.jinja line 3: the filter 'foo' is not supported"},
      {"{{ x | lenght }}", "t.jinja line 1: the filter 'lenght' is not supported ('length' is)"},
      {"{{ x | map('foo') }}", "t.jinja line 1: the filter 'foo' is not supported"},
      {"{{ x is foo }}", "t.jinja line 1: the test 'foo' is not supported"},
      {"{{ x | selectattr('a', 'foo') }}", "t.jinja line 1: the test 'foo' is not supported"},
      {"{{ cycler(1) }}", "t.jinja line 1: the function 'cycler' is not supported"},
      {"{% include 'x' %}", "t.jinja line 1: the statement 'include' is not supported"},
      {"{% call m() %}{% endcall %}", "t.jinja line 1: the statement 'call' is not supported"},
      {"{% for x in y recursive %}{% endfor %}", "t.jinja line 1: a recursive loop is not supported"},
      {"{{ f(**x) }}", "t.jinja line 1: '*' in front of an argument is not supported"}};
  for (const Case& one : cases) EXPECT_EQ(parse_refusal(one.source), one.text);
}

TEST(Refusals, NameATemplateThatIsTooLarge) {
  EXPECT_EQ(parse_refusal(std::string(Template::most_source_bytes, ' ')), "");
  EXPECT_THAT(parse_refusal(std::string(Template::most_source_bytes + 1, ' ')),
              testing::AllOf(HasSubstr("t.jinja has 1048577 bytes"), HasSubstr("at most 1048576")));
}

TEST(Refusals, NameTheLineOfWhatIsMalformed) {
  const std::vector<Case> cases = {
      {"{% if x %}\na\n", "t.jinja line 2: '{% endif %}' is missing"},
      {"{% endif %}", "t.jinja line 1: 'endif' ends nothing that is open here"},
      {"{% if x %}{% endfor %}", "t.jinja line 1: 'endfor' ends nothing that is open here"},
      {"a\n{{ x", "t.jinja line 2: a tag has no end '}}'"},
      {"{# x", "t.jinja line 1: a comment has no end '#}'"},
      {"{% raw %}", "t.jinja line 1: a raw block has no end '{% endraw %}'"},
      {"{{ 'x }}", "t.jinja line 1: a string has no end"},
      {"{{ a b }}", "t.jinja line 1: '}}' is expected, not 'b'"},
      {"{{ (1] }}", "t.jinja line 1: ']' closes nothing"},
      {"{{ $ }}", "t.jinja line 1: the character '$' is not expected"},
      {"{{ }}", "t.jinja line 1: a name is expected, not '}}'"},
      {"{% break %}", "t.jinja line 1: 'break' is outside of a loop"},
      {"{% set true = 1 %}", "t.jinja line 1: 'true' cannot be assigned to"},
      {"{{ 99999999999999999999 }}", "t.jinja line 1: the number 99999999999999999999 is too large"},
      {"{{ '\\ud800' }}", "t.jinja line 1: a string has an escape of U+D800, which is not a character"},
      {"\xff", "t.jinja is not valid UTF-8"}};
  for (const Case& one : cases) EXPECT_EQ(parse_refusal(one.source), one.text);
}

// The reason behind the place, for a reader of Chinese.
std::string chinese_reason(const std::string& source) {
  try {
    render(source);
  } catch (const base::DataError& error) {
    const std::string &text = error.in(base::Language::chinese), colon = "：";
    return text.substr(text.find(colon) + colon.size());
  }
  return "";
}

bool has_han(const std::string& text) {
  return std::any_of(text.begin(), text.end(), [](char c) { return c >= '\xE4' && c <= '\xE9'; });
}

TEST(Refusals, GiveReadersOfChineseTheirReasonInChinese) {
  for (const char* source : {"{{ a b }}", "{{ }}", "{# x", "{% raw %}", "{{ 'x }}", "{{ s | foo }}", "{{ s | lenght }}",
                             "{{ '\\ud800' }}", "{{ 'a' + 1 }}", "{{ 5 | length }}", "{{ s | replace('a') }}",
                             "{{ '%d' % s }}", "{{ missing.y }}", "{{ d.q.y }}", "{{ ([] | first).y }}"})
    EXPECT_TRUE(has_han(chinese_reason(source))) << source << " gives " << chinese_reason(source);
  EXPECT_THAT(chinese_reason("{% raw %}"), HasSubstr("{% endraw %}”"));
  EXPECT_EQ(chinese_reason("{{ raise_exception('No ' ~ n) }}"), "No -7");
}

TEST(Refusals, EndWhatWouldTakeTooMuch) {
  const auto many = [](const std::string& one, int times) {
    std::string all;
    for (int i = 0; i < times; ++i) all += one;
    return all;
  };
  RenderOptions small;
  small.limits.text_bytes = 1000;
  small.limits.total_bytes = 1000000;
  EXPECT_THAT(refusal("{% for x in range(1000) %}ab{% endfor %}", small), HasSubstr("more than 1000 bytes of text"));
  EXPECT_THAT(refusal("{{ 'a' * 999999999999 }}"), HasSubstr("makes or reads more than 1.00 GiB"));
  EXPECT_THAT(
      refusal("{% set ns = namespace(x='ab') %}{% for i in range(99) %}{% set ns.x = ns.x ~ ns.x %}{% endfor %}",
              small),
      HasSubstr("makes or reads more than"));
  EXPECT_THAT(refusal("{% set ns = namespace(x=[]) %}{% for i in range(300) %}{% set ns.x = [ns.x] %}{% endfor %}"),
              HasSubstr("more than 256 levels deep"));
  EXPECT_THAT(refusal("{% macro f() %}{{ f() }}{% endmacro %}{{ f() }}"), HasSubstr("more than 1000 levels deep"));
  EXPECT_THAT(refusal("{{ range(100001) }}"), HasSubstr("at most 100000 numbers"));
  EXPECT_THAT(parse_refusal("{{ " + many("(", 500) + "1" + many(")", 500) + " }}"),
              HasSubstr("more than 100 levels deep"));
  EXPECT_THAT(parse_refusal("{{ 1" + many(" + 1", 500) + " }}"), HasSubstr("more than 300 levels deep"));
  EXPECT_THAT(parse_refusal(many("{% if x %}", 500)), HasSubstr("more than 100 levels deep"));
}

}  // namespace
}  // namespace troika::jinja
