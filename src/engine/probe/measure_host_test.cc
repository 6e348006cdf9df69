#include "probe/measure_host.h"

#include <gmock/gmock.h>

#include "base/error.h"
#include "base/temporary_folder_test_support.h"

namespace troika::probe {
namespace {

TEST(HostFacts, FindTheProcessorsNameOnAPersonalComputerAndOnAPi) {
  EXPECT_EQ(processor_name_in("processor\t: 0\nmodel name\t: AMD EPYC\ncache size\t: 512 KB\n"), "AMD EPYC");
  EXPECT_EQ(processor_name_in("processor\t: 0\nCPU part\t: 0xd08\n\nHardware\t: BCM2835\n"
                              "Model\t\t: Raspberry Pi 4 Model B Rev 1.4\n"),
            "Raspberry Pi 4 Model B Rev 1.4");
  EXPECT_EQ(processor_name_in("processor\t: 0\n"), "processor");
}

TEST(HostFacts, TheDiskIsMeasuredInAFolderThatIsEmptyAfterwards) {
  const base::TemporaryFolder folder;
  EXPECT_GT(disk_bytes_per_second(folder.path()), 0);
  EXPECT_TRUE(base::list_directory(folder.path()).empty());
  EXPECT_THROW(disk_bytes_per_second(folder.path() + "/none"), base::DataError);
}

TEST(HostFacts, AFileInAFolderThatIsNotThereIsRefused) {
  EXPECT_EQ(folder_of_file("pis.yaml"), ".");
  EXPECT_EQ(folder_of_file("/pis.yaml"), "/");
  try {
    folder_of_file("/nowhere/at/all/pis.yaml");
    FAIL();
  } catch (const base::ConfigError& error) {
    EXPECT_THAT(error.what(),
                testing::HasSubstr("there is no folder '/nowhere/at/all' for '/nowhere/at/all/pis.yaml'"));
  }
}

}  // namespace
}  // namespace troika::probe
