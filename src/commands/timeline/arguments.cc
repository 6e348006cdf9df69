#include "commands/timeline/arguments.h"

namespace troika::commands {

config::FlagTable timeline_flags(TimelineArguments& a) {
  config::FlagTable table("troika timeline");
  table.usage("RUN_DIR [--step N] [--grid] [--summary] [--merge]");
  table.word("RUN_DIR", a.run_dir, "The folder of a run that recorded steps, with --profile.").required();
  table.add("step", a.step, "The step to show.").range(0, 1e15).unset("the newest recorded one");
  table.add("grid", a.grid, "Only the grid: a row per rank, time from left to right.").alone();
  table.add("summary", a.summary, "Only the table: seconds and shares of compute, communication and bubble.").alone();
  table.add("merge", a.merge, "Merge the ranks' files again, although the merged file exists.").alone();
  table.paragraph(
      "In the grid: F forward, R forward again, B backward, I and W its two halves, each with the microbatch (and the\n"
      "stage where a rank has several); L load, P parameters gathered, G gradients reduced, A their totals to all "
      "ranks,\n"
      "T tied embedding, N norm, O optimizer state copied, S optimizer step, ~ waiting for data under way, . idle.\n"
      "In the table: communication is waiting for data that had been produced, bubble is all other standing still.");
  return table;
}

TimelineArguments parse_timeline_arguments(const std::vector<std::string>& words) {
  TimelineArguments a;
  const config::FlagTable table = timeline_flags(a);
  config::read_flags({&table}, words).finish();
  return a;
}

}  // namespace troika::commands
