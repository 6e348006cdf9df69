// A run that leaves its layout open (parallel.layout auto): what is known of it before, and the choice; and what a launcher can say of
// a run before it starts a rank and before any data is prepared.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "config/resolve.h"
#include "planner/machines.h"
#include "planner/search.h"

namespace troika::planner {

// The settings that the choice keeps: those of the layout that the command line states, and those that results depend on: the
// precision, and the micro batch where the settings state one.
Fixed kept_by_choice(const std::vector<std::string>& stated, const config::Settings& settings);

// Resolves the settings in their own layout, else in the shallowest pipeline that they allow: for results that are alike in every
// layout, such as the batch. ConfigError in the words of config::resolve where there is no layout.
config::Resolved resolve_somehow(const config::Settings& settings, const Fixed& fixed, std::int64_t world);

// The same of a run; ConfigError also for settings that only go with a stated layout.
config::Resolved resolve_open(const config::Settings& settings, const Fixed& fixed, std::int64_t world);

// The question that the run asks.
Question open_question(const config::Resolved& open, const Fixed& fixed, const RunMachines& machines);

struct Choice {
  Layout layout;
  std::vector<base::Text> reasons;  // lines for the screen
};
// ConfigError when nothing fits: what would.
Choice choose(const Question& question);

// The layout as it goes from the rank that chose to the others.
std::string to_text(const Layout& layout);
Layout parse_layout(const std::string& text);

// The settings in the layout that was chosen.
config::Resolved with_choice(const config::Settings& settings, const Layout& layout, std::int64_t world);

// The ranks that a launcher starts on its host: [first_rank, first_rank + count) of the world.
struct HostRanks {
  int first_rank = 0, count = 1;
  std::int64_t available_bytes = 0;  // free memory of the host
  int hosts = 1;                     // of the run, each with so many ranks
};

// The lengths of samples before the data are open: each is full, or of any length from one token on, so that only what does not
// depend on them is counted.
enum class SampleLength { full, unknown };

// Makes the plan with what is known without the data and compares the memory of these ranks with their shares. ConfigError
// with the nearest layout that fits, on hosts like this one, or in the words of the ranks where none does; they would find the
// same later. DataError for a schedule file that is wrong. Nothing where the memory cannot be known yet: no
// `vocabulary`, which only the data tell, stages that are cut by measured seconds. For ranks that compute on the processor.
void check_before_start(const config::Resolved& resolved, const HostRanks& ranks, std::optional<std::int64_t> vocabulary,
                        SampleLength length = SampleLength::full);

// The same of a run whose layout is to be chosen: whether any fits. `open`: resolve_open's.
void check_before_choice(const config::Resolved& open, const Fixed& fixed, const HostRanks& ranks,
                         std::optional<std::int64_t> vocabulary, SampleLength length = SampleLength::full);

// The layout that fits with the fewest changes to the one asked for, the fastest of those: another micro batch, or
// recomputation, or ZeRO, or dp x pp; then several of them. Nothing where none does. Precision, tp and cp stay.
std::optional<Estimate> nearest_that_fits(Question question, const Layout& asked);

// "--micro-batch-size 2 --recompute full": the flags by which they differ.
std::string flags_to(const Layout& other, const Layout& from);

}  // namespace troika::planner
