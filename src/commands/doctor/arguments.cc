#include "commands/doctor/arguments.h"

namespace troika::commands {

config::FlagTable doctor_flags(DoctorArguments& a) {
  config::FlagTable table("troika doctor");
  table.usage("[CONFIG] [settings of train] [--quick] [--json]");
  table.usage("--hosts A,B,C|FILE ...   every one of these hosts, by ssh");
  table
      .add("hosts", a.hosts,
           "Hosts to look at by ssh: [user@]host[:port] with commas between, or a file with a line for each.")
      .shown("A,B,C|FILE")
      .unset("this host, or those of the launch");
  table.add("quick", a.quick, "Only what takes no time: nothing is measured.").alone();
  table.add("json", a.json, "One JSON array; an object with host, check, status, measured, wanted, advice a line.")
      .alone();
  table.add("wait", a.wait_seconds, "How long a host has for its first word; then it is named and left out.")
      .unit("seconds")
      .range(0.1, 600);
  table.add("nproc", a.nproc, "Ranks that a run will have on each host.").familiar({"nproc-per-node"}).range(1, 4096);
  table.add("master-port", a.master_port, "The port at which ranks will meet on the first host.")
      .range(1, 65535)
      .unset("29500 of several hosts, none of one");
  table.add("program", a.program, "Where troika is on the other hosts.").shown("FILE").unset("as here");
  table.add("member", a.member, "Internal: how a doctor starts one on another host.")
      .any_word()
      .shown("JSON")
      .unset("none");
  table.settings({"train.out", "train.threads", "comm.interface", "checkpoint.keep", "model.preset",
                  "batch.micro_batch_size", "parallel.zero"});
  table.paragraph(
      "Looks at what makes a run fail or slow: clocks, ports, MTU, links, limits, memory, processors, disks, names, "
      "and "
      "what\n"
      "differs between hosts. With CONFIG or settings it compares with what that run needs. It needs no root, changes "
      "nothing,\n"
      "and is done within a minute; a host that does not answer holds nobody up.");
  table.paragraph("Under a launcher: troika launch --nnodes 3 ... -- doctor on every host, or srun, mpirun, torchrun.");
  table.paragraph(
      "Exit codes: 0 well, 2 something would stop the run, 75 a host did not answer. docs/guides/doctor.md");
  return table;
}

DoctorArguments parse_doctor(const std::vector<std::string>& words, const config::Environment& environment) {
  DoctorArguments a;
  a.parsed = config::parse_settings(words, environment, doctor_flags(a));
  return a;
}

}  // namespace troika::commands
