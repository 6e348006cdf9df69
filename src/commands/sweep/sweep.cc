#include "commands/sweep/sweep.h"

#include <fmt/format.h>

#include <cstdio>

#include "base/error.h"
#include "base/file.h"
#include "base/text.h"
#include "base/units.h"
#include "commands/data/shown_progress.h"
#include "commands/plan/arguments.h"
#include "commands/shell_word.h"
#include "commands/sweep/arguments.h"
#include "commands/sweep/layout_runs.h"
#include "commands/sweep/page.h"
#include "commands/sweep/plots.h"
#include "commands/sweep/report.h"
#include "config/command_line.h"
#include "data/opened_samples.h"
#include "machine/cluster_file.h"
#include "planner/reasons.h"
#include "planner/search.h"
#include "planner/this_machine.h"

namespace troika::commands {
namespace {

// The words but --steps and --out, which are the sweep's own here.
Words words_of_training(const Words& words) {
  config::SettingsReading scratch;
  const config::FlagTable settings = config::settings_table(scratch);
  const auto is_of_sweep = [&](const std::string& word) {
    if (word.rfind("--", 0) != 0) return false;
    const config::FlagRow* row = settings.find(word.substr(2, word.find('=') - 2));
    return row != nullptr && (row->flag->key() == "train.steps" || row->flag->key() == "train.out");
  };
  Words kept;
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (!is_of_sweep(words[i]))
      kept.push_back(words[i]);
    else if (words[i].find('=') == std::string::npos)
      ++i;
  }
  return kept;
}

// As `troika plan` asks it, on one host.
planner::Question sweep_question(const SweepArguments& a, const config::Settings& settings,
                                 const config::Environment& environment) {
  PlanArguments asked;
  asked.cluster = a.cluster;
  asked.parsed = a.parsed;
  asked.parsed.settings = settings;
  const machine::Cluster cluster = a.cluster.empty() ? planner::this_machine(planner::machine_file(environment)).cluster
                                                     : machine::read_cluster(a.cluster);
  if (cluster.host_count() > 1)
    throw base::ConfigError(fmt::format("--cluster {} has {} hosts, but a sweep runs on this one: leave the others out",
                                        a.cluster, cluster.host_count()));
  if (cluster.hosts.front().computes_on_cores()) asked.nproc = a.nproc;
  planner::Question question = question_of(asked, environment);
  if (question.world < a.nproc)
    throw base::ConfigError(fmt::format("--nproc is {}, but the cluster has {} devices", a.nproc, question.world));
  question.world = static_cast<int>(a.nproc);
  question.top = static_cast<int>(a.best.value_or(1));
  return question;
}

std::vector<planner::Estimate> layouts_to_run(const SweepArguments& a, const planner::Question& question) {
  if (!a.best) {
    if (auto all = planner::every_layout_that_fits(question); !all.empty()) return all;
  }
  const planner::Answer answer = planner::search(question);
  if (answer.best.empty()) throw base::ConfigError(planner::nothing_fits(question, answer));
  return answer.best;
}

// Once, so that no layout's time has it in it.
void prepare_data(const config::Settings& settings) {
  const config::DataSettings& data = settings.data;
  if (data.train.empty()) throw base::ConfigError("data.train is not set; name what to train on with --data.train");
  const auto tokenizer = tokenizer::open_tokenizer(data.tokenizer);
  data::open_samples({data.train, data.cache, settings.batch.seq_len, settings.model.vocab, data::Reading::training,
                      settings.train.seed},
                     data, *tokenizer, shown_progress("tokenizing", stderr));
}

// What comes of the rows: files for people, and the words at the end.
class SweepEnd {
 public:
  SweepEnd(const SweepPlan& plan, const SweepOutcome& outcome, const planner::Question& question)
      : plan_(plan), outcome_(outcome), question_(question), best_(best_first(outcome.rows)) {}

  bool measured() const { return !best_.empty() && best_.front().measured; }

  void write(const config::Settings& training, Signals& signals) const {
    const std::string command = measured() ? keep_best(training) : "";
    const SweepPlots plots = draw_plots(plan_.folder, outcome_.rows, step_of(plan_), plan_.environment, signals);
    base::write_file_atomic(plan_.folder + "/sweep.html", to_html(page(training, command, plots), outcome_.rows));
    print(sweep_table(outcome_.rows) + "\n" + conclusion() + "\n");
    if (!command.empty()) print("train it: " + command + "\n");
    if (!plots.note.empty()) print(plots.note + "\n");
    print(fmt::format("written: {0}/summary.csv, {0}/sweep.html{1}\n", plan_.folder,
                      plots.svgs.empty() ? "" : fmt::format(", {}/plots", plan_.folder)));
  }

 private:
  static void print(const std::string& text) { std::fputs(text.c_str(), stdout); }

  std::string conclusion() const { return sweep_conclusion(outcome_.rows, plan_.estimates.front().layout); }

  std::string keep_best(const config::Settings& training) const {
    const std::string path = plan_.folder + "/best.yaml";
    base::write_file_atomic(path, config::to_yaml(planner::with_layout(training, best_.front().layout)));
    return fmt::format("troika launch --nproc-per-node {} -- train {}", plan_.nproc, shell_word(path));
  }

  SweepPage page(const config::Settings& training, const std::string& command, const SweepPlots& plots) const {
    const SweepStep step = step_of(plan_);
    SweepPage page;
    page.title = fmt::format("Sweep of {} on {} processes",
                             training.model.path.empty() ? training.model.preset : training.model.path, plan_.nproc);
    page.conclusion = conclusion();
    page.command = command;
    page.facts = {{"processes", std::to_string(plan_.nproc)},
                  {"machine", planner::describe(question_)},
                  {"rates of the plan", planner::sources_of(question_.cluster)},
                  {"step", fmt::format("{} samples, {} tokens", step.samples, step.tokens)},
                  {"steps of a layout", std::to_string(step.steps)},
                  {"layouts", std::to_string(outcome_.rows.size())},
                  {"data", training.data.train}};
    page.svgs = plots.svgs;
    page.note = plots.note;
    page.settings = config::to_yaml(training);
    return page;
  }

  const SweepPlan& plan_;
  const SweepOutcome& outcome_;
  const planner::Question& question_;
  const SweepRows best_;
};

int sweep(const SweepPlan& plan, const planner::Question& question, const config::Settings& training) {
  Signals signals;
  SweepOutcome outcome;
  {
    SweepProgress progress(stderr, metrics::progress_style(training.log.progress, stderr), plan.estimates.size());
    outcome = run_layouts(plan, signals, progress);
  }
  const SweepEnd end(plan, outcome, question);
  end.write(training, signals);
  if (outcome.interrupted) return base::exit_interrupted;
  return end.measured() ? 0 : 75;
}

}  // namespace

int run_sweep(const Call& call) {
  SweepArguments a = parse_sweep(call.words, call.environment);
  for (const std::string& note : a.parsed.notes) std::fprintf(stderr, "%s\n", note.c_str());
  SweepPlan plan;
  plan.settings = measuring_settings(a.parsed.settings, a.steps(), a.folder());
  const planner::Question question = sweep_question(a, plan.settings, call.environment);
  plan.estimates = layouts_to_run(a, question);
  plan.nproc = a.nproc;
  plan.folder = a.folder();
  plan.deadline_seconds = a.deadline_seconds;
  plan.environment = call.environment;
  plan.program = a.program;
  if (a.dry_run) {
    std::fputs(dry_run_table(plan.estimates, step_of(plan)).c_str(), stdout);
    return 0;
  }
  constexpr std::size_t many = 50;
  std::fprintf(stderr, "%s%s\n", sweep_size(plan.estimates, step_of(plan)).c_str(),
               plan.estimates.size() > many ? "; --best 20 runs the 20 that the plan finds fastest" : "");
  prepare_data(plan.settings);
  const SweepArguments training = parse_sweep(words_of_training(call.words), call.environment);
  return sweep(plan, question, training.parsed.settings);
}

}  // namespace troika::commands
