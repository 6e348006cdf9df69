// Causes that no other rule knows, by the kind of error.

#include "base/say.h"
#include "base/units.h"
#include "diagnosis/rules.h"

namespace troika::diagnosis {
namespace {

int code_of_failure(const Facts& f) {
  if (f.report_code != 0) return f.report_code;
  return f.death ? f.death->exit_code : 0;
}

std::vector<Evidence> all_told(const Facts& f) {
  std::vector<Evidence> evidence;
  if (!f.told.empty()) evidence.push_back(quoted(f.told.front()));
  add_place(f, &evidence);
  return evidence;
}

AdviceList with_flags_of_message(const Facts& f) {
  AdviceList advice = f.told.empty() ? AdviceList{} : flags_named_in(f.told.front().text);
  if (advice.size() < 3) advice.push_back({say("follow the message"), say("it names the setting or the file, the rule and the fix")});
  return advice;
}

std::optional<Finding> changed_bits(const Facts& f) {
  const Told* told = first_with(f.told, {base::Cause::changed_bits});
  if (told == nullptr) return std::nullopt;
  return Finding{"changed_bits",
                 {quoted(*told)},
                 {command("memtester 1G 1", say("faulty memory has the same symptom if it is always one host")),
                  {say("leave that host out"), say("its results cannot be trusted until it is tested")},
                  same_again(f)}};
}

std::optional<Finding> by_exit_code(const Facts& f) {
  if (!f.failed()) return std::nullopt;
  switch (code_of_failure(f)) {
    case 2:
      return Finding{"settings_refused", all_told(f), with_flags_of_message(f)};
    case 3:
      return Finding{
          "data_refused",
          all_told(f),
          {{say("follow the message"), say("it names the setting or the file, the rule and the fix")}, command("troika data inspect", say("it shows samples as the run sees them, with the tokens that carry loss"))}};
    case 70:
      return Finding{"internal_fault", all_told(f), {{say("report it with the log of the rank"), say("this is a bug in the program, unless it always happens on one host")}, same_again(f)}};
    default:
      return Finding{"peer_lost",
                     all_told(f),
                     {{say("check the ranks' logs"), say("the log of the first rank to fail has more details")},
                      run_doctor(),
                      launch(LaunchFlag::max_restarts, "3", say("the launcher restarts all ranks, from the newest checkpoint if there is one"))}};
  }
}

AdviceList advice_of_overflow(const Facts& f) {
  return {set("precision.compute", "bf16", say("bf16 has the range of fp32, and needs no loss scale")), lower_rate(f), longer_warmup(f)};
}

std::optional<Finding> told_of_overflow(const Facts& f) {
  const Told* told = first_with(f.told, {base::Cause::fp16_overflow});
  if (told == nullptr) return std::nullopt;
  return Finding{"fp16_overflow", {quoted(*told)}, advice_of_overflow(f)};
}

std::optional<Finding> told_of_divergence(const Facts& f) {
  const Told* told = first_with(f.told, {base::Cause::not_finite});
  if (told == nullptr) return std::nullopt;
  if (auto none = no_tokens_in_rows(f)) return none;
  Finding found{"diverged", {quoted(*told)}, gentler_steps(f)};
  add_rise(f, &found);
  return found;
}

std::optional<Finding> disk_full(const Facts& f) {
  const Told* told = told_or_logged(f, {base::Cause::disk_full});
  if (told == nullptr) return std::nullopt;
  Finding found{"disk_full", {quoted(*told)}, roomier_disk(f)};
  for (const auto& [name, host] : f.hosts)
    if (host.disk_free_bytes >= 0)
      found.evidence.push_back(
          say("the last sample of {} shows {} free on the disk of the run folder; the space of a failed save is free again", name, base::format_bytes(static_cast<std::int64_t>(host.disk_free_bytes))));
  if (!f.complete_saves.empty()) found.evidence.push_back(say("the last complete checkpoint, of step {}, is kept", f.complete_saves.back()));
  return found;
}

std::optional<Finding> too_many_open_files(const Facts& f) {
  const Told* told = told_or_logged(f, {base::Cause::too_many_open_files});
  if (told == nullptr) return std::nullopt;
  return Finding{"too_many_open_files",
                 {quoted(*told)},
                 {command("ulimit -n 65536", say("every connection and data file needs one; set it in the shell that starts the run")),
                  command("LimitNOFILE=65536", say("the same for a unit of systemd"))}};
}

std::optional<Finding> infiniband(const Facts& f) {
  const Told* told = told_or_logged(f, {base::Cause::infiniband});
  if (told == nullptr) return std::nullopt;
  return Finding{"infiniband",
                 {quoted(*told)},
                 {command("ulimit -l unlimited", say("the card needs locked memory; in a systemd unit, set LimitMEMLOCK=infinity")),
                  command("systemctl start opensm", say("a port that stays in INIT has no subnet manager")),
                  set("comm.backend", "gloo", say("messages go over TCP meanwhile"))}};
}

std::optional<Finding> file_system_failed(const Facts& f) {
  const Told* told = told_or_logged(f, {base::Cause::file_system_failed});
  if (told == nullptr) return std::nullopt;
  return Finding{"file_system_failed",
                 {quoted(*told)},
                 {other_disk(), {say("mount the shared folder with the option hard"), say("a soft mount gives up when the server restarts, and writes are lost")}, same_again(f)}};
}

std::optional<Finding> nothing_to_learn_from(const Facts& f) {
  const Told* told = first_with(f.told, {base::Cause::no_training_tokens});
  if (told == nullptr) return std::nullopt;
  return Finding{"no_training_tokens", {quoted(*told)}, more_tokens_with_loss(f)};
}

}  // namespace

Rules rules_of_the_rest() { return {changed_bits, by_exit_code}; }

Rules rules_of_numbers() { return {told_of_overflow, told_of_divergence}; }

Rules rules_of_files() {
  return {infiniband, disk_full, too_many_open_files, file_system_failed, nothing_to_learn_from};
}

}  // namespace troika::diagnosis
