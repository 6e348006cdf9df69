#include "checkpoint/gather.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/host_name.h"
#include "base/json.h"
#include "base/say.h"
#include "base/text.h"
#include "comm/collectives.h"
#include "records/incident.h"

namespace troika::checkpoint {

// The first byte of a gathered text tells how the rank fared; behind it is its result, or the incident of one that failed.
static constexpr char fine = '+', data_error = 'D', config_error = 'C', bug_error = 'B';

static std::string failed_outcome(char kind, const base::Text& words, base::Cause cause) {
  return kind + records::to_json(records::told(words, cause));
}

static records::Incident incident_in(const std::string& outcome) {
  return records::parse_incident(outcome.substr(std::min<std::size_t>(1, outcome.size())));
}

static std::string outcome_of(const std::function<std::string()>& work) {
  try {
    return fine + work();
  } catch (const base::DataError& error) {
    return failed_outcome(data_error, base::text_of(error), error.cause());
  } catch (const base::ConfigError& error) {
    return failed_outcome(config_error, base::text_of(error), error.cause());
  } catch (const std::exception& error) {
    return failed_outcome(bug_error, base::verbatim(error.what()), base::Cause::not_told);
  }
}

// The same fault on all ranks (a name that does not exist, say) needs no list of ranks.
static base::Text summary(const std::vector<std::string>& outcomes, const std::vector<std::size_t>& failed,
                          const std::vector<std::string>& hosts) {
  const std::size_t first = failed.front();
  const base::Text cause = incident_in(outcomes[first]).words;
  bool same = failed.size() == outcomes.size();
  for (const std::size_t rank : failed) same = same && outcomes[rank] == outcomes[first];
  if (same) return cause;
  const auto others = static_cast<std::int64_t>(failed.size()) - 1;
  if (others == 0) return base::say("rank {} on {}: {}", first, hosts[first], cause);
  return base::say("rank {} on {} (and {}): {}", first, hosts[first], base::counted_text(others, "more rank"), cause);
}

std::vector<std::string> gather(comm::Channel& world, const std::function<std::string()>& work) {
  std::vector<std::string> outcomes = comm::all_gather_text(world, outcome_of(work));
  std::vector<std::size_t> failed;
  for (std::size_t rank = 0; rank < outcomes.size(); ++rank)
    if (outcomes[rank].empty() || outcomes[rank][0] != fine) failed.push_back(rank);
  if (failed.empty()) {
    for (std::string& text : outcomes) text.erase(0, 1);
    return outcomes;
  }
  const base::Text text = summary(outcomes, failed, comm::all_gather_text(world, base::host_name()));
  const base::Cause cause = incident_in(outcomes[failed.front()]).cause;
  switch (outcomes[failed.front()].empty() ? bug_error : outcomes[failed.front()][0]) {
    case data_error:
      throw base::DataError(text, cause);
    case config_error:
      throw base::ConfigError(text, cause);
    default:
      throw base::BugError(text.english);
  }
}

nlohmann::json json_in(const std::string& result) {
  return base::parse_json(result, base::say("the result of a rank"));
}

bool any_rank(comm::Channel& world, const std::function<bool()>& question) {
  const auto answers = gather(world, [&] { return std::string(question() ? "yes" : ""); });
  return std::any_of(answers.begin(), answers.end(), [](const std::string& answer) { return !answer.empty(); });
}

std::int64_t most_of(comm::Channel& world, std::int64_t number) {
  for (const std::string& text : gather(world, [&] { return std::to_string(number); })) {
    std::int64_t other = 0;
    if (!base::parse_int(text, &other)) throw base::BugError("a rank told '" + text + "' for a number");
    number = std::max(number, other);
  }
  return number;
}

std::string result_of(const base::Text& words) { return words.empty() ? "" : records::to_json(records::told(words)); }

base::Text words_in(const std::string& result) {
  return result.empty() ? base::Text{} : records::parse_incident(result).words;
}

std::vector<base::Text> gather_words(comm::Channel& world, const std::function<base::Text()>& work) {
  std::vector<base::Text> all;
  for (const std::string& result : gather(world, [&] { return result_of(work()); }))
    if (!result.empty()) all.push_back(words_in(result));
  return all;
}

void agree(comm::Channel& world, const std::function<void()>& work) {
  gather(world, [&work] {
    work();
    return std::string();
  });
}

}  // namespace troika::checkpoint
