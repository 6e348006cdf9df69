#include "train/choose_layout.h"

#include <fmt/format.h>

#include "base/error.h"
#include "base/say.h"
#include "planner/open_layout.h"
#include "train/measure_link.h"

namespace troika::train {
namespace {

std::string choose(const RankContext& context, const planner::Fixed& open_layout, const planner::RunMachines& machines,
                   std::int64_t vocab) {
  if (!machines.why_none.empty())
    throw base::ConfigError(base::say(
        "parallel.layout auto needs to know the machines: {}; state a layout (--dp, --pp) instead", machines.why_none));
  planner::Question question = planner::open_question(context.resolved, open_layout, machines);
  if (question.settings.model.vocab == 0) question.settings.model.vocab = vocab;
  const planner::Choice choice = planner::choose(question);
  for (const base::Text& reason : choice.reasons) say(context, reason);
  return planner::to_text(choice.layout);
}

}  // namespace

config::Resolved with_chosen_layout(Session& session, const RankContext& context, const planner::Fixed& open_layout,
                                    const MachineHere& here, const plan::DataFacts& facts) {
  session.at(0, records::Activity::choosing_layout);
  session.connect_world();
  comm::Channel& world = *session.channels().world;
  const schedule::Link link = world.size() > 1 ? measure_link(world) : schedule::Link{};
  const config::Settings& settings = context.resolved.settings;
  const planner::RunMachines machines = gather_machines(world, here, settings.model, link);
  const std::string layout = session.collectives().broadcast_text(
      "layout", [&] { return choose(context, open_layout, machines, facts.vocab); });
  return planner::with_choice(settings, planner::parse_layout(layout), world.size());
}

}  // namespace troika::train
