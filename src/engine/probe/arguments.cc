#include "probe/arguments.h"

namespace troika::probe {

config::FlagTable probe_flags(ProbeArguments& a) {
  config::FlagTable table("troika probe");
  table.usage("[--out FILE] [--csv FILE] [--seconds S] [--interface NAME]");
  table.add("out", a.out, "The machine file to write; a table for people is printed then.")
      .shown("FILE")
      .unset("the machine file is printed");
  table.add("csv", a.csv, "Also write what was timed on host 0, kernel by kernel, with what the rates predict.")
      .shown("FILE")
      .unset("none");
  table.add("seconds", a.seconds, "How long the kernels of a host are measured.").unit("seconds").range(0, 600);
  table.add("interface", a.interface, "Network interface to measure.").unset("the one that reaches the master");
  table.paragraph(
      "Each host keeps what was measured of it in ~/.config/troika/machine.yaml, where plans, sweeps and runs there "
      "find it.");
  table.paragraph("A cluster: troika launch --nnodes 3 ... -- probe --out pis.yaml, on every host.");
  table.paragraph("The host should have nothing else to do meanwhile. docs/guides/measuring.md says what is measured.");
  return table;
}

ProbeArguments parse_probe_arguments(const std::vector<std::string>& words) {
  ProbeArguments a;
  const config::FlagTable table = probe_flags(a);
  config::read_flags({&table}, words).finish();
  return a;
}

}  // namespace troika::probe
