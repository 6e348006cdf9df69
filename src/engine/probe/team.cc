#include "probe/team.h"

#include <fmt/format.h>

#include "base/error.h"
#include "base/text.h"
#include "host/process.h"

namespace troika::probe {

static double number_said(const std::string& line) {
  double number = 0;
  if (!base::parse_double(line, &number))
    throw base::BugError(fmt::format("a process that measures said '{}' for a number", base::printable(line, 100)));
  return number;
}

Team::Team(const std::vector<Membership>& members, const std::map<std::string, std::string>& environment) {
  for (const Membership& member : members) {
    auto variables = environment_of_nobody(environment);
    variables["OMP_NUM_THREADS"] = std::to_string(member.threads);
    std::vector<std::string> words{host::own_program(), "probe"};
    for (const std::string& word : words_of(member)) words.push_back(word);
    members_.push_back(std::make_unique<Child>(words, variables));
  }
  for (const auto& member : members_) {
    const auto bytes = static_cast<std::int64_t>(number_said(member->hear()));
    if (resident_bytes_ == 0) resident_bytes_ = bytes;
  }
}

double Team::time(std::size_t number, double seconds) {
  for (const auto& member : members_) member->say(fmt::format("prepare {}", number));
  for (const auto& member : members_) member->hear();
  for (const auto& member : members_) member->say(fmt::format("run {:.6f}", seconds));
  double sum = 0;
  for (const auto& member : members_) sum += number_said(member->hear());
  return sum / static_cast<double>(members_.size());
}

}  // namespace troika::probe
