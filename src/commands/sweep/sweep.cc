#include "commands/sweep/sweep.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <limits>

#include "base/error.h"
#include "base/file.h"
#include "base/say.h"
#include "base/terminal_text.h"
#include "commands/sweep/layout_run.h"
#include "config/command_line.h"
#include "host/subprocess.h"
#include "machine/cluster.h"
#include "planner/machines.h"
#include "planner/plan_arguments.h"
#include "planner/reasons.h"
#include "planner/search.h"
#include "tokenizer/tokenizer.h"
#include "sweep/report.h"

namespace troika::commands {

using rendezvous::FailureReport;

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

machine::Cluster cluster_of(const SweepArguments& a, const config::Environment& environment) {
  if (a.cluster.empty()) return planner::this_machine(planner::machine_file(environment)).cluster;
  machine::Cluster cluster = machine::read_cluster(a.cluster);
  if (cluster.host_count() != a.hosts.nnodes)
    throw base::ConfigError(
        base::say("--cluster {0} has {1}, but --nnodes is {2}: use the file that `troika launch --nnodes {2} ... -- "
                  "probe --out {0}` "
                  "writes, or --nnodes {3}",
                  a.cluster, base::counted_text(cluster.host_count(), "host"), a.hosts.nnodes, cluster.host_count()));
  return cluster;
}

// As `troika plan` asks it, with --nproc ranks on each host.
planner::Question sweep_question(const SweepArguments& a, const config::Settings& settings,
                                 const config::Environment& environment) {
  planner::PlanArguments asked;
  asked.cluster = a.cluster;
  asked.parsed = a.parsed;
  asked.parsed.settings = settings;
  const machine::Cluster cluster = cluster_of(a, environment);
  if (std::all_of(cluster.hosts.begin(), cluster.hosts.end(),
                  [](const machine::Host& host) { return host.computes_on_cores(); }))
    asked.nproc = a.nproc;
  planner::Question question = planner::question_of(asked, environment, tokenizer::vocabulary_of);
  question.ranks_per_host = static_cast<int>(a.nproc);
  question.world = static_cast<int>(a.nproc) * a.hosts.nnodes;
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

// The results of the rows: files for people, and the words at the end.
class SweepEnd {
 public:
  SweepEnd(const SweepPlan& plan, const SweepOutcome& outcome)
      : plan_(plan), outcome_(outcome), best_(sweep::best_first(outcome.rows)) {}

  bool measured() const { return !best_.empty() && best_.front().measured; }

  void write(const config::Settings& training, base::Language language) const {
    const std::string& folder = plan_.host.folder;
    const auto plots = sweep::sweep_plots(outcome_.rows, step_of(plan_));
    if (!plots.empty()) base::make_directories(folder + "/plots");
    for (const auto& [name, svg] : plots) base::write_file_atomic(fmt::format("{}/plots/{}.svg", folder, name), svg);
    print(base::verbatim(sweep::sweep_table(outcome_.rows, language) + "\n" +
                         sweep::sweep_conclusion(outcome_.rows, plan_.estimates.front().layout).in(language) + "\n"));
    if (measured()) print(base::say("train it: {}\n", keep_best(training)));
    if (const int nnodes = plan_.host.hosts.nnodes; measured() && nnodes > 1)
      print(base::say("(on every host, which needs a copy of that file; K is 0 to {})\n", nnodes - 1));
    print(plots.empty() ? base::say("written: {0}/summary.csv\n", folder)
                        : base::say("written: {0}/summary.csv, {0}/plots\n", folder));
  }

 private:
  void print(const base::Text& text) const { base::put(text.in(plan_.host.speaker.language), stdout); }

  std::string keep_best(const config::Settings& training) const {
    const std::string path = plan_.host.folder + "/best.yaml";
    base::write_file_atomic(path, config::to_yaml(planner::with_layout(training, best_.front().layout)));
    return fmt::format("troika launch {}--nproc-per-node {} -- train {}", host_words(), plan_.host.nproc,
                       host::shell_word(path));
  }

  std::string host_words() const {
    const launch::HostOptions& hosts = plan_.host.hosts;
    if (hosts.nnodes == 1) return "";
    return fmt::format(
        "--nnodes {} --node-rank K --master-addr {} --master-port {} {}", hosts.nnodes,
        host::shell_word(hosts.master_address), hosts.master_port,
        hosts.secret_file.empty() ? "" : fmt::format("--secret-file {} ", host::shell_word(hosts.secret_file)));
  }

  const SweepPlan& plan_;
  const SweepOutcome& outcome_;
  const sweep::SweepRows best_;
};

// The end of the sweep for all hosts.
FailureReport end_of(const SweepOutcome& outcome) {
  if (outcome.end.exit_code != 0) return outcome.end;
  const bool measured = std::any_of(outcome.rows.begin(), outcome.rows.end(),
                                    [](const sweep::SweepRow& row) { return row.measured.has_value(); });
  return measured ? FailureReport{0, base::say("the sweep is complete")}
                  : FailureReport{base::exit_peer_lost, base::say("no layout was measured")};
}

int lead(const SweepPlan& plan, const config::Settings& training, host::Signals& signals, base::Language language) {
  SweepRounds rounds(plan.host, signals);
  SweepOutcome outcome;
  try {
    sweep::SweepProgress progress(stderr, metrics::progress_style(training.log.progress, stderr),
                                  plan.estimates.size(), plan.host.speaker.language);
    outcome = run_layouts(plan, rounds, signals, progress);
  } catch (const base::Error& error) {
    rounds.end({error.exit_code(), base::text_of(error)});
    throw;
  }
  const FailureReport end = end_of(outcome);
  rounds.end(end);
  if (!outcome.rows.empty()) SweepEnd(plan, outcome).write(training, language);
  if (outcome.end.exit_code != 0)
    plan.host.speaker.say(base::say("{}; rerun the same command to resume", outcome.end.said()));
  return end.exit_code;
}

int follow(const SweepHost& host, host::Signals& signals) {
  SweepRounds rounds(host, signals);
  try {
    const FailureReport end = follow_layouts(host, rounds, signals);
    host.speaker.say(base::say("host 0 exited: {}", end.said()));
    return end.exit_code;
  } catch (const launch::Stopped&) {
    rounds.call_off({base::exit_interrupted, base::say(stop_reason)});
    throw;
  } catch (const base::Error& error) {
    rounds.call_off({error.exit_code(), base::text_of(error)});
    throw;
  }
}

SweepHost host_of(const SweepArguments& a, const Call& call) {
  SweepHost host;
  host.settings = measuring_settings(a.parsed.settings, a.steps(), a.folder());
  host.nproc = a.nproc;
  host.hosts = a.hosts;
  host.folder = a.folder();
  host.deadline_seconds = a.deadline_seconds;
  host.environment = call.environment;
  host.speaker.language = call.language;
  host.program = a.program;
  return host;
}

// On host 0, which alone plans.
int plan_and_lead(const SweepArguments& a, const Call& call, const SweepHost& host) {
  const planner::Question question = sweep_question(a, host.settings, call.environment);
  const SweepPlan plan{host, layouts_to_run(a, question)};
  if (a.dry_run) {
    std::fputs(sweep::dry_run_table(plan.estimates, step_of(plan), call.language).c_str(), stdout);
    return 0;
  }
  constexpr std::size_t many = 50;
  base::Text size = sweep::sweep_size(plan.estimates, step_of(plan));
  if (plan.estimates.size() > many) size = base::say("{}; --best 20 runs the 20 that the plan ranks fastest", size);
  std::fprintf(stderr, "%s\n", size.in(host.speaker.language).c_str());
  const SweepArguments training = parse_sweep(words_of_training(call.words), call.environment);
  host::Signals signals;
  return lead(plan, training.parsed.settings, signals, call.language);
}

}  // namespace

int run_sweep(const Call& call) {
  const SweepArguments a = parse_sweep(call.words, call.environment);
  for (const base::Text& note : a.parsed.notes) std::fprintf(stderr, "%s\n", note.in(call.language).c_str());
  const SweepHost host = host_of(a, call);
  try {
    if (a.hosts.leads() || a.dry_run) return plan_and_lead(a, call, host);
    host::Signals signals;
    return follow(host, signals);
  } catch (const launch::Stopped&) {
    return base::exit_interrupted;
  }
}

config::FlagTable sweep_flags(SweepArguments& a) {
  config::FlagTable table("troika sweep");
  table.usage("CONFIG --nproc N [--steps 5] [--best K] [--deadline SECONDS] [--out DIR] [settings of train]");
  table.usage(
      "CONFIG --nproc N --nnodes H --node-rank K --master-addr HOST --cluster FILE ... on every host, K from 0");
  table.add("nproc", a.nproc, "Processes per host for each layout.")
      .familiar({"nproc-per-node"})
      .range(1, 4096)
      .required();
  table.add("best", a.best, "Run only the K layouts that the plan ranks fastest.").range(1, 1e6).unset("all that fit");
  table.add("deadline", a.deadline_seconds, "A layout that takes longer is stopped, and the sweep continues.")
      .unit("seconds")
      .range(std::numeric_limits<double>::min(), 1e7)
      .unset("20 times the predicted time, at least 60");
  table
      .add("cluster", a.cluster,
           "The machine file for the plan, as `troika probe` writes it; host 0 reads it.")
      .shown("FILE")
      .unset("this machine as probed, else a profile of it");
  launch::add_host_flags(table, a.host_flags);
  table.add("dry-run", a.dry_run, "Only list the layouts with their predictions.").alone();
  table.add("program", a.program, "Start this program for the ranks instead of troika itself.")
      .shown("FILE")
      .unset("troika");
  table.settings({"train.steps", "train.out", "parallel.dp", "parallel.pp", "parallel.tp", "parallel.cp",
                  "parallel.zero", "batch.micro_batch_size", "batch.global_batch_size"});
  table.paragraph(
      "Trains every layout that fits for a few steps, each in its own processes, and writes DIR/summary.csv, plots\nand a page. --steps defaults to 5 and --out to runs/sweep; their values in CONFIG apply only to the training\nitself. Layout flags on the command line (--tp 1, --zero 1) stay fixed, the rest is tried. Rerun the same command\nto resume. docs/formats/sweep.md lists the columns.");
  table.paragraph(
      "Several hosts: run the same command on each with its --node-rank. The hosts meet at --master-port, the ranks of a\nlayout at the next port. `troika launch --nnodes ... -- probe --out cluster.yaml` on the same hosts writes the file\nfor --cluster.");
  return table;
}

std::int64_t SweepArguments::steps() const { return parsed.states("train.steps") ? parsed.settings.train.steps : 5; }

std::string SweepArguments::folder() const {
  const std::string all =
      parsed.states("train.out") ? base::without_end_slashes(parsed.settings.train.out) : "runs/sweep";
  return hosts.leads() ? all : fmt::format("{}/host-{}", all, hosts.node_rank);
}

static void check_hosts(const SweepArguments& a) {
  if (a.hosts.nnodes == 1) return;
  if (a.cluster.empty())
    throw base::ConfigError(base::say(
        "--nnodes is {} but --cluster is not given: `troika launch --nnodes {} ... -- probe --out cluster.yaml` on "
        "these hosts measures them and writes the file on host 0",
        a.hosts.nnodes, a.hosts.nnodes));
  if (a.hosts.master_port == 65535)
    throw base::ConfigError(base::say("--master-port is 65535, but the ranks of a layout meet at the next port: use 65534"));
}

SweepArguments parse_sweep(const std::vector<std::string>& words, const config::Environment& environment) {
  SweepArguments a;
  a.parsed = config::parse_settings(words, environment, sweep_flags(a));
  config::FlagReading reading;
  a.hosts = launch::settle_hosts(a.host_flags, environment, &reading);
  reading.finish();
  check_hosts(a);
  if (a.steps() < 2)
    throw base::ConfigError(base::say(
        "--steps is {}, but a sweep needs at least 2: the first step, which is slower, does not count", a.steps()));
  return a;
}

}  // namespace troika::commands
