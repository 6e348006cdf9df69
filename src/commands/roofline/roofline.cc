#include "commands/roofline/roofline.h"

#include "base/error.h"
#include "base/say.h"
#include "commands/roofline/arguments.h"
#include "commands/roofline/roofline_table.h"
#include "config/resolve.h"
#include "data/vocabulary.h"
#include "plan/job.h"

namespace troika::commands {

std::string roofline_report(const Call& call) {
  const RooflineArguments a = parse_roofline(call.words, call.environment);
  const plan::DeviceRates rates = rates_of(a);
  config::Resolved resolved = config::resolve(a.parsed.settings, 1);
  if (resolved.settings.precision.compute == config::Precision::fp32)
    throw base::ConfigError(
        base::say("precision.compute is fp32, but bench roofline counts halves, as rates of devices are of halves: "
        "--precision.compute bf16"));
  resolved.settings.model.vocab = data::vocabulary_of(resolved.settings);
  return roofline_table(resolved, rates, call.language);
}

}  // namespace troika::commands
