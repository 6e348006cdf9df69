// Disks, file systems, limits of files, and data without anything to learn from.
#include <fmt/format.h>

#include "base/units.h"
#include "diagnosis/rules.h"
#include "diagnosis/texts.h"

namespace troika::diagnosis {
namespace {

std::optional<Finding> disk_full(const Facts& f) {
  const Told* told = told_or_logged(f, {base::Cause::disk_full});
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
  const Told* told = told_or_logged(f, {base::Cause::too_many_open_files});
  if (told == nullptr) return std::nullopt;
  return Finding{"too_many_open_files",
                 {quoted(*told)},
                 {command("ulimit -n 65536", say(texts.why_open_files)),
                  command("LimitNOFILE=65536", say(texts.why_open_files_of_unit))}};
}

std::optional<Finding> infiniband(const Facts& f) {
  const Told* told = told_or_logged(f, {base::Cause::infiniband});
  if (told == nullptr) return std::nullopt;
  return Finding{"infiniband",
                 {quoted(*told)},
                 {command("ulimit -l unlimited", say(texts.why_locked_memory)),
                  command("systemctl start opensm", say(texts.why_subnet_manager)),
                  set("comm.backend", "gloo", say(texts.over_tcp))}};
}

std::optional<Finding> file_system_failed(const Facts& f) {
  const Told* told = told_or_logged(f, {base::Cause::file_system_failed});
  if (told == nullptr) return std::nullopt;
  return Finding{"file_system_failed",
                 {quoted(*told)},
                 {other_disk(), {say(texts.mount_hard), say(texts.why_mount_hard)}, same_again(f)}};
}

std::optional<Finding> nothing_to_learn_from(const Facts& f) {
  const Told* told = first_with(f.told, {base::Cause::no_training_tokens});
  if (told == nullptr) return std::nullopt;
  return Finding{"no_training_tokens", {quoted(*told)}, more_tokens_with_loss(f)};
}

}  // namespace

Rules rules_of_files() {
  return {infiniband, disk_full, too_many_open_files, file_system_failed, nothing_to_learn_from};
}

}  // namespace troika::diagnosis
