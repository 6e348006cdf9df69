// Disks, file systems, limits of files, and data without anything to learn from.
#include <fmt/format.h>

#include "base/say.h"
#include "base/units.h"
#include "diagnosis/rules.h"

namespace troika::diagnosis {
namespace {

std::optional<Finding> disk_full(const Facts& f) {
  const Told* told = told_or_logged(f, {base::Cause::disk_full});
  if (told == nullptr) return std::nullopt;
  Finding found{"disk_full", {quoted(*told)}, roomier_disk(f)};
  for (const auto& [name, host] : f.hosts)
    if (host.disk_free_bytes >= 0)
      found.evidence.push_back(
          say("the last sample of {} shows {} free where the run's folder is; what a failed save had written is free again", name, base::format_bytes(static_cast<std::int64_t>(host.disk_free_bytes))));
  if (!f.complete_saves.empty()) found.evidence.push_back(say("the last complete checkpoint is that of step {}; it stays", f.complete_saves.back()));
  return found;
}

std::optional<Finding> too_many_open_files(const Facts& f) {
  const Told* told = told_or_logged(f, {base::Cause::too_many_open_files});
  if (told == nullptr) return std::nullopt;
  return Finding{"too_many_open_files",
                 {quoted(*told)},
                 {command("ulimit -n 65536", say("every connection and every data file takes one, in the shell that starts the run")),
                  command("LimitNOFILE=65536", say("the same for a unit of systemd"))}};
}

std::optional<Finding> infiniband(const Facts& f) {
  const Told* told = told_or_logged(f, {base::Cause::infiniband});
  if (told == nullptr) return std::nullopt;
  return Finding{"infiniband",
                 {quoted(*told)},
                 {command("ulimit -l unlimited", say("the card needs memory that cannot be swapped; LimitMEMLOCK=infinity in a unit")),
                  command("systemctl start opensm", say("a port that stays in INIT has no subnet manager")),
                  set("comm.backend", "gloo", say("messages go over TCP meanwhile"))}};
}

std::optional<Finding> file_system_failed(const Facts& f) {
  const Told* told = told_or_logged(f, {base::Cause::file_system_failed});
  if (told == nullptr) return std::nullopt;
  return Finding{"file_system_failed",
                 {quoted(*told)},
                 {other_disk(), {say("mount the shared folder with the option hard"), say("soft gives up when the server restarts, and writes are lost")}, same_again(f)}};
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
