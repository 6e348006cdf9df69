#include "commands/of_runs.h"

#include "base/error.h"
#include "base/file.h"
#include "base/say.h"
#include "base/text.h"
#include "schedule/trace/summary.h"
#include "schedule/trace/trace_json.h"

namespace troika::commands {
namespace {

struct TimelineArguments {
  std::string run_dir;
  std::optional<std::int64_t> step;  // unset: the newest
  bool grid = false;
  bool summary = false;
  bool merge = false;
};

config::FlagTable declare_timeline(TimelineArguments& a) {
  config::FlagTable table("troika timeline");
  table.usage("RUN_DIR [--step N] [--grid] [--summary] [--merge]");
  table.word("RUN_DIR", a.run_dir, "The folder of a run that recorded steps, with --profile.").required();
  table.add("step", a.step, "The step to show.").range(0, 1e15).unset("the last recorded step");
  table.add("grid", a.grid, "Only the grid: a row per rank, time from left to right.").alone();
  table.add("summary", a.summary, "Only the table: seconds and shares of compute, communication and bubble.").alone();
  table.add("merge", a.merge, "Merge the ranks' files again, even if the merged file exists.").alone();
  table.paragraph(
      "In the grid: F forward, R recomputation, B backward, I and W its two halves, each with the microbatch (and the\nstage if a rank has several); L load, P parameters gathered, G gradients reduced, A their totals to all ranks,\nT tied embedding, N norm, O optimizer state copied, S optimizer step, ~ waiting for data in transit, . idle.\nIn the table: communication is waiting for data already produced, bubble is all other idle time.");
  return table;
}

}  // namespace

static constexpr auto grid_legend = base::Phrase("(F forward, B backward, ~ waiting for data in transit, . idle)\n");

static std::int64_t choose_step(const TimelineArguments& arguments, const std::string& folder,
                                const std::map<std::int64_t, schedule::StepFiles>& steps) {
  if (steps.empty()) {
    throw base::ConfigError(
        base::say("{} has no recorded steps; record some with --profile, such as --profile 3", folder));
  }
  if (!arguments.step) return steps.rbegin()->first;
  if (steps.count(*arguments.step) != 0) return *arguments.step;
  std::vector<std::string> recorded;
  for (const auto& [step, files] : steps) recorded.push_back(std::to_string(step));
  throw base::ConfigError(
      base::say("step {} was not recorded; recorded: {}", *arguments.step, base::join(recorded, ", ")));
}

std::string timeline_report(const std::vector<std::string>& words, base::Language language) {
  const TimelineArguments arguments = read_arguments(words, declare_timeline);
  if (!base::directory_exists(arguments.run_dir)) {
    throw base::ConfigError(base::say("there is no run folder {}", arguments.run_dir));
  }
  const std::string folder = arguments.run_dir + "/timeline";
  const auto steps = schedule::list_traces(folder);
  const std::int64_t step = choose_step(arguments, folder, steps);
  const auto merged_file = arguments.merge ? schedule::MergedFile::write_again : schedule::MergedFile::use_if_present;
  const schedule::FoundTrace found = schedule::load_trace(folder, step, steps.at(step), merged_file);

  const bool both = !arguments.grid && !arguments.summary;
  std::string text = base::say("step {} of {}\n", step, arguments.run_dir).in(language);
  if (both || arguments.grid) text += "\n" + schedule::grid(found.trace, 160, language).append(grid_legend.in(language));
  if (both || arguments.summary) text += "\n" + schedule::to_text(schedule::summarize(found.trace), language);
  text += "\n";
  for (const base::Text& note : found.notes) text += base::say("note: {}\n", note).in(language);
  return text + base::say("timeline: {}\nOpen it at ui.perfetto.dev or in chrome://tracing.\n", found.merged_path)
                    .in(language);
}

config::FlagTable timeline_flags() { return unbound<TimelineArguments, declare_timeline>(); }

}  // namespace troika::commands
