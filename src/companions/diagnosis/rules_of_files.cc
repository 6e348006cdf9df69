// Disks, file systems, limits of files, and data without anything to learn from.
#include <fmt/format.h>

#include "base/units.h"
#include "diagnosis/rules.h"
#include "diagnosis/texts.h"

namespace troika::diagnosis {
namespace {

const std::string* first_line_with(const Facts& f, std::initializer_list<std::string_view> words) {
  const std::string* told = first_with(f.told, words);
  return told != nullptr ? told : first_with(f.last_lines, words);
}

std::optional<Finding> disk_full(const Facts& f) {
  const std::string* told =
      first_line_with(f, {"No space left on device", "Disk quota exceeded", "the next checkpoint needs"});
  if (told == nullptr) return std::nullopt;
  Finding found{"disk_full", {quoted(*told)}, roomier_disk(f)};
  for (const auto& [name, host] : f.hosts)
    if (host.disk_free_bytes >= 0)
      found.evidence.push_back(
          say(texts.disk_left_after_save, name, base::format_bytes(static_cast<std::int64_t>(host.disk_free_bytes))));
  if (!f.complete_saves.empty()) found.evidence.push_back(say(texts.last_save, f.complete_saves.back()));
  return found;
}

std::optional<Finding> too_many_open_files(const Facts& f) {
  const std::string* told = first_line_with(f, {"Too many open files"});
  if (told == nullptr) return std::nullopt;
  return Finding{"too_many_open_files",
                 {quoted(*told, "Too many open files")},
                 {command("ulimit -n 65536", say(texts.why_open_files)),
                  command("LimitNOFILE=65536", say(texts.why_open_files_of_unit))}};
}

std::optional<Finding> infiniband(const Facts& f) {
  const std::string* told = first_line_with(f, {"ibv_", "libibverbs", "Infiniband", "InfiniBand"});
  if (told == nullptr) return std::nullopt;
  return Finding{"infiniband",
                 {quoted(*told, "ibv_")},
                 {command("ulimit -l unlimited", say(texts.why_locked_memory)),
                  command("systemctl start opensm", say(texts.why_subnet_manager)),
                  set("comm.backend", "gloo", say(texts.over_tcp))}};
}

std::optional<Finding> file_system_failed(const Facts& f) {
  const std::string* told =
      first_line_with(f, {"Stale file handle", "Input/output error", "Transport endpoint is not connected",
                          "Read-only file system", "Remote I/O error"});
  if (told == nullptr) {
    const std::string* absent = first_with(f.told, {"No such file or directory"});
    if (absent != nullptr && holds(*absent, {"/checkpoints", "metrics.jsonl", "run.lock", "/logs/"})) told = absent;
  }
  if (told == nullptr) return std::nullopt;
  return Finding{"file_system_failed",
                 {quoted(*told)},
                 {other_disk(), {say(texts.mount_hard), say(texts.why_mount_hard)}, same_again(f)}};
}

std::optional<Finding> nothing_to_learn_from(const Facts& f) {
  const std::string* told =
      first_with(f.told, {"has an answer to train on", "no position with a target", "every answer of "});
  if (told == nullptr) return std::nullopt;
  return Finding{"no_training_tokens", {quoted(*told)}, more_tokens_with_loss(f)};
}

}  // namespace

Rules rules_of_files() {
  return {infiniband, disk_full, too_many_open_files, file_system_failed, nothing_to_learn_from};
}

}  // namespace troika::diagnosis
