#include "base/json.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <nlohmann/json.hpp>

#include "base/error.h"

namespace troika::base {
namespace {

using testing::HasSubstr;

std::string error_of(const std::function<void()>& action) {
  try {
    action();
  } catch (const DataError& error) {
    return error.what();
  }
  return "no DataError";
}

std::string nested(int depth) {
  const auto levels = static_cast<std::size_t>(depth);
  return std::string(levels, '[') + std::string(levels, ']');
}

TEST(ParseJson, NamesTheOriginAndThePlaceOfAFault) {
  EXPECT_THAT(error_of([] { parse_json("{\"a\": 1,}", "line 3 of x.jsonl"); }),
              testing::AllOf(HasSubstr("line 3 of x.jsonl"), HasSubstr("byte 9")));
  EXPECT_THAT(error_of([] { parse_json("", "empty.json"); }), HasSubstr("empty.json"));
  EXPECT_THAT(error_of([] { parse_json("{} {}", "two.json"); }), HasSubstr("two.json"));
  EXPECT_THAT(error_of([] { parse_json("\"\xff\"", "latin.json"); }), HasSubstr("latin.json"));
}

TEST(ParseJson, RefusesANumberThatNoDoubleHolds) {
  EXPECT_THAT(error_of([] { parse_json("[1e999]", "big.json"); }), HasSubstr("big.json"));
}

TEST(ParseJson, KeepsTheDigitsOfIntegersBeyond64BitsWhereOrderIsKept) {
  const auto digits = [](const std::string& number) {
    const nlohmann::ordered_json value = parse_ordered_json("{\"n\": [" + number + "]}", "x")["n"][0];
    return value.is_binary() ? std::string(value.get_binary().begin(), value.get_binary().end()) : value.dump();
  };
  EXPECT_EQ(digits("100000000000000000001"), "100000000000000000001");
  EXPECT_EQ(digits("-9223372036854775809"), "-9223372036854775809");
  EXPECT_EQ(digits("18446744073709551615"), "18446744073709551615");
  EXPECT_EQ(digits("1e20"), "1e+20");
  EXPECT_EQ(digits("100000000000000000000.0"), "1e+20");
  EXPECT_THAT(error_of([] { parse_ordered_json("[1" + std::string(400, '0') + "]", "big.json"); }),
              HasSubstr("big.json"));
  EXPECT_THAT(error_of([] { parse_ordered_json("[1,]", "x.json"); }), HasSubstr("x.json"));
}

TEST(ParseJson, CountsLevelsOutsideOfStringsOnly) {
  const std::string brackets(300, '[');
  EXPECT_EQ(parse_json("[\"\\\"" + brackets + "\"]", "x").size(), 1u);
  EXPECT_EQ(parse_json("{\"a\\\\\": [\"" + brackets + "\\\\\"]}", "x").size(), 1u);
}

TEST(ParseJson, TakesTimeByItsLengthAlone) {  // else this takes minutes
  std::string text = "{";
  for (int i = 0; i < 200000; ++i) text += (i > 0 ? ",\"" : "\"") + std::to_string(i) + "\":{}";
  EXPECT_EQ(parse_json(text + "}", "x").size(), 200000u);
}

TEST(ParseJson, AcceptsExactly256Levels) {
  EXPECT_TRUE(parse_json(nested(256), "x").is_array());
  EXPECT_THAT(error_of([] { parse_json(nested(257), "deep.json"); }),
              testing::AllOf(HasSubstr("deep.json"), HasSubstr("256")));
}

TEST(ParseJson, RefusesAMillionLevelsWithoutOverflowingTheStack) {
  EXPECT_THAT(error_of([] { parse_json(std::string(1000000, '['), "bomb.json"); }), HasSubstr("256"));
  std::string objects;
  for (int i = 0; i < 100000; ++i) objects += "{\"a\":";
  EXPECT_THAT(error_of([&] { parse_json(objects, "bomb.json"); }), HasSubstr("256"));
}

TEST(JsonKeys, AreReadByType) {
  const auto j = parse_json(R"({"i": -3, "d": 2.5, "s": "text", "a": [1, 2], "o": {"x": 1}})", "x");
  EXPECT_EQ(json_int(j, "i", "x"), -3);
  EXPECT_EQ(json_double(j, "d", "x"), 2.5);
  EXPECT_EQ(json_double(j, "i", "x"), -3.0);
  EXPECT_EQ(json_string(j, "s", "x"), "text");
  EXPECT_EQ(json_array(j, "a", "x").size(), 2U);
  EXPECT_EQ(json_int(json_object(j, "o", "x"), "x", "x"), 1);
}

TEST(JsonKeys, NameOriginAndKeyWhenMissing) {
  const auto j = parse_json(R"({"a": 1})", "x");
  EXPECT_THAT(error_of([&] { json_int(j, "steps", "state.json"); }),
              testing::AllOf(HasSubstr("state.json"), HasSubstr("'steps'"), HasSubstr("missing")));
  EXPECT_THAT(error_of([] { json_string(parse_json("[1]", "x"), "k", "list.json"); }), HasSubstr("list.json"));
  EXPECT_THAT(error_of([] { json_object(parse_json("null", "x"), "k", "null.json"); }), HasSubstr("null.json"));
}

TEST(JsonKeys, NameBothTypesWhenTheTypeIsWrong) {
  const auto j = parse_json(R"({"d": 2.5, "s": "3", "n": null, "a": []})", "x");
  EXPECT_THAT(error_of([&] { json_int(j, "d", "f"); }), testing::AllOf(HasSubstr("'d'"), HasSubstr("whole number")));
  EXPECT_THAT(error_of([&] { json_int(j, "s", "f"); }), HasSubstr("not string"));
  EXPECT_THAT(error_of([&] { json_double(j, "s", "f"); }), HasSubstr("not string"));
  EXPECT_THAT(error_of([&] { json_string(j, "n", "f"); }), HasSubstr("not null"));
  EXPECT_THAT(error_of([&] { json_array(j, "s", "f"); }), HasSubstr("an array"));
  EXPECT_THAT(error_of([&] { json_object(j, "a", "f"); }), HasSubstr("an object"));
}

TEST(JsonInt, HoldsEveryInt64AndRefusesWhatWouldWrap) {
  const auto j = parse_json(
      R"({"max": 9223372036854775807, "min": -9223372036854775808, "over": 9223372036854775808,
          "far": 18446744073709551616})",
      "x");
  EXPECT_EQ(json_int(j, "max", "f"), INT64_MAX);
  EXPECT_EQ(json_int(j, "min", "f"), INT64_MIN);
  EXPECT_THAT(error_of([&] { json_int(j, "over", "f"); }), HasSubstr("9223372036854775808"));
  EXPECT_THAT(error_of([&] { json_int(j, "far", "f"); }), HasSubstr("whole number"));
}

TEST(ParseJson, TellsWhereAndWhatInBothLanguages) {
  const auto chinese = [](const std::function<void()>& action) {
    try {
      action();
    } catch (const DataError& error) {
      return error.in(Language::chinese);
    }
    return std::string();
  };
  const Text third_line{"line 3 of 'x'", "“x”第 3 行"};
  EXPECT_EQ(error_of([&] { parse_json("[", third_line); }),
            "line 3 of 'x': not valid JSON at byte 2: it ends inside an array");
  EXPECT_EQ(chinese([&] { parse_json("[", third_line); }), "“x”第 3 行：第 2 字节处不是有效的 JSON：在数组中间结束");
  EXPECT_EQ(chinese([] { json_string({{"a", 1}}, "a", "x.json"); }), "x.json：“a”应为字符串，而不是数字");
}

}  // namespace
}  // namespace troika::base
