#include "train/timeline.h"

#include "base/file.h"
#include "comm/collectives.h"
#include "schedule/trace/trace_json.h"

namespace troika::train {

schedule::StepTrace write_timeline(const TimelinePlace& place, std::int64_t step, std::vector<schedule::Event> events,
                                   comm::Channel& world) {
  constexpr int rounds = 16;
  schedule::RankTrace trace;
  trace.step = step;
  trace.clock_offset_seconds = comm::clock_offset_seconds(world, rounds);
  trace.timeline = {place.grid_rank, place.world_rank, place.host, std::move(events)};
  trace.link = place.link;
  const std::string text = schedule::write_rank_trace(trace);
  base::make_directories(place.folder);
  base::write_file_atomic(place.folder + "/" + schedule::rank_trace_name(step, place.world_rank), text);

  const std::vector<std::string> all = comm::all_gather_text(world, text);
  if (world.rank() != 0) return {};
  const schedule::StepTrace merged = schedule::merge(all);
  base::write_file_atomic(place.folder + "/" + schedule::merged_trace_name(step), schedule::write_chrome(merged));
  return merged;
}

}  // namespace troika::train
