// Changes to a run as flags of ours, with values from the run's own settings.
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "diagnosis/diagnosis.h"
#include "diagnosis/facts.h"

namespace troika::diagnosis {

using AdviceList = std::vector<Advice>;

// "--micro-batch-size 2": as the command line takes the setting `key`. BugError when there is no such setting.
std::string setting_flag(std::string_view key, std::string_view value);

// Flags of `troika launch` that are advised; a test of module commands looks them up in its table.
enum class LaunchFlag { master_port, join_timeout, max_restarts, bind, nnodes, secret_file, nproc_per_node };
constexpr std::array<std::string_view, 7> words_of(LaunchFlag) {
  return {"master-port", "join-timeout", "max-restarts", "bind", "nnodes", "secret-file", "nproc-per-node"};
}

Advice set(std::string_view key, std::string_view value, const Text& reason);  // a setting
Advice launch(LaunchFlag flag, std::string_view value, const Text& reason);
Advice command(std::string_view words, const Text& reason);  // of the system, or a verb of ours

// The settings that a message of ours names with a value that they take: "--zero 3 would fit".
AdviceList flags_named_in(const std::string& text);

// At most three of these, as the settings allow. Settings that are not known are taken to be the defaults.
AdviceList less_memory(const Facts& facts);
AdviceList more_tokens_with_loss(const Facts& facts);
AdviceList gentler_steps(const Facts& facts);  // lower lr, longer warm-up, clipping
Advice lower_rate(const Facts& facts);
Advice longer_warmup(const Facts& facts);
Advice free_port(const Facts& facts);                       // another --master-port than the one that the messages name
Advice ranks_of_one_thread(int ranks, const Text& reason);  // so many on each host
Advice open_ports(const Facts& facts);                      // the one that the messages name, and those of the ranks
Advice other_disk();                                        // another --out
std::vector<Advice> roomier_disk(const Facts& facts);
Advice master_address_as_number();
Advice run_doctor();
Advice same_again(const Facts& facts);  // the same command resumes, or starts over where no checkpoint is

std::string number(double value);  // "0.00015": the shortest that reads well, 3 digits

}  // namespace troika::diagnosis
