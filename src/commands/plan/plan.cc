#include "commands/plan/plan.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/file.h"
#include "base/say.h"
#include "base/text.h"
#include "base/units.h"
#include "commands/plan/arguments.h"
#include "commands/plan/what_if.h"
#include "machine/quantities.h"
#include "planner/reasons.h"
#include "shape/layout.h"

namespace troika::commands {
namespace {

using planner::Answer;
using planner::Estimate;
using planner::Question;

nlohmann::ordered_json json_of(const Question& question, const Estimate& e, base::Language language) {
  const planner::Layout& l = e.layout;
  const planner::TimeSplit& t = e.time;
  nlohmann::ordered_json json;
  json["dp"] = l.dp;
  json["pp"] = l.pp;
  json["tp"] = l.tp;
  json["cp"] = l.cp;
  json["zero"] = l.zero;
  json["schedule"] = config::word_of(l.schedule);
  json["virtual_stages"] = l.virtual_stages;
  json["micro_batch_size"] = l.micro;
  json["global_batch_size"] = l.global;
  json["recompute"] = config::word_of(l.recompute);
  json["offload"] = config::word_of(l.offload);
  json["precision"] = config::word_of(l.precision);
  json["memory_bytes"] = e.memory.total();
  json["memory"] = {{"parameters", e.memory.parameters}, {"gradients", e.memory.gradients},
                    {"state", e.memory.state},           {"activations", e.memory.activations},
                    {"program", e.memory.program},       {"available", e.available_bytes}};
  json["step_seconds"] = t.step;
  json["tokens_per_second"] = e.tokens_per_second();
  json["model_tflops_per_device"] = e.model_flops_per_device() / 1e12;
  json["model_flops_utilisation"] = e.utilisation();
  json["bubble_share"] = t.share(t.bubble);
  json["communication_share"] = t.share(t.communication());
  json["seconds"] = {{"compute", t.compute},   {"optimizer", t.optimizer}, {"tensor", t.tensor}, {"context", t.context},
                     {"pipeline", t.pipeline}, {"data", t.data},           {"world", t.world},   {"bubble", t.bubble}};
  json["fits"] = e.fits();
  json["reasons"] = base::in(planner::reasons_of(question, e), language);
  return json;
}

std::string table(const Answer& answer) {
  std::string text = fmt::format("{:>3} {:>10} {:>10} {:>9} {:>6} {:>10} {:>8} {:>7} {:>7}  {}\n", "", "tokens/s",
                                 "step", "TFLOP/s", "MFU", "memory", "compute", "comm.", "bubble", "layout");
  int number = 0;
  for (const Estimate& e : answer.best) {
    const planner::TimeSplit& t = e.time;
    text += fmt::format("{:>3} {:>10} {:>10} {:>9.3g} {:>5.1f}% {:>10} {:>7.1f}% {:>6.1f}% {:>6.1f}%  {}\n", ++number,
                        base::format_count(static_cast<std::int64_t>(e.tokens_per_second())),
                        base::format_duration(t.step), e.model_flops_per_device() / 1e12, 100 * e.utilisation(),
                        base::format_bytes(e.memory.total()), 100 * t.share(t.compute + t.optimizer),
                        100 * t.share(t.communication()), 100 * t.share(t.bubble), name_of(e.layout));
  }
  return text;
}

std::string days(double seconds) {
  return seconds < 2 * 86400 ? base::format_duration(seconds) : fmt::format("{:.1f} days", seconds / 86400);
}

std::string lines(const std::string& title, const std::vector<std::string>& sentences) {
  std::string text;
  for (const std::string& sentence : sentences) text += fmt::format("{:<8}{}\n", text.empty() ? title : "", sentence);
  return text;
}

double tokens_of_run(const PlanArguments& a, const Question& q) {
  if (!a.tokens.empty()) return token_count(a.tokens);
  return a.parsed.states("train.steps")
             ? static_cast<double>(q.settings.train.steps * q.global * q.settings.batch.seq_len)
             : 0;
}

}  // namespace

std::string plan_text(const Question& q, const Answer& answer, double run_tokens) {
  const config::ModelSettings& model = q.settings.model;
  std::string text =
      fmt::format("model   {} parameters, {} layers, width {}, vocabulary {}\n",
                  base::format_count(shape::parameter_count(model)), model.layers, model.hidden, model.vocab);
  text += fmt::format("batch   {} sequences of {}: {} tokens per step, the same in every layout\n", q.global,
                      q.settings.batch.seq_len, base::format_count(q.global * q.settings.batch.seq_len));
  text +=
      fmt::format("on      {}{}\n", describe(q).english,
                  q.cluster.host_count() > 1
                      ? fmt::format("; {} between hosts", machine::format_bit_rate(q.cluster.network.bytes_per_second))
                      : "");
  if (const std::string sources = planner::sources_of(q.cluster); !sources.empty())
    text += fmt::format("        {}\n", sources);
  text += lines("fits?", base::in(planner::three_questions(q), base::Language::english));
  text += "\n" + table(answer) + "\n";
  const Estimate& best = answer.best.front();
  text += lines("first", base::in(planner::reasons_of(q, best), base::Language::english));
  if (run_tokens > 0)
    text += fmt::format("run     {} tokens are {:.0f} steps and take {}\n",
                        base::format_count(static_cast<std::int64_t>(run_tokens)),
                        run_tokens / static_cast<double>(best.tokens), days(run_tokens / best.tokens_per_second()));
  text += lines("helps", base::in(planner::what_would_help(q, best), base::Language::english));
  text += fmt::format(
      "left    {} layouts considered, {} do not fit, {} followed, {} simulated; the rest is slower by a lower bound\n",
      answer.considered, answer.too_large, answer.followed, answer.simulated);
  text += fmt::format("start   troika train {}\n", base::join(flags_of(best.layout), " "));
  text +=
      "MFU: 6 FLOPs per token and weight, attention by the whole mask, nothing for recomputation, over the data "
      "sheet's rate\n";
  return text;
}

std::string estimate_json(const Question& q, const Estimate& estimate, base::Language language) {
  return json_of(q, estimate, language).dump(2) + "\n";
}

std::string plan_json(const Question& q, const Answer& answer, base::Language language) {
  nlohmann::ordered_json json;
  json["layouts"] = nlohmann::ordered_json::array();
  for (const Estimate& e : answer.best) json["layouts"].push_back(json_of(q, e, language));
  json["rejected"] = answer.too_large;
  json["considered"] = answer.considered;
  json["simulated"] = answer.simulated;
  json["questions"] = base::in(planner::three_questions(q), language);
  json["helps"] = answer.best.empty() ? std::vector<std::string>{}
                                      : base::in(planner::what_would_help(q, answer.best.front()), language);
  json["sources"] = planner::sources_of(q.cluster);
  return json.dump(2) + "\n";
}

std::string plan_report(const Call& call) {
  if (asks_what_if(call.words)) return what_if_report(call.words);
  const PlanArguments a = parse_plan(call.words, call.environment);
  const Question question = question_of(a, call.environment);
  const double run_tokens = tokens_of_run(a, question);
  const Answer answer = planner::search(question);
  if (answer.best.empty()) throw base::ConfigError(planner::nothing_fits(question, answer));
  if (!a.write.empty())
    base::write_file_atomic(a.write, config::to_yaml(with_layout(question.settings, answer.best.front().layout)));
  return a.json ? plan_json(question, answer, base::Language::english) : plan_text(question, answer, run_tokens);
}

}  // namespace troika::commands
