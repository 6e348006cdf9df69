#include <gmock/gmock.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/json.h"
#include "base/text_files_test_support.h"

namespace troika::base {
namespace {

TEST(JsonFault, SaysWhatIsWrong) {
  struct Case {
    std::string text, cause;
  };
  const std::vector<Case> cases = {
      {"", "it is empty"},
      {"{\"a\": 1,}", "a comma with nothing after it"},
      {"[1, 2, ]", "a comma with nothing after it"},
      {"[1,,2]", "a comma with nothing before it"},
      {"{\"a\": 1 \"b\": 2}", "a comma is missing"},
      {"[{} {}]", "a comma is missing"},
      {"{\"a\" 1}", "a colon is missing"},
      {"{\"a\" \"b\"}", "a colon is missing"},
      {"{\"a\": }", "a value is missing"},
      {"{'a': 1}", "single quotes"},
      {"{\"a\": 'b'}", "single quotes"},
      {"{a: 1}", "a key without double quotes"},
      {"{\"a\": NaN}", "'NaN' is not a JSON number"},
      {"[-Infinity]", "'-Infinity' is not a JSON number"},
      {"[nan]", "'nan' is not a JSON number"},
      {"{\"a\": True}", "'True' is Python's; JSON writes true"},
      {"[None]", "'None' is Python's; JSON writes null"},
      {"[01]", "'01' is not a JSON number"},
      {"[+1]", "'+1' is not a JSON number"},
      {"[.5]", "'.5' is not a JSON number"},
      {"{\"a\": 1} // why", "a comment"},
      {"# why\n{}", "a comment"},
      {"{\"a\": \"x\\ud83d\"}", "'\\ud83d' is half of a surrogate pair"},
      {"{\"a\": \"\\ud83dx\"}", "'\\ud83d' is half of a surrogate pair"},
      {"{\"a\": \"\\ud83d\\u0041\"}", "'\\ud83d' is half of a surrogate pair"},
      {"[\"\\ude00\"]", "'\\ude00' is half of a surrogate pair"},
      {"[\"\\ud83d\\ude00\\x\"]", "'\\x' is not a JSON escape"},
      {"[\"C:\\dir\"]", "'\\d' is not a JSON escape"},
      {"[\"\\u12\"]", "'\\u12\"]' is not a JSON escape"},
      {"[\"one\ntwo\"]", "a line break inside a string"},
      {"[\"one\ttwo\"]", "the control character 0x09"},
      {"{\"a\": \"b", "it ends inside a string"},
      {"{", "it ends inside an object"},
      {"[1", "it ends inside an array"},
      {"{\"a\": 1}{\"b\": 2}", "another value follows the first one"},
      {"{\"a\": 1}}", "text follows the value"},
      {"<think>\nyes</think>\n{}", "it begins with '<think>'"},
      {"not JSON", "it begins with 'not JSON'"},
      {"[\"caf\xE9 cr\xE8me\"]",
       "the byte 0xe9 is not UTF-8, and the text looks like LATIN1: convert the file (iconv -f"},
      {"[\"\xC4\xE3\xBA\xC3\"]", "the byte 0xc4 is not UTF-8, and the text looks like GB18030"},
      {"[\"\xCF\xF0\xE8\xE2\xE5\xF2\"]", "the byte 0xcf is not UTF-8: convert the file from its encoding (for example iconv -f WINDOWS-1251"},
      {"[\"déjà \xE9t\"]", "the byte 0xe9 is not UTF-8"},
  };
  for (const Case& one : cases) {
    const std::string message = message_of<DataError>([&] { parse_json(one.text, "x.json"); });
    EXPECT_THAT(message, testing::HasSubstr("x.json: not valid JSON at byte ")) << one.text;
    EXPECT_THAT(message, testing::HasSubstr(": " + one.cause)) << one.text;
  }
}

TEST(JsonFault, IsNamedForEveryBeginningOfAText) {
  const std::string text = "{\"a\": [1.5e3, \"\\ud83d\\ude00\\n\", true, {\"b\": null}], \"é\": -0}";
  for (std::size_t bytes = 0; bytes < text.size(); ++bytes)
    EXPECT_THAT(message_of<DataError>([&] { parse_json(text.substr(0, bytes), "x"); }),
                testing::HasSubstr("x: not valid"));
}

}  // namespace
}  // namespace troika::base
