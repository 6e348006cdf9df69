// A run that leaves its layout open (parallel.layout auto): what is known of it before, and the choice.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "config/resolve.h"
#include "planner/machines.h"
#include "planner/search.h"

namespace troika::planner {

// What the choice keeps: what the command line states of the layout, and what results depend on, the precision and the micro batch
// where the settings state one.
Fixed kept_by_choice(const std::vector<std::string>& stated, const config::Settings& settings);

// What the settings come to in their own layout, else in the shallowest pipeline that they allow: for what is alike in every
// layout, as the batch is. ConfigError in the words of config::resolve where there is none.
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

}  // namespace troika::planner
