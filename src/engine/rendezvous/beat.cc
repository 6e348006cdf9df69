#include "rendezvous/beat.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/text.h"

namespace troika::rendezvous {

// A folder may be named by anything.
static std::string one_line(std::string text) {
  std::replace(text.begin(), text.end(), '\n', ' ');
  return text;
}

std::string to_text(const Heartbeat& heartbeat) {
  const records::Place& place = heartbeat.place;
  const records::Pace& pace = heartbeat.pace;
  const Save& save = heartbeat.save;
  return fmt::format("{}\n{:g}\n{}\n{}\n{}\n{:.3f}\n{:.6g}\n{}\n{:g}\n{:.6g}\n{:.6g}\n{}\n{}\n{}\n{:.3f}\n{:.6g}\n{}",
                     heartbeat.count, heartbeat.limit_seconds, heartbeat.connection, place.step, word_of(place.at),
                     place.seconds, place.usual_seconds, place.waits_for, heartbeat.stand_limit_seconds, pace.seconds,
                     pace.work, pace.like, save.step, one_line(save.folder), save.seconds, save.usual_seconds,
                     save.awaited ? 1 : 0);
}

namespace {

// A number that is none, or not finite, leaves the default.
void read_seconds(const std::string& text, double* value) {
  double found = 0;
  if (base::parse_double(text, &found) && std::isfinite(found)) *value = found;
}

void read_number(const std::string& text, int* value) {
  std::int64_t found = 0;
  if (base::parse_int(text, &found)) *value = static_cast<int>(found);
}

}  // namespace

Heartbeat parse_heartbeat(const std::string& text) {
  Heartbeat heartbeat;
  const auto lines = base::split(text, '\n');
  if (lines.size() != 17) return heartbeat;
  base::parse_int(lines[0], &heartbeat.count);
  read_seconds(lines[1], &heartbeat.limit_seconds);
  base::parse_int(lines[2], &heartbeat.connection);
  base::parse_int(lines[3], &heartbeat.place.step);
  heartbeat.place.at = records::doing_of(lines[4]);
  read_seconds(lines[5], &heartbeat.place.seconds);
  read_seconds(lines[6], &heartbeat.place.usual_seconds);
  read_number(lines[7], &heartbeat.place.waits_for);
  read_seconds(lines[8], &heartbeat.stand_limit_seconds);
  read_seconds(lines[9], &heartbeat.pace.seconds);
  read_seconds(lines[10], &heartbeat.pace.work);
  read_number(lines[11], &heartbeat.pace.like);
  base::parse_int(lines[12], &heartbeat.save.step);
  heartbeat.save.folder = lines[13];
  read_seconds(lines[14], &heartbeat.save.seconds);
  read_seconds(lines[15], &heartbeat.save.usual_seconds);
  heartbeat.save.awaited = lines[16] == "1";
  return heartbeat;
}

}  // namespace troika::rendezvous
