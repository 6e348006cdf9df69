#include "records/place.h"

#include <array>
#include <string_view>
#include <tuple>
#include <utility>

#include "base/units.h"
#include "base/say.h"
#include "records/incident.h"

namespace troika::records {
namespace {

using NamedActivity = std::pair<Activity, base::Phrase>;

// The English word is the form in records.
constexpr std::array<NamedActivity, 18> activities = {
    {{Activity::nothing, base::Phrase("no message yet")},
     {Activity::fitting_microbatch, base::Phrase("finding the largest microbatch that fits")},
     {Activity::preparing_data, base::Phrase("preparing the data")},
     {Activity::agreeing, base::Phrase("agreeing on settings")},
     {Activity::choosing_layout, base::Phrase("choosing the layout")},
     {Activity::measuring_segments, base::Phrase("measuring the segments")},
     {Activity::measuring_products, base::Phrase("measuring matrix products")},
     {Activity::warming_device, base::Phrase("warming up the device")},
     {Activity::connecting, base::Phrase("connecting")},
     {Activity::measuring_link, base::Phrase("measuring the link")},
     {Activity::opening_model, base::Phrase("opening the model")},
     {Activity::reading_weights, base::Phrase("reading the weights")},
     {Activity::loading_weights, base::Phrase("loading the weights")},
     {Activity::restoring, base::Phrase("restoring a checkpoint")},
     {Activity::reporting, base::Phrase("reporting the step")},
     {Activity::evaluating, base::Phrase("evaluating")},
     {Activity::saving, base::Phrase("saving a checkpoint")},
     {Activity::finishing_save, base::Phrase("finishing the last checkpoint")}}};

// Words that versions before wrote for some of them.
constexpr std::array<std::pair<std::string_view, Activity>, 4> words_of_before = {
    {{"finding the microbatch that fits", Activity::fitting_microbatch},
     {"measuring products", Activity::measuring_products},
     {"warming the device", Activity::warming_device},
     {"taking a checkpoint back", Activity::restoring}}};

constexpr base::Phrase in_milliseconds = base::Phrase("{} ms");
constexpr base::Phrase in_seconds = base::Phrase("{} s");
constexpr base::Phrase before_its_first_word = base::Phrase("before its first heartbeat");
constexpr base::Phrase step_and_place = base::Phrase("step {}, {}");
constexpr base::Phrase as_usual = base::Phrase(" (usually {})");
constexpr base::Phrase place_and_seconds = base::Phrase("{} for {}{}");

// As people say durations: "21 ms", "0.21 s", "12 s", "640 s".
base::Text spoken(double seconds) {
  if (seconds < 0.1) return base::say(in_milliseconds, base::format_digits(seconds * 1000, 2));
  return base::say(in_seconds, base::format_digits(seconds, 2));
}

base::Text text_of(const Doing& doing) {
  return {said(base::Language::english, doing), said(base::Language::chinese, doing)};
}

}  // namespace

bool is_saving(Activity activity) { return activity == Activity::saving || activity == Activity::finishing_save; }

Doing Doing::instruction_of(std::string text) {
  Doing doing(Activity::instruction);
  doing.instruction = std::move(text);
  return doing;
}

bool operator==(const Doing& a, const Doing& b) {
  return std::tie(a.activity, a.instruction) == std::tie(b.activity, b.instruction);
}

std::string word_of(const Doing& doing) {
  for (const auto& [activity, words] : activities)
    if (activity == doing.activity) return std::string(words.english());
  return doing.instruction;
}

Doing doing_of(const std::string& word) {
  for (const auto& [activity, words] : activities)
    if (words.english() == word) return activity;
  for (const auto& [words, activity] : words_of_before)
    if (words == word) return activity;
  return Doing::instruction_of(word);
}

std::string said(base::Language language, const Doing& doing) {
  for (const auto& [activity, words] : activities)
    if (activity == doing.activity) return std::string(words.in(language));
  return doing.instruction;
}

base::Text said(const Place& place) {
  if (place.step < 0) return base::say(before_its_first_word);
  return place.step == 0 ? text_of(place.at) : base::say(step_and_place, place.step, text_of(place.at));
}

base::Text usually(const Place& place) {
  if (place.usual_seconds <= 0) return {};
  return base::say(as_usual, spoken(place.usual_seconds));
}

base::Text said_with_seconds(const Place& place) {
  return base::say(place_and_seconds, said(place), spoken(place.seconds), usually(place));
}

}  // namespace troika::records
