#include "commands/demo/demo.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <filesystem>

#include "base/error.h"
#include "base/file.h"
#include "base/json.h"
#include "base/say.h"
#include "base/cause.h"
#include "base/text.h"
#include "base/units.h"
#include "host/process.h"
#include "host/subprocess.h"

namespace troika::commands {
namespace {

constexpr std::int64_t bytes_of_data = 32LL << 20;  // tokenizer and tokens of the headers
constexpr std::int64_t bytes_of_run = 64LL << 20;   // three checkpoints, timelines

constexpr int exit_of_wrong_words = 2;  // base::ConfigError's

void title(const std::string& text) { fmt::print("\n== {}\n", text); }

std::string another_folder(const std::string& folder) { return host::shell_word(folder + "-2"); }

void check_contents(const std::string& folder) {
  if (std::filesystem::exists(folder) && !base::directory_exists(folder))
    throw base::ConfigError(
        base::say("'{}' exists and is not a folder; choose another: troika demo {}", folder, another_folder(folder)));
  const auto names = base::list_directory(folder);
  if (names.empty() || base::directory_exists(folder + "/tokenizer")) return;
  throw base::ConfigError(
      base::say("'{}' contains something other than a demo ('{}' and {} more); choose another folder: troika demo {}", folder,
                names.front(), names.size() - 1, another_folder(folder)));
}

void make_writable(const std::string& folder) {
  try {
    base::make_directories(folder);
  } catch (const base::Error& error) {
    throw base::ConfigError(
        base::say("{}; choose a writable folder: troika demo FOLDER", base::text_of(error)));
  }
  if (::access(folder.c_str(), W_OK | X_OK) != 0)
    throw base::ConfigError(
        base::say("cannot write to '{}': {}; choose a writable folder: troika demo FOLDER", folder,
                  base::system_cause(errno)));
}

void check_room(const std::string& folder, std::int64_t wanted) {
  std::error_code error;
  const auto space = std::filesystem::space(folder, error);
  if (error || static_cast<std::int64_t>(space.available) >= wanted || base::directory_exists(folder + "/run")) return;
  throw base::ConfigError(
      base::say("the disk of '{}' has {} free, but the demo needs {}; free some space, or choose a folder on another disk: troika demo FOLDER",
                folder, base::format_bytes(static_cast<std::int64_t>(space.available)), base::format_bytes(wanted)));
}

struct Step {
  base::Text title;
  Words words;
  std::string needs = {};  // a file without which it is left out
};

Words with_words(Words words, const Words& more) {
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

std::vector<Step> data_steps(const std::string& folder, const Corpus& corpus) {
  std::vector<Step> steps;
  const base::Text heading = base::say("Corpus and tokenizer: {}", corpus.what);
  const std::string tokenizer = folder + "/tokenizer";
  const bool trained = base::file_exists(tokenizer + "/tokenizer.json");
  if (!trained)
    steps.push_back(
        {heading, with_words(with_words({"data", "tokenizer"}, corpus.paths), {"--vocab", "512", "--out", tokenizer})});
  steps.push_back(
      {trained ? heading : base::Text{}, with_words(with_words({"data", "prepare"}, corpus.paths),
                                                    {"--tokenizer", tokenizer, "--out", folder + "/tokens"})});
  return steps;
}

// The common words of both trainings.
Words training(const std::string& folder) {
  const Words words = base::split(
      "--seed 1 --seq-len 128 --micro-batch-size 1 --global-batch-size 6 --lr 3e-3 --optimizer.min-lr 3e-4 --warmup-steps 20 "
      "--model.layers 3 --model.hidden 192 --model.init-std 0.06 --model.heads 4 --model.kv-heads 2 --model.head-dim 48 "
      "--model.ffn 512",
      ' ');
  return with_words({"--data.train", folder + "/tokens", "--data.tokenizer", folder + "/tokenizer", "--out", folder + "/run"},
                    words);
}

// A run that a demo with other --steps began may have passed the step without recording it.
std::string recorded(const std::string& run, const std::string& step) {
  return fmt::format("{}/timeline/timeline_batch{}_rank0.json", run, step);
}

std::vector<Step> run_steps(const std::string& folder, std::int64_t steps, const std::string& prompt) {
  const std::string run = folder + "/run";
  const std::string in_pipeline = std::to_string(steps / 7), in_data_parallel = std::to_string(steps + steps / 14);
  return {{base::say("Train: three processes, one pipeline of three stages"),
           with_words({"launch", "--nproc-per-node", "3", "--", "train", "--pp", "3", "--steps", std::to_string(steps),
                       "--profile", in_pipeline},
                      training(folder))},
          {base::say("Continue the same checkpoint: two processes, data-parallel"),
           with_words({"launch", "--nproc-per-node", "2", "--", "train", "--dp", "2", "--steps",
                       std::to_string(steps + steps / 7), "--profile", in_data_parallel},
                      training(folder))},
          {base::say("What every rank did in step {} (pipeline)", in_pipeline),
           {"timeline", run, "--step", in_pipeline},
           recorded(run, in_pipeline)},
          {base::say("What every rank did in step {} (data-parallel)", in_data_parallel),
           {"timeline", run, "--step", in_data_parallel},
           recorded(run, in_data_parallel)},
          {base::say("A sample"),
           {"generate", run, "--prompt", prompt, "--max-new-tokens", "400", "--temperature", "0.7", "--seed", "3"}}};
}

std::vector<std::string> rows_of(const std::string& metrics) {
  if (!base::file_exists(metrics)) return {};
  return base::split(base::trim(base::read_file(metrics)), '\n');
}

void print_loss(const std::string& metrics, const std::vector<std::string>& before, base::Language language) {
  const std::vector<std::string> lines = rows_of(metrics);
  const auto loss_in = [&](const std::string& line) { return base::parse_json(line, metrics).at("loss").dump(); };
  title(base::say("Loss").in(language));
  base::Text text = base::say("first step {}, last step {}\n", loss_in(lines.front()), loss_in(lines.back()));
  if (lines.size() == before.size())
    text = base::say("{}nothing was trained, because the run already has all of its {}; raise --steps to continue\n",
                     text, base::counted_text(static_cast<std::int64_t>(lines.size()), "step"));
  fmt::print("{}", text.in(language));
}

// The guides of a source tree or of an installation, seen from the program's folder; "": none is there.
std::string guides_near(const std::filesystem::path& programs) {
  for (const char* place : {"../../docs/guides", "../share/doc/troika/docs/guides"}) {
    const std::filesystem::path guides = (programs / place).lexically_normal();
    if (base::directory_exists(guides.string())) return guides.string();
  }
  return "";
}

// The word that a user types for the program: its name where that finds it.
std::string typed(const std::filesystem::path& program, const config::Environment& environment) {
  std::error_code error;
  const std::string found = host::find_program("troika", environment);
  if (!found.empty() && std::filesystem::equivalent(found, program, error)) return "troika";
  return host::shell_word(std::filesystem::proximate(program, error).string());
}

void print_what_next(const std::string& folder, const std::filesystem::path& program,
                     const config::Environment& environment, base::Language language) {
  const std::string troika = typed(program, environment), run = host::shell_word(folder + "/run");
  const auto line = [&](const std::string& words, base::Phrase what) {
    fmt::print("{}\n    {}\n", what.in(language), words);
  };
  title(base::say("Next steps").in(language));
  line(fmt::format("{} generate {} --prompt '...'", troika, run), base::Phrase("More text:"));
  line(fmt::format("{} serve {}", troika, host::shell_word(folder)), base::Phrase("The run in a browser:"));
  line(fmt::format("{} demo {} --text FOLDER", troika, host::shell_word(folder + "-2")),
       base::Phrase("The same with texts of your own:"));
  if (const std::string guides = guides_near(program.parent_path()); !guides.empty())
    line(guides + "/text-to-chat.md", base::Phrase("From a folder of text to a chat:"));
}

}  // namespace

int run_demo(const Call& call) {
  const std::string program = host::own_program();
  DemoArguments a = read_arguments(call.words, demo_flags);
  a.folder = base::without_end_slashes(a.folder);
  const Corpus corpus = corpus_of(a.texts, std::filesystem::path(program).parent_path().string(), "");
  check_contents(a.folder);
  make_writable(a.folder);
  check_room(a.folder, bytes_of_data + (a.only_data ? 0 : bytes_of_run));

  const std::string metrics = a.folder + "/run/metrics.jsonl";
  const std::vector<std::string> before = rows_of(metrics);
  std::vector<Step> steps = data_steps(a.folder, corpus);
  if (!a.only_data)
    for (Step& step : run_steps(a.folder, a.steps, corpus.prompt)) steps.push_back(std::move(step));
  const auto complain = [&](const base::Text& text) {
    fmt::print(stderr, "troika demo: {}\n", text.in(call.language));
  };
  {
    Stages stages(program, call.environment);
    for (const Step& step : steps) {
      if (!step.needs.empty() && !base::file_exists(step.needs)) continue;
      if (!step.title.empty()) title(step.title.in(call.language));
      const bool prepares_again = step.words[1] == "prepare" && base::directory_exists(a.folder + "/tokens");
      const int code = stages.run(step.words);
      if (code == exit_of_wrong_words && prepares_again)
        complain(base::say("'{}' contains a demo of another text; choose another folder: troika demo {} --text ...", a.folder,
                           another_folder(a.folder)));
      if (code == base::exit_interrupted) complain(base::say("stopped; rerun the same command to resume"));
      if (code != 0) return code;
    }
  }
  if (a.only_data) return 0;
  print_loss(metrics, before, call.language);
  print_what_next(a.folder, program, call.environment, call.language);
  return 0;
}

config::FlagTable demo_flags(DemoArguments& a) {
  config::FlagTable table("troika demo");
  table.usage("[DIR] [--steps N] [--text PATH] [--only-data]");
  table.word("DIR", a.folder, "The folder for tokenizer, tokens and run; a demo begun there resumes.");
  table.add("steps", a.steps, "Steps of the pipeline run; the data-parallel run adds a seventh of them.")
      .range(21, 1e9);
  table.add("text", a.texts, "Text to train on, a file or a folder; may be given several times.")
      .shown("PATH")
      .repeated()
      .unset("the C and C++ headers on this machine, else its licenses, else those of Troika's components");
  table.add("only-data", a.only_data, "Stop after the tokenizer and tokens, for your own training.").alone();
  table.paragraph(
      "Trains a tokenizer, then a 3-layer model with three processes as a pipeline, continues from the same checkpoint with two\ndata-parallel processes, and shows what each rank did in a step, a sample and the loss. Ctrl-C saves; rerun to resume.");
  return table;
}

}  // namespace troika::commands
