#include "commands/launch/launch_records.h"

#include <gmock/gmock.h>
#include <unistd.h>

#include "base/host_name.h"
#include "base/temporary_folder_test_support.h"
#include "host/process.h"
#include "records/run_reader.h"

namespace troika::commands {
namespace {

TEST(LaunchRecords, SayWhichProcessLaunches) {
  const base::TemporaryFolder folder;
  for (const int node : {1, 0}) {
    LaunchRecords records(folder.path(), node);
    records.attempt_begins(0, "abc", "2 ranks");
    records.flush();
  }
  records::RunReader run(folder.path());
  run.refresh();
  ASSERT_EQ(run.events().size(), 1u);  // host 0's
  const records::Event& event = run.events().front();
  EXPECT_EQ(event.kind, records::EventKind::launch);
  EXPECT_EQ(event.host, base::host_name());
  EXPECT_EQ(event.number("pid"), ::getpid());
  EXPECT_EQ(event.number("process_start"), static_cast<double>(host::process_start(::getpid())));
}

}  // namespace
}  // namespace troika::commands
