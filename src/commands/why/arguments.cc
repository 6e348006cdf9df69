#include "commands/why/arguments.h"

namespace troika::commands {

config::FlagTable why_flags(WhyArguments& a) {
  config::FlagTable table("troika why");
  table.usage("RUN_DIR [--json]");
  table.word("RUN_DIR", a.run_dir, "The folder of a run: failed, finished or under way.").required();
  table.add("json", a.json, "One JSON object: cause, evidence, advice.").alone();
  table.paragraph(
      "Reads the folder and nothing else. The cause is a word of docs/formats/causes.md, 'none' for a healthy run;\n"
      "evidence is what the folder shows; advice is flags, or what is to be done outside of Troika. `troika launch`\n"
      "says the same after a failure.");
  return table;
}

WhyArguments parse_why_arguments(const std::vector<std::string>& words) {
  WhyArguments a;
  const config::FlagTable table = why_flags(a);
  config::read_flags({&table}, words).finish();
  return a;
}

}  // namespace troika::commands
