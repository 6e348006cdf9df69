#include "inference/stop_text.h"

#include <gtest/gtest.h>

#include "base/error.h"

namespace troika::inference {
namespace {

// The text that comes out when `text` goes in `step` bytes at a time.
std::string through(const std::vector<std::string>& stops, const std::string& text, std::size_t step, bool* found) {
  StopText stop(stops);
  std::string out;
  for (std::size_t i = 0; i < text.size(); i += step) out += stop.add(text.substr(i, step));
  *found = stop.found();
  return out + stop.rest();
}

void expect_text(const std::vector<std::string>& stops, const std::string& text, const std::string& want) {
  for (std::size_t step = 1; step <= text.size(); ++step) {
    bool found = false;
    EXPECT_EQ(through(stops, text, step, &found), want) << step;
    EXPECT_EQ(found, want.size() < text.size());
  }
}

TEST(StopText, EndsTheTextBeforeTheStopHoweverItArrives) {
  expect_text({"END"}, "one ENtwo ENDthree END", "one ENtwo ");
  expect_text({"\n\n"}, "a\nb\n\nc", "a\nb");
  expect_text({"aab"}, "aaaab", "aa");
  expect_text({"x"}, "xyz", "");
}

TEST(StopText, TheFirstOfSeveralStopsCounts) {
  expect_text({"three", "two"}, "one two three", "one ");
  expect_text({"abcd", "bc"}, "abce", "a");
}

TEST(StopText, WithoutAStopNothingIsLost) {
  expect_text({"END"}, "text EN", "text EN");
  expect_text({}, "text", "text");
}

TEST(StopText, HoldsBackOnlyWhatMayBecomeAStop) {
  StopText stop({"END", "\nQ:"});
  EXPECT_EQ(stop.add("abc"), "abc");
  EXPECT_EQ(stop.add("d\n"), "d");
  EXPECT_EQ(stop.add("Q"), "");
  EXPECT_EQ(stop.add("E"), "\nQ");
  EXPECT_EQ(stop.add("N!"), "EN!");
}

TEST(StopText, RefusesAnEmptyStop) { EXPECT_THROW(StopText({"a", ""}), base::ConfigError); }

}  // namespace
}  // namespace troika::inference
