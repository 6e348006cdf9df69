#include <gmock/gmock.h>

#include "jinja/template_test_support.h"

namespace troika::jinja {
namespace {

TEST(Expressions, PrintValuesAsPythonDoes) {
  expect_values(
      {{"l", "[1, 2.5, 'three', None, True, [1, \"q'\"], {'a': 1}]"},
       {"d", "{'a': 1, 'b': 'two', 'items': [1, 2], 'deep': {'m': [1, {'k': 'v'}]}}"},
       {"f", "2.0"},
       {"nothing", "None"},
       {"missing", ""},
       {"(1,)", "(1,)"},
       {"()", "()"},
       {"1, 2", "(1, 2)"},
       {"1e16", "1e+16"},
       {"1e15", "1000000000000000.0"},
       {"0.1 + 0.2", "0.30000000000000004"},
       {"1e-5", "1e-05"},
       {"0.0001", "0.0001"},
       {"-0.0", "-0.0"},
       {"1e300 * 1e300", "inf"},
       {"['it\\'s', '\"', 'both\\'\"', '\\n\\t\\\\\\x00é😀']", "[\"it's\", '\"', 'both\\'\"', '\\n\\t\\\\\\x00é😀']"}});
}

TEST(Expressions, CalculateAsPythonDoes) {
  expect_values({{"n // 2", "-4"},
                 {"n % 3", "2"},
                 {"n % -3", "-1"},
                 {"-7.5 % 2", "0.5"},
                 {"-7.5 // 2", "-4.0"},
                 {"7 / 2", "3.5"},
                 {"2 ** 10", "1024"},
                 {"2 ** -1", "0.5"},
                 {"2 ** 3 ** 2", "64"},
                 {"-2 ** 2", "4"},
                 {"1 + 2 * 3", "7"},
                 {"10 - 2 - 3", "5"},
                 {"true + 1", "2"},
                 {"'a' * 3", "aaa"},
                 {"[1] + [2] * 2", "[1, 2, 2]"},
                 {"1 ~ 2 * 3", "16"},
                 {"'a' ~ none ~ 1.0 ~ [1]", "aNone1.0[1]"},
                 {"'%s-%d%%' % ('a', 5)", "a-5%"},
                 {"-n | abs", "7"}});
}

TEST(Expressions, CompareAsPythonDoes) {
  expect_values({{"1 == 1.0 == true", "True"},
                 {"1 < 2 < 3", "True"},
                 {"1 < 3 < 2", "False"},
                 {"'a' < 'b'", "True"},
                 {"[1, 2] < [1, 3]", "True"},
                 {"[1, 2] == (1, 2)", "False"},
                 {"{'a': 1, 'b': 2} == {'b': 2, 'a': 1}", "True"},
                 {"1 in [1.0]", "True"},
                 {"'b' in 'abc'", "True"},
                 {"'a' not in d", "False"},
                 {"not 1 == 2", "True"},
                 {"missing == other", "True"},
                 {"missing == none", "False"},
                 {"1 in missing", "False"}});
}

TEST(Expressions, AndAndOrGiveTheirOperands) {
  expect_values({{"empty or 'x'", "x"},
                 {"empty and missing.y", "[]"},
                 {"0 or none", "None"},
                 {"flag and 'y'", "y"},
                 {"1 if flag", "1"},
                 {"1 if not flag", ""},
                 {"1 if 0 else 2 if 0 else 3", "3"}});
}

TEST(Expressions, CountTextInCharacters) {
  expect_values({{"s | length", "14"},
                 {"s[-1]", "😀"},
                 {"s[7:12]", "Wörld"},
                 {"s[::-1][:3]", "😀 d"},
                 {"s[7]", "W"},
                 {"'é' in s", "False"},
                 {"s.find('😀')", "13"},
                 {"s[100]", ""},
                 {"s[-100:2]", "He"}});
}

TEST(Expressions, TakeElementsAndSlices) {
  expect_values({{"l[5][1]", "q'"},
                 {"l[-1].a", "1"},
                 {"l[100]", ""},
                 {"l.0", "1"},
                 {"l[1:3]", "[2.5, 'three']"},
                 {"numbers[::-1]", "[2, 1, 3]"},
                 {"numbers[5:0:-1]", "[2, 1]"},
                 {"d.deep.m[1].k", "v"},
                 {"d['items']", "[1, 2]"},
                 {"d.items() | length", "4"},
                 {"d.missing is defined", "False"},
                 {"none.foo is defined", "False"}});
}

TEST(Expressions, CallMethodsOfText) {
  expect_values({{"'  a '.strip() ~ '|'", "a|"},
                 {"'\\n a \\n'.strip('\\n') ~ '|'", " a |"},
                 {"'xyaxy'.lstrip('yx')", "axy"},
                 {"'xyaxy'.rstrip('yx')", "xya"},
                 {"'a,b,,c'.split(',')", "['a', 'b', '', 'c']"},
                 {"'a,b,c'.split(',', 1)", "['a', 'b,c']"},
                 {"'a,b,c'.rsplit(',', 1)", "['a,b', 'c']"},
                 {"' a  b '.split()", "['a', 'b']"},
                 {"'a b c '.split(maxsplit=1)", "['a', 'b c ']"},
                 {"' a  b c'.rsplit(none, 1)", "[' a  b', 'c']"},
                 {"'abc'.startswith(('x', 'ab'))", "True"},
                 {"'abc'.endswith('bc')", "True"},
                 {"'hELLO wORLD'.title()", "Hello World"},
                 {"'hELLO'.capitalize()", "Hello"},
                 {"'straße'.upper()", "STRASSE"},
                 {"'aaa'.replace('a', 'b', 2)", "bba"},
                 {"'ab'.replace('', '-')", "-a-b-"},
                 {"'-'.join(['a', 'b'])", "a-b"},
                 {"'{}{0}{{'.format('x')", "xx{"},
                 {"'a\\nb\\r\\nc'.splitlines()", "['a', 'b', 'c']"},
                 {"'abab'.count('ab')", "2"},
                 {"'a=b=c'.partition('=')", "('a', '=', 'b=c')"},
                 {"'a=b=c'.rpartition('=')", "('a=b', '=', 'c')"},
                 {"'-5'.zfill(4)", "-005"},
                 {"'12'.isdigit()", "True"},
                 {"'pre-x'.removeprefix('pre-')", "x"}});
}

TEST(Expressions, ReadTheEscapesOfStrings) {
  expect_values(
      {{"'\\x41\\u00e9\\U0001F600\\101\\q\\\\'", "Aé😀A\\q\\"}, {"'\\ud83d\\ude00' | length", "1"}, {"'a' 'b'", "ab"}});
}

TEST(Expressions, TestWhatValuesAre) {
  expect_values({{"missing is defined", "False"},
                 {"not missing is defined", "True"},
                 {"s is string", "True"},
                 {"d is mapping", "True"},
                 {"s is sequence and s is iterable", "True"},
                 {"n is iterable", "False"},
                 {"flag is number", "True"},
                 {"flag is integer", "False"},
                 {"f is float", "True"},
                 {"nothing is none", "True"},
                 {"1 is true", "False"},
                 {"flag is true", "True"},
                 {"6 is divisibleby 3", "True"},
                 {"3 is odd and 4 is even", "True"},
                 {"1 is in [1]", "True"},
                 {"1 is not in [1]", "False"},
                 {"2 is gt 1", "True"},
                 {"range is callable", "True"},
                 {"'ab' is lower", "True"},
                 {"1 is sameas true", "False"}});
}

TEST(Expressions, SayWhatIsWrongWithTheirLine) {
  using testing::HasSubstr;
  EXPECT_EQ(refusal("\n{{ missing.y }}"), "t.jinja line 2: 'missing' is undefined");
  EXPECT_EQ(refusal("{{ d.q.y }}"), "t.jinja line 1: a dict has no 'q'");
  EXPECT_EQ(refusal("{{ 'a' + 1 }}"), "t.jinja line 1: '+' does not work between a string and an integer");
  EXPECT_EQ(refusal("{{\n 'a' <\n 1 }}"), "t.jinja line 2: a string and an integer have no order");
  EXPECT_THAT(refusal("{{ s.foo() }}"), HasSubstr("a string has no 'foo'"));
  EXPECT_THAT(refusal("{{ numbers.append(1) }}"), HasSubstr("a list cannot be changed"));
  EXPECT_THAT(refusal("{{ 9223372036854775807 + 1 }}"), HasSubstr("beyond 64 bits"));
  EXPECT_THAT(refusal("{{ (0 - 9223372036854775807 - 1) // -1 }}"), HasSubstr("beyond 64 bits"));
  EXPECT_THAT(refusal("{{ 1 // 0 }}"), HasSubstr("1 // 0 has no result"));
  EXPECT_THAT(refusal("{{ numbers[::0] }}"), HasSubstr("step of a slice is 0"));
  EXPECT_THAT(refusal("{{ 5 | length }}"), HasSubstr("an integer has no length"));
  EXPECT_THAT(refusal("{{ s | replace('a') }}"), HasSubstr("replace is missing the argument 'new'"));
}

}  // namespace
}  // namespace troika::jinja
