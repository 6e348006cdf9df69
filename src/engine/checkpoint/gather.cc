#include "checkpoint/gather.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>

#include "base/cause.h"
#include "base/counted.h"
#include "base/error.h"
#include "base/host_name.h"
#include "comm/collectives.h"

namespace troika::checkpoint {

// The first byte of a gathered text tells how the rank fared, of one that failed the second the cause, counted from 1.
static constexpr char fine = '+', data_error = 'D', config_error = 'C', bug_error = 'B';

static std::string failed_outcome(char kind, const std::exception& error, base::Cause cause) {
  return std::string{kind, static_cast<char>(static_cast<int>(cause) + 1)} + error.what();
}

static base::Cause cause_in(const std::string& outcome) {
  return outcome.size() < 2 ? base::Cause::not_told : static_cast<base::Cause>(outcome[1] - 1);
}

static std::string outcome_of(const std::function<std::string()>& work) {
  try {
    return fine + work();
  } catch (const base::DataError& error) {
    return failed_outcome(data_error, error, error.cause());
  } catch (const base::ConfigError& error) {
    return failed_outcome(config_error, error, error.cause());
  } catch (const std::exception& error) {
    return failed_outcome(bug_error, error, base::Cause::not_told);
  }
}

// The same fault on all ranks (a name that does not exist, say) needs no list of ranks.
static std::string summary(const std::vector<std::string>& outcomes, const std::vector<std::size_t>& failed,
                           const std::vector<std::string>& hosts) {
  const std::size_t first = failed.front();
  const std::string cause = outcomes[first].substr(std::min<std::size_t>(2, outcomes[first].size()));
  bool same = failed.size() == outcomes.size();
  for (const std::size_t rank : failed) same = same && outcomes[rank] == outcomes[first];
  if (same) return cause;
  const std::string more =
      failed.size() == 1
          ? ""
          : fmt::format(" (and {})", base::counted(static_cast<std::int64_t>(failed.size()) - 1, "more rank"));
  return fmt::format("rank {} on {}{}: {}", first, hosts[first], more, cause);
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
  const std::string text = summary(outcomes, failed, comm::all_gather_text(world, base::host_name()));
  const base::Cause cause = cause_in(outcomes[failed.front()]);
  switch (outcomes[failed.front()].empty() ? bug_error : outcomes[failed.front()][0]) {
    case data_error:
      throw base::DataError(text, cause);
    case config_error:
      throw base::ConfigError(text, cause);
    default:
      throw base::BugError(text);
  }
}

void agree(comm::Channel& world, const std::function<void()>& work) {
  gather(world, [&work] {
    work();
    return std::string();
  });
}

}  // namespace troika::checkpoint
