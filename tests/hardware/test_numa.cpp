#include "hardware/numa.h"

#include "engine/hardware.h"
#include "hardware/detect.h"

#include <QtTest>
#include <linux/mempolicy.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

using namespace millrace;

class TestNuma : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void pagesComeFromTheNode();
  void noSuchNode() { QVERIFY(!preferNode(1000)); }
};

/// Each node of this machine: the kernel tells the policy of the pages, and the node of one that was touched.
void TestNuma::pagesComeFromTheNode() {
  const HardwareProfile profile = detectHardware();
  QVERIFY(!profile.cpu.numaNodes.empty());
  for (const NumaNode& node : profile.cpu.numaNodes) {
    const auto prefer = preferNode(node.index);
    QVERIFY(prefer);
    constexpr std::size_t size = 1 << 20;
    void* const data = ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    QVERIFY(data != MAP_FAILED);
    const auto unmap = qScopeGuard([&] { ::munmap(data, size); });
    if (!prefer(data, size)) QSKIP("this system does not let programs choose nodes");
    *static_cast<volatile char*>(data) = 1;
    int mode = -1, of = -1;
    unsigned long nodes[16] = {};
    if (::syscall(SYS_get_mempolicy, &mode, nodes, sizeof nodes * 8, data, MPOL_F_ADDR) != 0)
      QSKIP("this system does not tell of nodes");
    QVERIFY(mode != MPOL_DEFAULT);
    QVERIFY((nodes[node.index / 64] >> (node.index % 64)) & 1);
    QVERIFY(::syscall(SYS_get_mempolicy, &of, nullptr, 0, data, MPOL_F_NODE | MPOL_F_ADDR) == 0);
    QCOMPARE(of, node.index);
  }
}

QTEST_GUILESS_MAIN(TestNuma)
#include "test_numa.moc"
