#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "base/json.h"
#include "jinja/template_test_support.h"

namespace troika::jinja {
namespace {

TEST(Filters, WriteJsonAsTransformersDoes) {
  expect_values({{"l | tojson", R"([1, 2.5, "three", null, true, [1, "q'"], {"a": 1}])"},
                 {"['<é\"\\\\\\n\\x01\\x7f😀>'] | tojson", "[\"<é\\\"\\\\\\n\\u0001\x7f😀>\"]"},
                 {"'é😀\\x7f' | tojson(ensure_ascii=true)", R"("\u00e9\ud83d\ude00\u007f")"},
                 {"{'b': 1, 'a': [], 'c': {}} | tojson(indent=2)", "{\n  \"b\": 1,\n  \"a\": [],\n  \"c\": {}\n}"},
                 {"{'b': [1, 2]} | tojson(indent='-')", "{\n-\"b\": [\n--1,\n--2\n-]\n}"},
                 {"{'b': 1, 'a': 2} | tojson(sort_keys=true, separators=(',', ':'))", R"({"a":2,"b":1})"},
                 {"{1: 1.0, true: none, none: 1e20} | tojson", R"({"1": null, "null": 1e+20})"}});
}

TEST(Filters, PrintIntegersBeyond64BitsWithAllTheirDigits) {
  const nlohmann::ordered_json numbers =
      base::parse_ordered_json(R"({"n": {"a": 100000000000000000001, "b": 9223372036854775808, "c": -5}})", "numbers");
  const auto shown = [&](const std::string& source) { return Template(source, "t.jinja").render(numbers); };
  EXPECT_EQ(shown("{{ n | tojson }}"), R"({"a": 100000000000000000001, "b": 9223372036854775808, "c": -5})");
  EXPECT_EQ(
      shown("{{ n.a }} {{ n.b | string }} {{ n.a is integer }} {{ n.a is number }} {{ n.a == n.b }} {{ n.a | int }}"),
      "100000000000000000001 9223372036854775808 True True False 100000000000000000001");
  EXPECT_THROW(shown("{{ n.a + 1 }}"), base::DataError);
}

TEST(Filters, ChooseFromLists) {
  expect_values({{"turns | selectattr('role', 'equalto', 'user') | map(attribute='content') | list", "['Hi', 'b']"},
                 {"turns | rejectattr('role', 'eq', 'user') | list | length", "1"},
                 {"turns | selectattr('x') | map(attribute='x.y') | list", "[2]"},
                 {"turns | selectattr('x', 'undefined') | map(attribute='n') | list", "[3, 2]"},
                 {"turns | map(attribute='x.y', default='-') | join", "-2-"},
                 {"['a', 'b'] | map('upper') | join(', ')", "A, B"},
                 {"['ab'] | map('replace', 'a', 'z') | first", "zb"},
                 {"[0, 1, 2, 3] | select('odd') | list", "[1, 3]"},
                 {"[0, 1] | reject | list", "[0]"},
                 {"[1, 2, 3] | batch(2, 0) | list", "[[1, 2], [3, 0]]"},
                 {"'abc' | reverse", "cba"},
                 {"d | items | first", "('a', 1)"},
                 {"empty | first", ""},
                 {"missing | default('D') ~ ('' | d('E', true))", "DE"}});
}

TEST(Filters, AreTrueWhereAGeneratorIsAndEmptyWhereItWasRead) {
  expect_values({{"'y' if turns | selectattr('role', 'equalto', 'none')", "y"},
                 {"'y' if turns | selectattr('role', 'equalto', 'none') | list else 'n'", "n"}});
  EXPECT_EQ(render("{% set all = numbers | map('string') %}{{ all | list }}{{ all | list }}"), "['3', '1', '2'][]");
  EXPECT_EQ(render("{% set all = numbers | map('string') %}{{ all | first }}{{ all | list }}"), "3['1', '2']");
}

TEST(Filters, PutInOrder) {
  expect_values({{"numbers | sort", "[1, 2, 3]"},
                 {"['b', 'A', 'c'] | sort", "['A', 'b', 'c']"},
                 {"['b', 'A'] | sort(case_sensitive=true, reverse=true)", "['b', 'A']"},
                 {"turns | sort(attribute='role,n') | map(attribute='n') | list", "[1, 2, 3]"},
                 {"['a', 'A', 'b'] | unique | list", "['a', 'b']"},
                 {"numbers | max", "3"},
                 {"numbers | min", "1"},
                 {"{'b': 1, 'A': 2} | dictsort", "[('A', 2), ('b', 1)]"},
                 {"{'b': 1, 'a': 2} | dictsort(by='value')", "[('b', 1), ('a', 2)]"}});
}

TEST(Filters, MakeNumbers) {
  expect_values({{"' 42 ' | int", "42"},
                 {"'4x' | int(7)", "7"},
                 {"'4.7' | int", "4"},
                 {"-4.9 | int", "-4"},
                 {"'3.5' | float", "3.5"},
                 {"2.5 | round", "2.0"},
                 {"3.5 | round", "4.0"},
                 {"2.567 | round(2)", "2.57"},
                 {"2.1 | round(method='ceil')", "3.0"},
                 {"1250 | round(-2)", "1200"},
                 {"turns | sum(attribute='n')", "6"},
                 {"-5.5 | abs", "5.5"},
                 {"d | count", "4"}});
}

TEST(Filters, ChangeText) {
  expect_values({{"'\\u00a0 a \\n' | trim", "a"},
                 {"'xax' | trim('x')", "a"},
                 {"'don\\'t-stop (me)' | title", "Don't-Stop (Me)"},
                 {"'a\\nb\\n\\nc' | indent(2)", "a\n  b\n\n  c"},
                 {"'a\\n\\nb' | indent('>', true, true)", ">a\n>\n>b"},
                 {"'<a href=\"x\">&\\'' | e", "&lt;a href=&#34;x&#34;&gt;&amp;&#39;"},
                 {"'%s and %r' | format('a', 'b')", "a and 'b'"},
                 {"12345 | replace(3, 'x')", "12x45"},
                 {"none | upper", "NONE"},
                 {"[1, 2] | join('-')", "1-2"}});
}

}  // namespace
}  // namespace troika::jinja
