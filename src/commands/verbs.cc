#include "commands/verbs.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "base/say.h"
#include "base/text.h"
#include "bench/benchmarks.h"
#include "commands/chat/chat.h"
#include "commands/cli.h"
#include "commands/completion/completion.h"
#include "commands/data/data.h"
#include "commands/demo/demo.h"
#include "commands/bench/bench.h"
#include "commands/doctor/doctor.h"
#include "commands/entry_points.h"
#include "commands/export/export.h"
#include "commands/generate/generate.h"
#include "commands/sweep/sweep.h"
#include "config/command_line.h"
#include "config/config.h"
#include "launch/flags.h"
#include "planner/plan_arguments.h"

namespace troika::commands {
namespace {

config::FlagTable train_flags() {
  config::FlagTable table("troika train");
  table.usage("[CONFIG.yaml] [flags]");
  table.settings({});
  return table;
}

std::vector<std::string> names_of_verbs() {
  std::vector<std::string> names;
  for (const Verb& verb : verbs()) names.emplace_back(verb.name);
  return names;
}

struct HelpArguments {
  Words verb;
};

config::FlagTable help_flags(HelpArguments& a) {
  config::FlagTable table("troika help");
  table.usage("[VERB]");
  table.word("VERB", a.verb, "The verb to explain; `troika help train` lists every setting.")
      .unset("a summary of all verbs")
      .offered(names_of_verbs);
  return table;
}

config::FlagTable version_flags() {
  config::FlagTable table("troika version");
  table.usage("");
  return table;
}

std::vector<Verb> bench_parts() {
  return {{"kernels", base::Phrase("every operation of a step at the model's shapes, compared with this machine's limits"),
           unbound<bench::KernelsArguments, bench::bench_kernels_flags>},
          {"step", base::Phrase("training steps, compared with an ideal step of this machine"),
           unbound<bench::StepArguments, bench::bench_step_flags>},
          {"comm", base::Phrase("messages between ranks by size, as training uses them"),
           unbound<bench::CommArguments, bench::bench_comm_flags>},
          {"roofline", base::Phrase("a lower bound for every operation of a step on a GPU, by counting"),
           unbound<RooflineArguments, roofline_flags>}};
}

std::vector<Verb> data_parts() {
  return {
      {"prepare", base::Phrase("tokenize text into shards, dropping exact duplicates"),
       unbound<PrepareArguments, prepare_flags>},
      {"tokenizer", base::Phrase("train a byte-level BPE tokenizer on text"),
       unbound<TokenizerArguments, tokenizer_flags>},
      {"inspect", base::Phrase("show what a run would train on, or what shards contain"),
       unbound<InspectArguments, inspect_flags>},
      {"encode", base::Phrase("print token ids: one JSON array per document"), unbound<EncodeArguments, encode_flags>},
      {"decode", base::Phrase("print token ids as text"), unbound<DecodeArguments, decode_flags>}};
}

const Verb* find(const std::vector<Verb>& among, std::string_view name) {
  const auto found = std::find_if(among.begin(), among.end(), [&](const Verb& verb) { return verb.name == name; });
  return found == among.end() ? nullptr : &*found;
}

const Verb& verb_named(const std::vector<Verb>& among, const std::string& what, const std::string& name) {
  if (const Verb* verb = find(among, name)) return *verb;
  std::vector<std::string> names;
  for (const Verb& verb : among) names.emplace_back(verb.name);
  if (name.empty())
    throw base::ConfigError(base::say("{} needs one of {}; see {} --help", what, base::join(names, ", "), what));
  if (name.front() == '-')
    throw base::ConfigError(
        base::say("the flag {} precedes the verb: flags follow the verb. See {} --help.", name, what));
  const std::string near = base::nearest(name, names);
  throw base::ConfigError(
      near.empty() ? base::say("unknown verb '{}'. See {} --help.", name, what)
                   : base::say("unknown verb '{}'; did you mean '{}'? See {} --help.", name, near, what));
}

std::string first_of(const Words& words) { return words.empty() ? "" : words.front(); }
Words behind_first(const Words& words) { return {words.begin() + (words.empty() ? 0 : 1), words.end()}; }
bool is_help_flag(const std::string& word) { return word == "--help" || word == "-h"; }

std::string listed(const std::vector<Verb>& among, base::Language language) {
  std::string text;
  for (const Verb& verb : among) text += fmt::format("  {:<10} {}\n", verb.name, verb.line.in(language));
  return text;
}

// "0 done, 2 settings, ...", on two lines.
std::string listed_exit_codes(base::Language language) {
  using base::Phrase;
  static constexpr std::pair<int, Phrase> codes[] = {{0, Phrase("done")},
                                                     {2, Phrase("settings")},
                                                     {3, Phrase("data")},
                                                     {70, Phrase("a bug in Troika")},
                                                     {base::exit_peer_lost, Phrase("another rank or the network")},
                                                     {base::exit_interrupted, Phrase("interrupted after saving")}};
  std::string text;
  for (const auto& [code, meaning] : codes)
    text += fmt::format("{}{} {}", text.empty() ? "" : code == base::exit_peer_lost ? ",\n" : ", ", code, meaning.in(language));
  return text;
}

std::string page_of(const Verb& verb, base::Language language) {
  if (verb.parts.empty())
    return verb.flags == train_flags ? config::settings_help(language)
                                     : config::help_page(verb.flags(), verb.line, language);
  return base::say(
             "troika {0}: {1}\n\nusage: troika {0} WHAT [arguments]\n\n{2}\n`troika {0} WHAT --help` explains one.\n",
             verb.name, base::say(verb.line), listed(verb.parts, language))
      .in(language);
}

}  // namespace

const std::vector<Verb>& verbs() {
  static const std::vector<Verb> rows = {
      {"demo", base::Phrase("train a small model on text from this machine in two layouts and inspect it: troika demo"),
       unbound<DemoArguments, demo_flags>},
      {"train", base::Phrase("train a model; alone, or as one rank of a launched run"), train_flags},
      {"launch", base::Phrase("start the ranks of a run on this host: troika launch --nproc-per-node 3 -- train ..."),
       unbound<launch::LaunchFlags, launch::launch_flags>},
      {"plan", base::Phrase("which layout, its memory and its time: troika plan --gpu h100 --gpus 64, or on this host"),
       unbound<planner::PlanArguments, planner::plan_flags>},
      {"eval", base::Phrase("the loss of a model on data: troika eval RUN --data.valid FILE"),
       unbound<EvalArguments, eval_flags>},
      {"generate", base::Phrase("continue a text, or a file of prompts, with a model folder, a run or a checkpoint"),
       unbound<GenerateArguments, generate_flags>},
      {"chat", base::Phrase("chat with a model, or answer a file of conversations"),
       unbound<ChatArguments, chat_flags>},
      {"export", base::Phrase("write a model as a folder that Hugging Face's tools load: troika export RUN DIR"),
       unbound<ExportArguments, export_flags>},
      {"bench",
       base::Phrase("measure a training step, its operations or messages; or count a lower bound for a step"),
       nullptr, bench_parts()},
      {"probe", base::Phrase("measure this host, or a cluster if launched, and write a machine file for plans"),
       unbound<ProbeArguments, probe_flags>},
      {"sweep", base::Phrase("run every layout that fits for a few steps, compare with the plan, find the best"),
       unbound<SweepArguments, sweep_flags>},
      {"data", base::Phrase("prepare token shards, train a tokenizer, inspect what a run would train on"), nullptr,
       data_parts()},
      {"monitor",
       base::Phrase("watch a run: progress, ranks and their waits, hosts; on a screen, as lines or JSON"),
       monitor_flags},
      {"serve", base::Phrase("a page to view, compare, start, stop and resume runs"),
       serve_flags},
      {"doctor", base::Phrase("what on this host, or on all hosts of a run, would make it fail or slow"),
       unbound<DoctorArguments, doctor_flags>},
      {"why", base::Phrase("why a run failed, is slow or does not learn, and what to change: troika why RUN"),
       why_flags},
      {"timeline", base::Phrase("merge, summarize and print what every rank did in a step"),
       timeline_flags},
      {"metrics", base::Phrase("the metrics of a run's steps as CSV, for Prometheus or for TensorBoard"),
       metrics_flags},
      {"completion", base::Phrase("print a completion script for bash, zsh or fish"),
       completion_flags},
      {"help", base::Phrase("this page; `troika help train` lists every setting"), unbound<HelpArguments, help_flags>},
      {"version", base::Phrase("the version"), version_flags},
  };
  return rows;
}

std::string Call::name() const {
  return part == nullptr ? std::string(verb->name) : fmt::format("{} {}", verb->name, part->name);
}

Call call_of(const Words& given, config::Environment environment) {
  const Words arguments = without_language(given);
  Call call;
  call.language = language_of_words(given, environment);
  const std::string first = first_of(arguments);
  call.verb = &verb_named(verbs(), "troika", first == "--version" ? "version" : first);
  call.words = behind_first(arguments);
  call.environment = std::move(environment);
  if (call.verb->parts.empty()) return call;
  call.part = &verb_named(call.verb->parts, fmt::format("troika {}", call.verb->name), first_of(call.words));
  call.words = behind_first(call.words);
  return call;
}

bool asks_for_help(const Words& arguments) {
  const std::string first = first_of(arguments);
  if (first == "help" || is_help_flag(first)) return true;
  const Verb* verb = find(verbs(), first);
  if (verb == nullptr) return false;
  if (!verb->parts.empty() && is_help_flag(first_of(behind_first(arguments)))) return true;
  if (!verb->parts.empty() && find(verb->parts, first_of(behind_first(arguments))) == nullptr) return false;
  const Call call = call_of(arguments);
  return read_with_flags_of(call.last(), call.words).help;
}

std::string help_for(const Words& arguments, base::Language language) {
  const bool by_verb = first_of(arguments) == "help";
  const Words named = by_verb ? behind_first(arguments) : arguments;
  if (is_help_flag(first_of(named)) || named.empty()) return overview(language);
  const Verb& verb = verb_named(verbs(), "troika", named.front());
  const std::string part = first_of(behind_first(named));
  return page_of(verb.parts.empty() || part.empty() || is_help_flag(part)
                     ? verb
                     : verb_named(verb.parts, fmt::format("troika {}", verb.name), part),
                 language);
}

std::string overview(base::Language language) {
  return base::say(
             "troika - trains language models on the machines you have\n\nusage: troika VERB [arguments]\n\n{}\n"
             "`troika VERB --help` explains a verb. Exit codes: {}.\n",
             listed(verbs(), language), listed_exit_codes(language))
      .in(language);
}

config::FlagReading read_with_flags_of(const Verb& verb, const Words& words) {
  const config::FlagTable own = verb.flags();
  if (!own.takes_settings()) return config::read_flags({&own}, words);
  config::SettingsReading scratch;
  const config::FlagTable settings = settings_table(scratch);
  return config::read_flags({&own, &settings}, words);
}

}  // namespace troika::commands
