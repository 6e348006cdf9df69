// The end of the first rank to die, by its signal alone.
#include <string.h>

#include <algorithm>
#include <csignal>

#include "base/say.h"
#include "base/units.h"
#include "diagnosis/rules.h"
#include "host/signals.h"
#include "records/old_sentences.h"

namespace troika::diagnosis {
namespace {

bool died_of(const Facts& f, std::initializer_list<int> signals) {
  return f.death && std::find(signals.begin(), signals.end(), f.death->signal) != signals.end();
}

std::vector<Evidence> evidence_of_signal(const Facts& f) {
  std::vector<Evidence> evidence;
  if (f.death) {
    evidence.push_back(
        say("rank {} on {} was killed by signal {} (SIG{})", f.death->rank, f.death->host, f.death->signal, host::signal_name(f.death->signal)));
    add_place(f, &evidence);
    const Told line = f.last_lines.empty() ? Told{} : f.last_lines.back();
    if (!line.text.empty() && !records::is_line_of_ours(line.text))
      evidence.push_back(say("its log ends with: {}", Text(quoted(line))));
  }
  return evidence;
}

std::optional<Finding> closed_terminal(const Facts& f) {
  if (!died_of(f, {SIGHUP}) && f.stop_signal != SIGHUP) return std::nullopt;
  Finding found{"terminal_closed", evidence_of_signal(f), {}};
  if (f.stop_signal == SIGHUP) found.evidence.insert(found.evidence.begin(), say("the launcher got SIGHUP: its terminal or SSH connection closed"));
  found.advice = {command("systemd-run --user --scope tmux", say("started in its own session, the run survives the terminal")),
                  command("loginctl enable-linger", say("the user's sessions survive the last logout")), same_again(f)};
  return found;
}

std::optional<Finding> illegal_instruction(const Facts& f) {
  if (!died_of(f, {SIGILL})) return std::nullopt;
  return Finding{
      "wrong_processor", evidence_of_signal(f), {{say("install the same package on every host"), say("the program on this host was built for another processor, or is another version")}, run_doctor()}};
}

std::optional<Finding> bus_error(const Facts& f) {
  const Told* told = first_with(f.told, {base::Cause::unreadable_file});
  if (!died_of(f, {SIGBUS}) && told == nullptr) return std::nullopt;
  Finding found{"bus_error", {}, {}};
  if (told != nullptr) {
    found.evidence = {quoted(*told)};
    found.advice = {{say("copy the file again"), say("it was truncated, or its disk can no longer read it")}, other_disk(), same_again(f)};
    return found;
  }
  found.evidence = evidence_of_signal(f);
  for (const auto& [name, host] : f.hosts)
    if (host.disk_free_bytes >= 0)
      found.evidence.push_back(
          say("{} had {} free on the disk of the run folder", name, base::format_bytes(static_cast<std::int64_t>(host.disk_free_bytes))));
  found.advice = {command("docker run --shm-size=1g", say("containers have 64 MiB of /dev/shm by default; in Kubernetes, mount an emptyDir with medium Memory")),
                  set("comm.shared_memory", "off", say("ranks of a host then exchange messages over TCP")), other_disk()};
  return found;
}

std::optional<Finding> crash(const Facts& f) {
  if (!died_of(f, {SIGSEGV, SIGABRT, SIGFPE, SIGTRAP, SIGSYS})) return std::nullopt;
  return Finding{"crashed",
                 evidence_of_signal(f),
                 {{say("report it with the log of the rank"), say("this is a bug in the program, unless it always happens on one host")},
                  command("ulimit -s unlimited", say("a stack limit that is too small has the same symptom")),
                  command("memtester 1G 1", say("faulty memory has the same symptom if it is always one host"))}};
}

// On a full disk a run cannot write of what it ends.
std::optional<Finding> full_disk_without_a_word(const Facts& f) {
  constexpr double least_bytes = 1 << 20;
  if (f.ending != Ending::vanished || f.disk_free_bytes < 0 || f.disk_free_bytes > least_bytes) return std::nullopt;
  return Finding{"disk_full",
                 {say("the disk of the run folder has {} free now", base::format_bytes(static_cast<std::int64_t>(f.disk_free_bytes))),
                  say("the records end {} ago, no process of the run responds, and none recorded an end", base::format_duration(std::max(f.silent_seconds, 0.0)))},
                 roomier_disk(f)};
}

// A signal before the limit reaches steps alone.
void advise_job_of_slurm(const Facts& f, AdviceList* advice) {
  const std::string job = f.state ? f.state->slurm_job : "";
  if (job.empty()) return;
  advice->push_back(command("#SBATCH --signal=TERM@300 --requeue", say("the run learns of the limit in time, saves and is requeued")));
  if (job.find('.') == std::string::npos) advice->push_back(command("srun troika launch", say("SLURM sends that signal to processes started by srun, not to the job script")));
}

AdviceList advice_of_killed(const Facts& f) {
  AdviceList advice = {same_again(f)};
  const double minutes = settings_or_usual(f).checkpoint.every_minutes;
  advice.push_back(set("checkpoint.every_minutes", number(minutes > 2 ? minutes / 2 : 1), say("less is lost when a process is killed")));
  if (f.death && f.ending == Ending::failed)
    advice.push_back(launch(LaunchFlag::max_restarts, "3", say("the launcher restarts all ranks, from the newest checkpoint if there is one")));
  else
    advise_job_of_slurm(f, &advice);
  return advice;
}

std::optional<Finding> killed_from_outside(const Facts& f) {
  if (f.ending != Ending::vanished &&
      !died_of(f, {SIGKILL, SIGTERM, SIGINT, SIGQUIT, SIGXCPU, SIGXFSZ, SIGUSR1, SIGUSR2, SIGALRM, SIGPIPE}))
    return std::nullopt;
  Finding found{"killed_from_outside", evidence_of_signal(f), advice_of_killed(f)};
  if (f.ending == Ending::vanished)
    found.evidence.push_back(say("the records end {} ago, no process of the run responds, and none recorded an end", base::format_duration(std::max(f.silent_seconds, 0.0))));
  if (died_of(f, {SIGKILL})) found.evidence.push_back(say("the out-of-memory killer did not act on the run's processes in the preceding half minute, so the signal came from a person, a scheduler or a time limit"));
  return found;
}

}  // namespace

Rules rules_of_signals() {
  return {closed_terminal, illegal_instruction, bus_error, crash, full_disk_without_a_word, killed_from_outside};
}

}  // namespace troika::diagnosis
