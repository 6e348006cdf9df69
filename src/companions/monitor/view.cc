#include "monitor/view.h"

#include <nlohmann/json.hpp>
#include <algorithm>
#include <array>

#include "base/json_members.h"
#include "base/terminal_text.h"
#include "monitor/texts.h"
#include "monitor/watch.h"

namespace troika::monitor {

bool is_over(Condition condition) {
  return condition == Condition::finished || condition == Condition::failed || condition == Condition::stopped;
}

namespace {

constexpr std::size_t events_in_view = 100;

// As rank 0 says where it is.
Condition condition_while_training(const std::map<int, SampleWindow>& windows) {
  const auto rank_0 = windows.find(0);
  if (rank_0 == windows.end()) return Condition::training;
  const records::Activity activity = rank_0->second.last->place.at.activity;
  if (activity == records::Activity::evaluating) return Condition::evaluating;
  return records::is_saving(activity) ? Condition::saving : Condition::training;
}

Condition condition_of(const records::RunReader& run, const std::map<int, SampleWindow>& windows) {
  if (!run.state()) {
    const bool empty = run.steps().empty() && run.samples().empty() && run.events().empty();
    return empty ? Condition::no_record : Condition::unknown;
  }
  switch (run.state()->life) {
    case records::Life::preparing:
      return Condition::preparing;
    case records::Life::training:
      return condition_while_training(windows);
    case records::Life::finished:
      return Condition::finished;
    case records::Life::failed:
      return Condition::failed;
    case records::Life::stopped:
      return Condition::stopped;
  }
  return Condition::unknown;
}

double silence_of(const Observed& observed, const std::map<int, SampleWindow>& windows, Condition condition) {
  const bool lives = condition != Condition::no_record && condition != Condition::unknown && !is_over(condition);
  if (!lives || windows.empty()) return 0;
  double heard = 0;
  for (const auto& [rank, window] : windows) {
    if (!is_silent(window, observed)) return 0;
    heard = std::max(heard, window.heard);
  }
  return observed.now - heard;
}

// Whether the launcher has said so after the last failure.
bool restart_follows(const std::deque<records::Event>& events) {
  using records::EventKind;
  for (auto event = events.rbegin(); event != events.rend(); ++event) {
    if (event->kind == EventKind::restart) return true;
    if (event->kind == EventKind::failure || event->kind == EventKind::launch || event->kind == EventKind::start)
      return false;
  }
  return false;
}

using Json = nlohmann::ordered_json;

constexpr std::array<std::string_view, 9> conditions = {"no_record", "unknown",  "preparing", "training", "evaluating",
                                                        "saving",    "finished", "failed",    "stopped"};
constexpr std::array<std::string_view, 5> standings = {"unheard", "works", "waits", "silent", "ended"};
constexpr std::array<std::string_view, 15> troubles = {
    "run_silent", "slow_rank",  "silent_rank",   "circle",   "watch",       "throttled",     "hot",          "quota",
    "swapping",   "memory_low", "memory_killed", "disk_low", "link_errors", "under_voltage", "skipped_steps"};

Json run_json(const View& view, Language language) {
  if (!view.state) return Json::object();
  const records::RunState& s = *view.state;
  return base::json_of_members("model", s.model_text().in(language), "parameters", s.parameters, "layout",
                               s.layout_text().in(language), "schedule", s.schedule,
                               "precision", s.precision, "device", s.device, "launch", s.launch, "attempt", s.attempt,
                               "began", s.began, "since", s.since, "sample_seconds", s.sample_seconds, "predicted_seconds",
                               s.predicted_seconds, "exit_code",
                               s.exit_code, "text", s.text);
}

Json curve_json(const Curve& curve) {
  return {{"first_step", curve.first_step}, {"last_step", curve.last_step}, {"points", curve.points}};
}

Json progress_json(const Progress& p) {
  const auto above_0 = [](std::int64_t count) { return count > 0 ? Json(count) : Json(nullptr); };
  return base::json_of_members(
      "step", p.step, "steps", above_0(p.steps), "done", p.steps > 0 ? Json(done_share(p)) : Json(nullptr), "tokens",
      p.tokens, "eta_seconds", p.eta_seconds, "loss", p.loss, "valid_loss", p.valid_loss, "valid_step",
      above_0(p.valid_step), "grad_norm", p.grad_norm, "lr", p.lr, "loss_scale", p.loss_scale, "tokens_per_second",
      p.tokens_per_second, "step_seconds", p.step_seconds, "skipped_steps", p.skipped_steps, "repeated_steps",
      p.repeated_steps, "loss_curve", curve_json(p.loss_curve), "valid_loss_curve", curve_json(p.valid_loss_curve));
}

Json rank_json(const RankView& rank, Language language) {
  Json json = base::json_of_members("rank", rank.rank, "host", rank.host, "dp", rank.dp, "pp", rank.pp, "tp", rank.tp,
                                    "cp", rank.cp, "standing", standings[static_cast<std::size_t>(rank.standing)],
                                    "slow", rank.slow);
  if (rank.standing == Standing::silent) json["silent_seconds"] = rank.silent_seconds;
  if (rank.standing == Standing::unheard) return json;
  json["step"] = rank.place.step;
  json["where"] = records::said(language, rank.place.at);
  json["seconds"] = rank.place.seconds;
  if (rank.place.usual_seconds > 0) json["usual_seconds"] = rank.place.usual_seconds;
  if (rank.standing == Standing::waits) json["waits_for"] = rank.chain, json["circle"] = rank.circle;
  json["held"] = rank.held;
  const Shares& s = rank.shares;
  if (s.known)
    json["shares"] =
        base::json_of_members("forward", s.forward, "backward", s.backward, "wait", s.wait, "optimizer", s.optimizer,
                              "load", s.load, "save", s.save, "other", s.other);
  json.update(base::json_of_members("pace_seconds", rank.pace_seconds, "slowness", rank.slowness, "memory", rank.memory,
                                    "sent_per_second", rank.sent_per_second, "received_per_second",
                                    rank.received_per_second));
  return json;
}

Json host_json(const HostView& host) {
  Json json = {{"host", host.host}, {"ranks", host.ranks}};
  if (!host.vitals) return json;
  Json& vitals = json["vitals"] = Json::object();
  for (const auto& [name, value] : host.vitals->numbers()) vitals[name] = value;
  json.update(base::json_of_members("window_seconds", host.window_seconds, "throttles", host.throttles,
                                    "quota_throttled_share", host.quota_throttled_share, "swap_pages_per_second",
                                    host.swap_pages_per_second, "link_errors", host.link_errors, "memory_kills",
                                    host.memory_kills));
  return json;
}

Json link_json(const LinkView& link) {
  return base::json_of_members("from", link.from, "to", link.to, "bytes_per_second", link.bytes_per_second,
                               "waited_share", link.waited_share);
}

Json event_json(const records::Event& event, Language language) {
  Json json = {{"time", event.time}, {"event", records::word_of(event.kind)}, {"host", event.host}};
  if (event.rank >= 0) json["rank"] = event.rank;
  if (event.step >= 0) json["step"] = event.step;
  json["text"] = records::in_both(event.text, event.incident).in(language);
  if (event.incident) json["incident"] = records::to_json_object(*event.incident);
  return json;
}

Json finding_json(const Finding& finding, Language language) {
  Json json = {{"trouble", troubles[static_cast<std::size_t>(finding.trouble)]}};
  if (finding.rank >= 0) json["rank"] = finding.rank;
  if (!finding.host.empty()) json["host"] = finding.host;
  json["text"] = said(language, finding);
  if (finding.notice) json["incident"] = records::to_json_object(*finding.notice);
  return json;
}

template <class Values, class Convert>
Json list(const Values& values, const Convert& convert) {
  Json all = Json::array();
  for (const auto& value : values) all.push_back(convert(value));
  return all;
}

}  // namespace

View view_of(const Observed& observed) {
  const auto windows = windows_of(observed);
  const records::RunReader& run = observed.run;
  View view;
  view.folder = run.folder();
  view.now = observed.now;
  view.state = run.state();
  view.condition = condition_of(run, windows);
  view.silent_seconds = silence_of(observed, windows, view.condition);
  view.restarts = run.state() ? run.state()->attempt : 0;
  view.restart_follows = view.condition == Condition::failed && restart_follows(run.events());
  view.progress = progress_of(observed, windows, view);
  view.ranks = rank_views(observed, windows, view.condition);
  view.hosts = host_views(view.ranks, windows);
  view.links = link_views(windows);
  const auto& events = run.events();
  const std::size_t shown = std::min(events.size(), events_in_view);
  view.events.assign(events.end() - static_cast<std::ptrdiff_t>(shown), events.end());
  view.findings = findings_of(observed, &view);
  return view;
}

std::string_view word_of(Condition condition) { return conditions[static_cast<std::size_t>(condition)]; }

std::string to_json(const View& view, Language language, int indent) {
  const Json json = {
      {"folder", view.folder},
      {"time", view.now},
      {"state", word_of(view.condition)},
      {"state_text", state_words(view, language)},
      {"silent_seconds", view.silent_seconds},
      {"restart_follows", view.restart_follows},
      {"run", run_json(view, language)},
      {"progress", progress_json(view.progress)},
      {"findings", list(view.findings, [&](const Finding& finding) { return finding_json(finding, language); })},
      {"ranks", list(view.ranks, [&](const RankView& rank) { return rank_json(rank, language); })},
      {"hosts", list(view.hosts, host_json)},
      {"links", list(view.links, link_json)},
      {"events", list(view.events, [&](const records::Event& event) { return event_json(event, language); })}};
  return base::printable_json(json.dump(indent, ' ', false, Json::error_handler_t::replace));
}

}  // namespace troika::monitor
