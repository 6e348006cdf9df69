#include "commands/eval/eval.h"

#include <fmt/format.h>

#include <cmath>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "base/units.h"
#include "commands/own_flags.h"
#include "config/config.h"
#include "config/resolve.h"
#include "rendezvous/identity.h"
#include "train/evaluation_run.h"

namespace troika::commands {
namespace {

const char* const usage =
    "troika eval - the loss of a model on data, each sample once, in any layout\n"
    "\n"
    "usage: troika eval PATH --data.valid FILE [--seq-len N] [--json] [--logits FILE] [settings of train]\n"
    "       troika launch --nproc-per-node 2 -- eval PATH --data.valid FILE --pp 2 ...\n"
    "\n"
    "  PATH             a folder: a Hugging Face model, an adapter, a checkpoint or a run's folder (its newest\n"
    "                   checkpoint); also as --model.path PATH\n"
    "  --base PATH      the model beside an adapter; default: the one that the adapter names\n"
    "  --data.valid     a text file, JSONL, a folder of those, prepared shards, or JSONL of token ids\n"
    "                   ({\"input_ids\": [...], \"labels\": [...]})\n"
    "  --seq-len        positions of a sample (default 256)\n"
    "  --data.tokenizer bytes, a folder with tokenizer.json, or the file; default: the model's own\n"
    "  --json           one JSON object on stdout, nothing else\n"
    "  --logits FILE    also write the logits of every position as safetensors, [samples, positions, vocabulary]\n"
    "\n"
    "Of the settings of train (`troika help train`), --pp, --dp, --tp, --cp, --zero, --micro-batch-size,\n"
    "--precision.compute, --train.threads and those of comm have a say; nothing is trained and no run's folder is\n"
    "written. Losses have the same bits in every layout of dp, pp and ZeRO with the same --micro-batch-size.\n";

nlohmann::json number(double value) { return std::isfinite(value) ? nlohmann::json(value) : nlohmann::json(); }

std::string to_json(const train::EvaluationResult& result) {
  const train::Evaluation& e = result.evaluation;
  nlohmann::ordered_json object;
  object["loss"] = number(e.loss);
  object["perplexity"] = number(e.perplexity());
  object["tokens"] = e.tokens;
  object["samples"] = e.samples;
  object["truncated"] = result.truncated;
  object["seconds"] = number(e.seconds);
  return object.dump() + "\n";
}

std::string to_text(const train::EvaluationResult& result) {
  const train::Evaluation& e = result.evaluation;
  const double rate = e.seconds > 0 ? static_cast<double>(e.tokens) / e.seconds : 0;
  return fmt::format("loss {:.6f}, perplexity {:.6g}, over {} tokens of {} samples in {} ({:.1f} tokens per second)\n",
                     e.loss, e.perplexity(), e.tokens, e.samples, base::format_duration(e.seconds), rate);
}

}  // namespace

int run_eval(const std::vector<std::string>& arguments, const std::map<std::string, std::string>& environment) {
  Words words = arguments;
  const bool help = take_word(words, "--help"), short_help = take_word(words, "-h");
  if (help || short_help) {
    std::fputs(usage, stdout);
    return 0;
  }
  const bool json = take_word(words, "--json");
  train::EvaluationRequest request;
  request.logits = take_value(words, "--logits").value_or("");
  const config::ParsedSettings parsed = config::parse_settings(words, environment);
  request.identity = rendezvous::identify(environment);
  request.resolved = config::resolve(parsed.settings, request.identity.world_size);
  if (parsed.print_config) {
    std::fputs(config::to_yaml(request.resolved.settings).c_str(), stdout);
    return 0;
  }
  if (!json) {
    request.notes = parsed.notes;
    request.screen = stderr;
  }
  const train::EvaluationResult result = train::evaluate(request);
  if (result.exit_code == 0 && request.identity.world_rank == 0)
    std::fputs((json ? to_json(result) : to_text(result)).c_str(), stdout);
  return result.exit_code;
}

}  // namespace troika::commands
