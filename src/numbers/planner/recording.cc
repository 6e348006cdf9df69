#include "planner/recording.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <set>
#include <tuple>
#include <utility>

#include "base/error.h"
#include "base/file.h"
#include "base/run_files.h"
#include "base/say.h"
#include "base/text.h"
#include "config/config.h"
#include "planner/refusal_texts.h"
#include "planner/what_if_texts.h"
#include "schedule/trace/trace_folder.h"

namespace troika::planner {
namespace {

using schedule::Instruction;
using schedule::StepTrace;

// NAME-9.ending before NAME.ending: the newest attempt first.
std::vector<std::string> attempts(const std::string& run, const std::string& name, const std::string& ending) {
  std::vector<std::string> paths;
  std::string path = fmt::format("{}/{}{}", run, name, ending);
  for (int attempt = 2; base::file_exists(path); ++attempt) {
    paths.insert(paths.begin(), path);
    path = fmt::format("{}/{}-{}{}", run, name, attempt, ending);
  }
  if (paths.empty()) throw base::DataError(base::say(refusal_texts.no_file_of_rank_0, run, name, ending));
  return paths;
}

bool by_kind_and_place(const Instruction& a, const Instruction& b) {
  return std::tie(a.kind, a.microbatch, a.stage, a.segment) < std::tie(b.kind, b.microbatch, b.stage, b.segment);
}

// What happened is what the program says: no other instruction on any rank, and each that computes.
bool ran(const schedule::Program& program, const StepTrace& trace) {
  std::vector<bool> seen(program.ranks.size());
  for (const schedule::RankTimeline& timeline : trace.ranks) {
    const auto rank = static_cast<std::size_t>(timeline.grid_rank);
    if (rank >= program.ranks.size()) return false;
    seen[rank] = true;
    const auto& of_rank = program.ranks[rank];
    std::set<Instruction, decltype(&by_kind_and_place)> named(&by_kind_and_place), planned(&by_kind_and_place);
    for (const schedule::Event& event : timeline.events) named.insert(event.instruction);
    planned.insert(of_rank.begin(), of_rank.end());
    if (!std::includes(planned.begin(), planned.end(), named.begin(), named.end(), &by_kind_and_place)) return false;
    for (const Instruction& i : of_rank) {
      if (schedule::is_computation(i.kind) && named.count(i) == 0) return false;
    }
  }
  return std::find(seen.begin(), seen.end(), false) == seen.end();
}

// A step whose gradients were out of range, or that was audited, runs its program again.
bool ran_once(const StepTrace& trace) {
  for (const schedule::RankTimeline& timeline : trace.ranks) {
    bool behind_norm = false;
    for (const schedule::Event& event : timeline.events) {
      if (event.activity == schedule::Event::Activity::transfer) continue;
      behind_norm = behind_norm || event.instruction.kind == schedule::Kind::norm;
      if (behind_norm && schedule::is_computation(event.instruction.kind)) return false;
    }
  }
  return true;
}

void refuse_holes(const std::string& run, const StepTrace& trace) {
  std::size_t events = 0;
  std::set<int> ranks;
  for (const schedule::RankTimeline& timeline : trace.ranks) {
    events += timeline.events.size();
    ranks.insert(timeline.world_rank);
  }
  if (events == 0) throw base::DataError(base::say(refusal_texts.no_event, run, trace.step));
  for (int rank = 0; rank <= *ranks.rbegin(); ++rank) {
    if (ranks.count(rank) != 0) continue;
    throw base::DataError(base::say(refusal_texts.no_rank, run, trace.step, rank));
  }
}

std::vector<StepTrace> read_steps(const std::string& run) {
  if (!base::directory_exists(run)) throw base::ConfigError(base::say(refusal_texts.no_run, run));
  const std::string folder = run + "/timeline";
  const auto files = schedule::list_traces(folder);
  if (files.empty()) {
    throw base::ConfigError(base::say(refusal_texts.no_step, run));
  }
  std::vector<StepTrace> steps;
  for (const auto& [step, of_step] : files) {
    steps.push_back(schedule::load_trace(folder, step, of_step, schedule::MergedFile::use_if_present).trace);
    refuse_holes(run, steps.back());
  }
  return steps;
}

plan::DataFacts facts_of(const config::Settings& settings, const schedule::Program& program) {
  plan::DataFacts facts;
  facts.vocab = settings.model.vocab;
  facts.samples = 1;  // the number of steps is settled
  if (program.all_load) facts.documents = shape::Documents::apart;
  return facts;
}

// The plan of these settings with this program; none when they do not fit together.
std::optional<plan::Plan> plan_of(const std::string& settings_path, const std::string& program_path,
                                  const schedule::Program& program, std::int64_t world, base::Text* why) {
  try {
    config::Settings settings = config::settings_from_yaml(
        base::read_regular_file(settings_path, base::most_settings_bytes), settings_path);
    const std::string stated = std::exchange(settings.parallel.schedule_file, program_path);
    settings.batch.find_micro_batch_size = false;
    plan::Plan plan = plan::make_plan(config::resolve(settings, world), facts_of(settings, program));
    plan.resolved.settings.parallel.schedule_file = stated;
    return plan;
  } catch (const base::ConfigError& error) {
    *why = base::text_of(error);
  } catch (const base::DataError& error) {
    *why = base::text_of(error);
  }
  return std::nullopt;
}

plan::Plan find_plan(const std::string& run, const StepTrace& newest) {
  const auto world = static_cast<std::int64_t>(newest.ranks.size());
  base::Text why = base::say(refusal_texts.no_program, newest.step);
  for (const std::string& program_path : attempts(run, "program", ".txt")) {
    schedule::Program program;
    try {
      program = schedule::parse_program(base::read_regular_file(program_path, base::most_program_bytes));
    } catch (const base::ConfigError& error) {
      throw base::DataError(base::say(refusal_texts.of_file, program_path, base::text_of(error)));
    }
    if (program.evaluates() || !ran(program, newest)) continue;
    for (const std::string& settings_path : attempts(run, "config", ".yaml")) {
      auto plan = plan_of(settings_path, program_path, program, world, &why);
      if (plan) return std::move(*plan);
    }
  }
  throw base::DataError(base::say(refusal_texts.no_replay, run, why));
}

void take_usable(std::vector<StepTrace> steps, Recording* recording) {
  std::vector<std::string> other_program, several_runs;
  for (StepTrace& step : steps) {
    if (!ran(recording->plan.program, step)) {
      other_program.push_back(std::to_string(step.step));
    } else if (!ran_once(step)) {
      several_runs.push_back(std::to_string(step.step));
    } else {
      recording->steps.push_back(std::move(step));
    }
  }
  const auto note = [&](const std::vector<std::string>& left_out, const base::Bilingual& why) {
    if (!left_out.empty())
      recording->notes.push_back(base::say(what_if_texts.left_out,
                                           base::in_english_only(left_out.size() == 1 ? "" : "s"),
                                           base::join(left_out, ", "), base::say(why)));
  };
  note(other_program, what_if_texts.other_program);
  note(several_runs, what_if_texts.ran_again);
  auto& usable = recording->steps;
  if (usable.size() > 1 && usable.front().step == 1) {
    usable.erase(usable.begin());
    note({"1"}, what_if_texts.first_step);
  }
}

void name_hosts(Recording* recording) {
  recording->host_of_rank.assign(recording->plan.program.ranks.size(), 0);
  for (const schedule::RankTimeline& timeline : recording->steps.back().ranks) {
    auto& hosts = recording->hosts;
    const auto at = std::find(hosts.begin(), hosts.end(), timeline.host);
    recording->host_of_rank[static_cast<std::size_t>(timeline.grid_rank)] = static_cast<int>(at - hosts.begin());
    if (at == hosts.end()) hosts.push_back(timeline.host);
  }
}

}  // namespace

int Recording::ranks_on(int host) const {
  return static_cast<int>(std::count(host_of_rank.begin(), host_of_rank.end(), host));
}

Recording read_recording(const std::string& run) {
  std::vector<StepTrace> steps = read_steps(run);
  Recording recording;
  recording.plan = find_plan(run, steps.back());
  take_usable(std::move(steps), &recording);
  if (recording.steps.empty()) throw base::ConfigError(base::say(refusal_texts.several_times, run));
  name_hosts(&recording);
  return recording;
}

}  // namespace troika::planner
