#include "commands/entry_points.h"

#include <cmath>
#include <cstdio>
#include <functional>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/say.h"
#include "base/units.h"
#include "commands/signals.h"
#include "config/resolve.h"
#include "rendezvous/identity.h"
#include "train/run.h"
#include "train/rank_device.h"

namespace troika::commands {
namespace {

nlohmann::json number(double value) { return std::isfinite(value) ? nlohmann::json(value) : nlohmann::json(); }

std::string to_json(const train::EvaluationResult& result) {
  const inference::Evaluation& e = result.evaluation;
  nlohmann::ordered_json object;
  object["loss"] = number(e.loss);
  object["perplexity"] = number(e.perplexity());
  object["tokens"] = e.tokens;
  object["samples"] = e.samples;
  object["truncated"] = result.truncated;
  for (const inference::SourceLoss& source : e.sources)
    object["sources"].push_back(nlohmann::ordered_json{{"name", source.name},
                                                       {"loss", number(source.loss)},
                                                       {"perplexity", number(inference::perplexity_of(source.loss))},
                                                       {"tokens", source.tokens},
                                                       {"samples", source.samples}});
  object["seconds"] = number(e.seconds);
  return object.dump() + "\n";
}

base::Text to_text(const train::EvaluationResult& result) {
  const inference::Evaluation& e = result.evaluation;
  const double rate = e.seconds > 0 ? static_cast<double>(e.tokens) / e.seconds : 0;
  std::vector<base::Text> lines{base::say("loss {:.6f}, perplexity {:.6g}, over {} of {} in {} ({:.1f} tokens/s)",
                                          e.loss, e.perplexity(), base::counted_text(e.tokens, "token"),
                                          base::counted_text(e.samples, "sample"), base::format_duration(e.seconds),
                                          rate)};
  for (const inference::SourceLoss& source : e.sources)
    lines.push_back(base::say("  {}: loss {:.6f}, perplexity {:.6g}, over {} of {}", source.name, source.loss,
                              inference::perplexity_of(source.loss), base::counted_text(source.tokens, "token"),
                              base::counted_text(source.samples, "sample")));
  return base::lines(lines);
}

}  // namespace

int run_eval(const Call& call) {
  EvalArguments a = parse_eval_arguments(call.words, call.environment);
  config::take_precision_of_device(&a.parsed, train::usable_gpus(a.parsed.settings.train.device));
  const config::ParsedSettings& parsed = a.parsed;
  train::EvaluationRequest request;
  request.logits = a.logits;
  request.identity = rendezvous::identify(call.environment);
  request.language = call.language;
  StatusSignal status;
  request.answer_status = [&status](std::function<void()> answer) { status.set_answer(std::move(answer)); };
  request.resolved = config::resolve(parsed.settings, request.identity.world_size);
  if (parsed.print_config) {
    std::fputs(config::to_yaml(request.resolved.settings).c_str(), stdout);
    return 0;
  }
  if (!a.json) {
    request.notes = parsed.notes;
    request.screen = stderr;
  }
  const train::EvaluationResult result = train::evaluate(request);
  if (result.exit_code == 0 && request.identity.world_rank == 0)
    std::fputs((a.json ? to_json(result) : to_text(result).in(call.language) + "\n").c_str(), stdout);
  return result.exit_code;
}

config::FlagTable eval_flags(EvalArguments& a) {
  config::FlagTable table("troika eval");
  table.usage("PATH --data.valid FILE [--json] [--logits FILE] [settings of train]");
  table.add("json", a.json, "Print one JSON object on stdout, nothing else.").alone();
  table
      .add("logits", a.logits,
           "Also write the logits of every position as safetensors, [samples, positions, vocabulary].")
      .shown("FILE")
      .unset("none");
  table.settings({"model.path", "model.base", "data.valid", "batch.seq_len", "data.tokenizer"});
  table.paragraph(
      "PATH is a folder: a Hugging Face model, an adapter, a checkpoint or a run (its newest checkpoint). Each\nsample counts once, in any layout; on many ranks: troika launch --nproc-per-node 2 -- eval PATH ... --pp 2");
  table.paragraph(
      "Of the other settings, only --pp, --dp, --tp, --cp, --zero, --micro-batch-size, --precision.compute, --train.threads\nand those of comm apply; nothing is trained and no run folder is written. Losses are bitwise equal in every\nlayout of dp, pp and ZeRO with the same --micro-batch-size.");
  return table;
}

EvalArguments parse_eval_arguments(const std::vector<std::string>& words, const config::Environment& environment) {
  EvalArguments a;
  a.parsed = config::parse_settings(words, environment, eval_flags(a));
  return a;
}

}  // namespace troika::commands
