#include "config/resolve.h"

#include <fmt/format.h>

#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/say.h"
#include "base/text.h"
#include "config/batch.h"
#include "config/checks.h"
#include "config/fields.h"
#include "config/lora.h"

namespace troika::config {
namespace {

void throw_if_any(const std::vector<base::Text>& errors) {
  if (!errors.empty()) throw base::ConfigError(base::lines(errors));
}

std::vector<base::Text> single_violations(const Settings& settings) {
  std::vector<base::Text> errors;
  for (const auto& field : fields()) {
    if (const auto wrong = violation(field, settings))
      errors.push_back(base::say("{} {}", field.key(), *wrong));
  }
  return errors;
}

}  // namespace

Resolved resolve(const Settings& settings, std::int64_t world_size) {
  if (world_size < 1) throw base::BugError(fmt::format("resolve was called for a world of {} processes", world_size));
  if (settings.parallel.layout == LayoutChoice::automatic) throw base::ConfigError(base::say("parallel.layout is auto, but only train chooses a layout: set one (--dp, --pp)"));
  throw_if_any(single_violations(settings));  // the arithmetic below counts on the bounds of the table
  Resolved resolved;
  resolved.settings = settings;
  Findings findings;
  const std::int64_t dp = resolved.settings.parallel.dp = solve_dp(settings.parallel, world_size, &findings);
  resolve_model(&resolved.settings, &findings);
  resolve_pipeline(&resolved.settings, &findings);
  check_layout(resolved.settings, &findings);
  check_freeze(resolved.settings, &findings);
  check_lora(resolved.settings, &findings);
  resolve_run(&resolved.settings, &findings);
  const std::vector<std::int64_t>& shares = settings.parallel.shares;
  resolved.batch = shares.empty() ? solve_open_batch(settings.batch, dp, &findings)
                                  : solve_batch_of_shares(settings.batch, shares, &findings);
  throw_if_any(findings.errors);
  resolved.batch_candidates = batch_candidates(settings.batch, resolved.batch, dp);
  resolved.settings.batch = pinned(resolved.batch);
  if (!shares.empty()) resolved.settings.batch.microbatches.reset();
  resolved.settings.batch.find_micro_batch_size = settings.batch.find_micro_batch_size;
  resolved.notes = std::move(findings.notes);
  return resolved;
}

base::Text describe_batch(const Resolved& resolved) {
  const Batch& b = resolved.batch;
  const std::vector<std::int64_t>& shares = resolved.settings.parallel.shares;
  if (!shares.empty()) {
    return base::say("global {} = micro {} x {} microbatches in shares of {} ({} positions per step at seq_len {})", b.global,
                     b.micro, b.microbatches, fmt::join(shares, ", "), b.tokens_per_step(), b.seq_len);
  }
  if (b.tokens_per_microbatch > 0) {
    return base::say("global {} in microbatches of {} tokens over dp {} (at most {} positions per step at seq_len {})", b.global, b.tokens_per_microbatch,
                     resolved.settings.parallel.dp, b.tokens_per_step(), b.seq_len);
  }
  if (!b.is_even()) {
    return base::say("global {0} in microbatches of {1}, at most {2} for each rank of dp {3} ({4} positions per step at seq_len {5})", b.global, b.micro,
                     b.microbatches_per_rank, resolved.settings.parallel.dp, b.tokens_per_step(), b.seq_len);
  }
  return base::say("global {} = micro {} x {} x dp {} ({} positions per step at seq_len {})", b.global, b.micro,
                   base::counted_text(b.microbatches_per_rank, "microbatch", "microbatches"),
                   resolved.settings.parallel.dp, b.tokens_per_step(), b.seq_len);
}

namespace {

using Range = std::pair<std::int64_t, std::int64_t>;

// First and last of "3" or "5-7".
std::optional<Range> parse_range(const std::string& part) {
  const auto dash = part.find('-');
  Range range;
  if (!base::parse_int(base::trim(part.substr(0, dash)), &range.first) || range.first < 0) return std::nullopt;
  range.second = range.first;
  if (dash != std::string::npos && !base::parse_int(base::trim(part.substr(dash + 1)), &range.second))
    return std::nullopt;
  return range.second < range.first ? std::nullopt : std::optional<Range>(range);
}

std::optional<std::vector<Range>> parse_profile(const std::string& profile) {
  if (profile == "all") return std::vector<Range>{{0, std::numeric_limits<std::int64_t>::max()}};
  std::vector<Range> ranges;
  for (const auto& part : base::split(profile, ',')) {
    const auto range = parse_range(part);
    if (!range) return std::nullopt;
    ranges.push_back(*range);
  }
  return ranges;
}

}  // namespace

bool is_profile(const std::string& profile) { return parse_profile(profile).has_value(); }

bool is_profiled(const std::string& profile, std::int64_t step) {
  const auto ranges = parse_profile(profile);
  if (!ranges) return false;
  for (const auto& [first, last] : *ranges) {
    if (first <= step && step <= last) return true;
  }
  return false;
}

}  // namespace troika::config
