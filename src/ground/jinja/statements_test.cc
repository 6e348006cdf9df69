#include <gmock/gmock.h>

#include "jinja/template_test_support.h"

namespace troika::jinja {
namespace {

TEST(Statements, LoopOverListsDictsAndText) {
  expect_texts(
      {{"{% for x in numbers %}{{ loop.index }}{{ loop.revindex0 }}{{ x }}{{ ',' if not loop.last }}{% endfor %}",
        "123,211,302"},
       {"{% for x in numbers if x > 1 %}{{ loop.previtem }}<{{ x }}>{{ loop.nextitem }} {{ loop.length }};{% endfor %}",
        "<3>2 2;3<2> 2;"},
       {"{% for k, v in d.deep.items() %}{{ k }}={{ v }}{% endfor %}", "m=[1, {'k': 'v'}]"},
       {"{% for (a, b), c in [((1, 2), 3)] %}{{ a }}{{ b }}{{ c }}{% endfor %}", "123"},
       {"{% for c in 'aé😀' %}[{{ c }}]{% endfor %}", "[a][é][😀]"},
       {"{% for x in empty %}a{% else %}none{% endfor %}", "none"},
       {"{% for x in missing %}a{% else %}none{% endfor %}", "none"},
       {"{% for x in numbers %}{% if x == 2 %}{% break %}{% endif %}{% if x == 3 %}{% continue %}{% endif %}{{ x }}{% "
        "endfor %}",
        "1"},
       {"{% for x in numbers %}{{ loop.cycle('a', 'b') }}{% endfor %}", "aba"},
       {"{% for x in [1, 2] %}{% set outer = loop %}{% for y in [1, 2] %}{{ outer.index }}{{ loop.index }} {% endfor "
        "%}{% endfor %}",
        "11 12 21 22 "}});
}

TEST(Statements, AssignWithinTheirScope) {
  expect_texts(
      {{"{% set x = 1 %}{% for i in numbers %}{% set x = x + i %}{{ x }} {% endfor %}{{ x }}", "4 2 3 1"},
       {"{% set ns = namespace(x=0) %}{% for i in numbers %}{% set ns.x = ns.x + i %}{% endfor %}{{ ns.x }}", "6"},
       {"{% if flag %}{% set y = 5 %}{% endif %}{{ y }}", "5"},
       {"{% set a, b = 1, 2 %}{{ b }}{{ a }}", "21"},
       {"{% set x | upper | trim %}  hello {{ n }}\n{% endset %}[{{ x }}]", "[HELLO -7]"},
       {"{% set x %}{% set inner = 2 %}{{ inner }}{% endset %}{{ x }}{{ inner is defined }}", "2False"},
       {"{% with a = 1, b = n %}{{ a }}{{ b }}{% endwith %}{{ a is defined }}", "1-7False"},
       {"{% generation %}{{ n }}{% set g = 1 %}{% endgeneration %}{{ g is defined }}", "-7False"},
       {"{% filter replace('a', 'b') | upper %}a{{ n }}{% endfilter %}", "B-7"}});
}

TEST(Statements, CallMacros) {
  const std::string macro = "{% macro m(a, b=2, c=a) %}{{ a }}-{{ b }}-{{ c }}{% endmacro %}";
  EXPECT_EQ(render(macro + "{{ m(1) }} {{ m(1, 3) }} {{ m(a=5, c='y') }} {{ m() }}"), "1-2-1 1-3-1 5-2-y -2-");
  EXPECT_EQ(render("{% macro f(n) %}{% if n > 0 %}{{ n }}{{ f(n - 1) }}{% endif %}{% endmacro %}{{ f(5) }}"), "54321");
  EXPECT_EQ(render("{% set y = 1 %}{% macro m() %}{{ y }}{% endmacro %}{% set y = 2 %}{{ m() }}"), "2");
  EXPECT_EQ(refusal(macro + "\n{{ m(1, 2, 3, 4) }}"), "t.jinja line 2: the macro 'm' takes at most 3 arguments, not 4");
  EXPECT_EQ(refusal(macro + "{{ m(d=1) }}"), "t.jinja line 1: the macro 'm' does not take the argument 'd'");
}

TEST(Statements, KeepMacrosThatLeaveTheirScopeAlive) {
  EXPECT_EQ(
      render("{% set ns = namespace() %}{% for x in [1, 2] %}{% macro m() %}{{ x }}{% endmacro %}{% set ns.m = m %}"
             "{% set ns.self = ns %}{% endfor %}{{ ns.self.m() }}"),
      "2");
}

TEST(Statements, TakeWhiteSpaceAwayAsTransformersDoes) {
  expect_texts({{"{% for x in numbers %}\n{{ x }}\n{% endfor %}\nend\n", "3\n1\n2\nend"},
                {"a\n  {% if flag %}\n  b\n  {% endif %}\nc", "a\n  b\nc"},
                {"a\n  {%+ if flag +%}\n  b\n  {% endif %}\nc", "a\n  \n  b\nc"},
                {"{% for x in numbers -%}\n  {{ x }}\n{%- endfor %}", "312"},
                {"  {# c #}\nx {# d -#}  y {#- e #}\nz",
                 "x y"
                 "z"},
                {"  {{ 1 }}  \n {{- 2 -}} \n 3", "  123"},
                {"{% raw %}{{ x }} {% if %}{% endraw %}\nx", "{{ x }} {% if %}x"},
                {"{% raw -%}\n  {{ x }} \n  {%- endraw -%}\n x", "{{ x }}x"},
                {"a\r\nb\rc\n\n", "a\nb\nc\n"},
                {"{{ {'a': {'b': {}}} }}", "{'a': {'b': {}}}"},
                {"{{ '}}' }}{{ '%}' }}", "}}%}"}});
}

TEST(Statements, CallFunctions) {
  RenderOptions options;
  options.now.tm_year = 125;
  options.now.tm_mday = 1;
  EXPECT_EQ(render("{{ strftime_now('%d %b %Y') }}", options), "01 Jan 2025");
  EXPECT_EQ(render("{{ range(5, 0, -2) | list }}{{ dict(a=1) }}{{ namespace(a=1).a }}"), "[5, 3, 1]{'a': 1}1");
  EXPECT_EQ(refusal("{% if flag %}\n{{ raise_exception('No ' ~ n) }}{% endif %}"), "t.jinja line 2: No -7");
}

}  // namespace
}  // namespace troika::jinja
