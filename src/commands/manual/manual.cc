#include "commands/manual/manual.h"

#include "base/file.h"
#include "commands/manual/arguments.h"
#include "commands/manual/page.h"

namespace troika::commands {
std::string manual_report(const Call& call) {
  const ManualArguments a = parse_manual_arguments(call.words);
  if (a.out.empty()) return manual_page(a.page.empty() ? "troika" : a.page);
  const std::string folder = a.out + "/man1";
  base::make_directories(folder);
  for (const std::string& page : manual_pages()) base::write_file_atomic(folder + "/" + manual_file(page), manual_page(page));
  return "";
}

}  // namespace troika::commands
