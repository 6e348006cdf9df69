#include "diagnosis/diagnosis.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>

#include "base/clock.h"
#include "base/error.h"
#include "base/terminal_text.h"
#include "diagnosis/advice.h"
#include "diagnosis/rules.h"

namespace troika::diagnosis {
namespace {

std::optional<Finding> first_of(const std::vector<Rules>& lists, const Facts& facts) {
  for (const Rules& rules : lists)
    for (const Rule rule : rules)
      if (auto found = rule(facts)) return found;
  return std::nullopt;
}

// Status of the first to die and counters; reports; the end of its log, which may hold older lines; the kind of error.
std::optional<Finding> cause_of_failure(const Facts& facts) {
  if (auto found = first_of({rules_of_memory(), rules_of_signals()}, facts)) return found;
  Facts without_log = facts;
  without_log.last_lines.clear();
  const Rules meeting = rules_of_meeting(), files = rules_of_files();
  if (auto found = first_of({meeting, files, rules_of_numbers(), rules_of_stalls()}, without_log)) return found;
  return first_of({meeting, files, rules_of_the_rest()}, facts);
}

// A save that was given up and a rank that is stuck are reported for a run that continues, too.
std::optional<Finding> trouble_of(const Facts& facts) {
  if (facts.stop_signal == 1) return first_of({rules_of_signals()}, facts);
  return first_of({rules_of_files(), rules_of_stalls(), rules_of_learning(), rules_of_hosts(), rules_of_stragglers(),
                   rules_of_threads(), rules_of_speed()},
                  facts);
}

}  // namespace

Diagnosis judge(const Facts& facts) {
  Diagnosis diagnosis;
  const auto found = facts.failed() ? cause_of_failure(facts) : trouble_of(facts);
  if (found) {
    diagnosis.cause = std::string(found->cause);
    diagnosis.evidence = found->evidence;
    diagnosis.advice = found->advice;
  }
  diagnosis.sentence = say(sentence_of(diagnosis.cause));
  return diagnosis;
}

Diagnosis diagnose(const std::string& folder) { return judge(gather(folder, base::wall_seconds())); }

Diagnosis of_silent_disk(const std::string& folder, double seconds) {
  Diagnosis diagnosis;
  diagnosis.cause = "slow_disk";
  diagnosis.sentence = say(sentence_of(diagnosis.cause));
  diagnosis.evidence = {say("reading {} takes more than {} s: its disk does not answer", folder, fmt::format("{:g}", seconds))};
  diagnosis.advice = {other_disk(), set("checkpoint.async", "on", say("checkpoints are written while training continues"))};
  return diagnosis;
}

const std::vector<Cause>& causes() {
  static const std::vector<Cause> rows = {
      {"none", base::Phrase("nothing is wrong with this run")},
      {"host_out_of_memory", base::Phrase("a host ran out of memory")},
      {"device_out_of_memory", base::Phrase("a GPU ran out of memory")},
      {"host_swapping", base::Phrase("a host swaps, and its steps take much longer")},
      {"plan_exceeds_memory",
       base::Phrase("the run needs more memory than available and was not started")},
      {"out_of_memory_while_saving", base::Phrase("memory ran out while a checkpoint was written")},
      {"job_memory_limit", base::Phrase("SLURM ended the job at its memory limit")},
      {"killed_from_outside",
       base::Phrase("the run was killed from outside: by a person, a scheduler or a time limit")},
      {"host_lost",
       base::Phrase("a host, or its launcher, is gone or cannot be reached")},
      {"bus_error", base::Phrase("a mapped file or shared memory could not be read")},
      {"terminal_closed",
       base::Phrase("the terminal or SSH connection that started the run closed")},
      {"wrong_processor", base::Phrase("the program was built for another processor")},
      {"crashed", base::Phrase("the program crashed")},
      {"port_in_use", base::Phrase("another program or launch uses the port")},
      {"wrong_secret", base::Phrase("the launches have different secrets")},
      {"wrong_address", base::Phrase("ranks meet at an address that not all of them can reach")},
      {"firewall", base::Phrase("a firewall refuses connections between the hosts")},
      {"ranks_missing", base::Phrase("some ranks or hosts did not join")},
      {"mtu_black_hole",
       base::Phrase("small messages pass between the hosts, but large ones are lost")},
      {"link_lost", base::Phrase("messages no longer pass between two hosts")},
      {"rank_hangs", base::Phrase("a rank is stalled and the others wait for it")},
      {"slow_disk", base::Phrase("a disk does not keep up with the checkpoints")},
      {"data_preparation", base::Phrase("ranks wait while one prepares the data")},
      {"infiniband", base::Phrase("InfiniBand cannot be used")},
      {"too_many_open_files", base::Phrase("the limit of open files is reached")},
      {"disk_full", base::Phrase("a disk is full")},
      {"file_system_failed", base::Phrase("a file system failed under the run")},
      {"fp16_overflow", base::Phrase("fp16 overflows with any loss scale")},
      {"diverged", base::Phrase("the training diverged")},
      {"no_training_tokens", base::Phrase("no token of the data carries loss")},
      {"no_learning_signal", base::Phrase("the loss does not fall")},
      {"jump_after_resume", base::Phrase("the loss jumped when the run was resumed")},
      {"overfitting", base::Phrase("the model overfits: the validation loss rises")},
      {"communication_bound",
       base::Phrase("the ranks exchange messages for longer than they compute")},
      {"wrong_thread_count", base::Phrase("threads and cores do not match")},
      {"processor_throttled", base::Phrase("a processor throttles itself")},
      {"data_bound", base::Phrase("steps wait for data")},
      {"straggler",
       base::Phrase("one rank is slower than its peers, and the others wait for it")},
      {"pipeline_bubble", base::Phrase("the pipeline is often idle: it has too few microbatches")},
      {"name_unknown", base::Phrase("the name of host 0 cannot be resolved")},
      {"ranks_differ", base::Phrase("the ranks were started differently")},
      {"duplicate_rank", base::Phrase("two processes or hosts have the same number")},
      {"folder_in_use", base::Phrase("another run writes to the folder")},
      {"changed_bits", base::Phrase("memory or a processor corrupted values of the run")},
      {"settings_refused", base::Phrase("a setting or flag was rejected")},
      {"data_refused", base::Phrase("a file is missing, empty or damaged")},
      {"peer_lost", base::Phrase("a rank or the network failed")},
      {"internal_fault", base::Phrase("a bug in Troika")},
  };
  return rows;
}

base::Phrase sentence_of(std::string_view word) {
  const auto found =
      std::find_if(causes().begin(), causes().end(), [&](const Cause& cause) { return cause.word == word; });
  if (found == causes().end()) throw base::BugError(fmt::format("'{}' is no cause", word));
  return found->sentence;
}

std::string describe(const Diagnosis& diagnosis, base::Language language) {
  std::string text =
      fmt::format("{}: {} ({})\n", base::Phrase("cause").in(language), diagnosis.sentence.in(language), diagnosis.cause);
  for (const Text& evidence : diagnosis.evidence) text += fmt::format("  - {}\n", evidence.in(language));
  if (diagnosis.advice.empty()) return text;
  text += fmt::format("{}:\n", base::Phrase("what to change").in(language));
  for (const Advice& advice : diagnosis.advice)
    text += fmt::format("  {}\n      {}\n", advice.flag.in(language), advice.reason.in(language));
  return text;
}

std::string to_json(const Diagnosis& diagnosis, base::Language language) {
  nlohmann::ordered_json object;
  object["cause"] = diagnosis.cause;
  object["evidence"] = nlohmann::ordered_json::array();
  for (const Text& evidence : diagnosis.evidence) object["evidence"].push_back(evidence.in(language));
  object["advice"] = nlohmann::ordered_json::array();
  for (const Advice& advice : diagnosis.advice)
    object["advice"].push_back({{"flag", advice.flag.in(language)}, {"reason", advice.reason.in(language)}});
  return base::printable_json(object.dump(2, ' ', false, nlohmann::json::error_handler_t::replace)) + "\n";
}

}  // namespace troika::diagnosis
