// The word that a container of Kubernetes leaves behind: the kubelet shows it as the container's last state.
#pragma once

#include <string>

namespace troika::host {

inline constexpr const char* termination_file = "/dev/termination-log";  // a pod's default terminationMessagePath

// Puts `text` into the file in place of what it holds, where it is there and regular; cut at 4096 bytes, of which the kubelet shows no
// more. Elsewhere nothing is made. Never throws.
void leave_termination_message(const std::string& text, const std::string& path = termination_file);

}  // namespace troika::host
