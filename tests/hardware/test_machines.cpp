// Machine files: the shipped ones, saved ones, ones written by hand, and ones that are wrong.
#include "base/atomic_file.h"
#include "engine/machines.h"
#include "engine/tier_budgets.h"
#include "hardware/machine_library.h"
#include "hardware/profile_json.h"
#include "hardware/rate_text.h"
#include "support/faulty_file_system.h"
#include "support/memory_file_system.h"

#include <QtTest>

using namespace millrace;

namespace {

Result<HardwareProfile> parsed(const std::string& text) {
  const auto json = parseJson(text, "m.json");
  if (!json) return tl::unexpected(json.error());
  return profileFromJson(*json, "m.json");
}

Rate measured(double perSecond) {
  return {perSecond, RateOrigin::Measured, "probe", "2025-01-01T00:00:00Z"};
}

/// Every field has a value that is not its default.
HardwareProfile fullProfile() {
  HardwareProfile profile;
  profile.name = "lab \"7\"";
  profile.source = "measured";
  profile.host = "lab7";
  profile.kernel = "6.1.0";
  profile.wsl = true;
  profile.hostPower = 312.5;
  profile.cpu = {"Imaginary 9000",
                 "x86_64",
                 2,
                 24,
                 48,
                 20,
                 40,
                 19.5,
                 "/sys/fs/cgroup/cpu.max",
                 19,
                 {},
                 {},
                 {true, true, true, true, true, true}};
  profile.cpu.caches = {{1, 48 * KiB, 24}, {3, 33 * MiB, 2}};
  profile.cpu.numaNodes = {{0, 64 * GiB, 12, 24}, {2, 63 * GiB, 11, 22}};
  profile.memory = {128 * GiB, 100 * GiB, 90 * GiB, "/sys/fs/cgroup/memory.max", 80 * GiB, 79 * GiB, 8 * MiB,
                    2 * MiB,   17,        "madvise"};
  profile.disks = {{"/data",
                    "/data",
                    "ext4",
                    "nvme0n1",
                    "Fast 2TB",
                    DiskKind::Nvme,
                    true,
                    2000 * GiB,
                    1500 * GiB,
                    Bytes{1'200'000'000'000'000},
                    {measured(6.1e9), measured(5e9)}},
                   {}};
  GpuFacts gpu;
  gpu.index = 3;
  gpu.pciAddress = "0000:17:00.0";
  gpu.deviceId = "2335";
  gpu.name = "NVIDIA H200";
  gpu.boundDriver = "";
  gpu.uuid = "GPU-1";
  gpu.memoryTotal = 143771 * MiB;
  gpu.memoryFree = 1000 * MiB;
  gpu.processes = {{1, "a", 5 * MiB}, {2, "", std::nullopt}};
  gpu.capability = ComputeCapability{12, 1};
  gpu.link = {1, 8};
  gpu.maximalLink = {5, 16};
  gpu.numaNode = 2;
  gpu.displayAttached = true;
  gpu.powerLimit = 699.5;
  gpu.rates = {measured(1.1), measured(2.2), measured(3.3e9), measured(4), measured(5), measured(6e14), measured(7)};
  gpu.rates.memory.origin = RateOrigin::Assumed;
  gpu.rates.memory.measuredAt = "";
  profile.nvidia = {{gpu, GpuFacts()}, "570.86.15", true};
  profile.cpuRates.gemmFp32 = {1e11 / 3, RateOrigin::Entered, "me", ""};
  profile.hostRates = {measured(8), measured(9), {10, RateOrigin::Unknown, "", ""}};
  profile.unknown = {"this", "and \xC3\xA9"};
  return profile;
}

/// As users write them.
const char* const byHand = R"({
  "format": 1,
  "name": "my box",
  "gpus": [{"name": "RTX 4090", "count": 2, "memory_total": "24GiB", "rates": {"copy_in": "25 GB/s", "gemm_bf16": 1.5e14}}],
  "memory": {"total": "128GiB"},
  "cpu": {"cores": 16},
  "disks": [{"folder": "/nvme", "kind": "nvme", "total": "2TB", "rated_endurance": "1200TB", "rates": {"read": "7GB/s"}}],
  "host_rates": {"adamw": "2.5 Gparam/s"}
})";

constexpr const char* severalLines =
    "{\"format\": 1, \"name\": \"a\\nb\\u001b[2J\", \"source\": \"x\\ty\", \"cpu\": {\"name\": \"c\\rd\"}, "
    "\"memory\": {\"total\": \"8GiB\"}, \"unknown\": [\"e\\nf\"]}";

} // namespace

class TestMachines : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void shippedMachine_data() {
    QTest::addColumn<QString>("name");
    QTest::addColumn<int>("gpus");
    QTest::addColumn<int>("gigabytes"); // of a GPU, as the trade counts
    const auto row = [](const char* name, int gpus, int gigabytes) {
      QTest::newRow(name) << name << gpus << gigabytes;
    };
    row("2x-h100", 2, 80);
    row("2x-h200", 2, 141);
    row("2x-rtx-3090", 2, 24);
    row("2x-rtx-4090", 2, 24);
    row("a100", 1, 80);
    row("gh200", 1, 96);
    row("h100", 1, 80);
    row("h200", 1, 141);
    row("rtx-3090", 1, 24);
    row("rtx-4090", 1, 24);
    row("rtx-5090", 1, 32);
  }
  void shippedMachine() {
    QFETCH(QString, name);
    QFETCH(int, gpus);
    QFETCH(int, gigabytes);
    const auto machine = findMachine(m_files, name.toStdString());
    QVERIFY2(machine.has_value(), machine ? "" : machine.error().message.c_str());
    QVERIFY(!machine->name.empty() && !machine->source.empty());
    QCOMPARE(machine->nvidia.gpus.size(), static_cast<std::size_t>(gpus));
    for (int i = 0; i < gpus; ++i) {
      const GpuFacts& gpu = machine->nvidia.gpus[static_cast<std::size_t>(i)];
      QCOMPARE(gpu.index, i);
      QVERIFY(gpu.memoryTotal > Bytes{gigabytes} * 1'000'000'000 &&
              gpu.memoryTotal < Bytes{gigabytes + 1} * GiB * 11 / 10);
      QVERIFY(gpu.memoryFree < gpu.memoryTotal && gpu.memoryFree > gpu.memoryTotal * 95 / 100);
      QVERIFY(gpu.capability && gpu.powerLimit >= 300);
      visitDeviceRates(gpu.rates, [](const Rate& rate, const char* key, const char*, RateUnit) {
        QVERIFY2(rate.known() && rate.origin == RateOrigin::Assumed && !rate.source.empty(), key);
      });
      QVERIFY(gpu.rates.copyBoth.perSecond <= gpu.rates.copyIn.perSecond + gpu.rates.copyOut.perSecond);
      QVERIFY(gpu.rates.gemmFp32.perSecond < gpu.rates.gemmTf32.perSecond);
      QVERIFY(gpu.rates.gemmTf32.perSecond < gpu.rates.gemmBf16.perSecond);
    }
    const HostRates& host = machine->hostRates; // on split weights AdamW is taken to be as fast as on whole ones
    QVERIFY(host.memory.known() && host.adamW.known() && host.adamWBesideCopies.known());
    // An update moves 28 bytes a parameter, which the host's memory must be able to.
    QVERIFY(machine->hostRates.adamW.perSecond * 28 <= machine->hostRates.memory.perSecond * 1.01);
    QVERIFY(machine->hostRates.adamWBesideCopies.perSecond < machine->hostRates.adamW.perSecond);
    QVERIFY(machine->cpu.usableCores > 1 && machine->hostPower > 0);
    QCOMPARE(machine->disks.size(), std::size_t{1});
    visitDiskRates(machine->disks[0].rates,
                   [](const Rate& rate, const char* key, const char*, RateUnit) { QVERIFY2(rate.known(), key); });
    const TierBudgets budgets = tierBudgets(*machine);
    QVERIFY(budgets.ram.bytes >= 48 * GiB && budgets.disks[0].bytes > 1000 * GiB);
    QVERIFY(budgets.vram[0].bytes > machine->nvidia.gpus[0].memoryTotal * 9 / 10);
  }

  void shippedNames() {
    const auto names = machineNames();
    QVERIFY(std::is_sorted(names.begin(), names.end()));
    std::vector<std::string> files;
    for (const auto& entry : std::filesystem::directory_iterator(Path(MILLRACE_SOURCE_DIR) / "resources/machines"))
      files.push_back(entry.path().stem().string());
    std::sort(files.begin(), files.end());
    QCOMPARE(names, files); // every file is compiled in
    for (const ShippedMachine& machine : shippedMachines()) {
      LocalFileSystem disk;
      const auto text =
          readTextFile(disk, Path(MILLRACE_SOURCE_DIR) / "resources/machines" / (std::string(machine.name) + ".json"));
      QVERIFY(text && *text == machine.text);
    }
  }

  void measuredServer() {
    const auto machine = findMachine(m_files, "h200");
    QVERIFY(machine.has_value());
    const DeviceRates& rates = machine->nvidia.gpus[0].rates;
    QCOMPARE(rates.copyIn.perSecond, 55e9);
    QCOMPARE(rates.copyBoth.perSecond, 97e9);
    QCOMPARE(rates.gemmBf16.perSecond, 790e12);
    QCOMPARE(rates.gemmTf32.perSecond, 272e12);
    QCOMPARE(rates.gemmFp32.perSecond, 53e12);
    QCOMPARE(machine->hostRates.adamW.perSecond, 4.7e9);
    QCOMPARE(machine->hostRates.adamWBesideCopies.perSecond, 3.3e9);
    QCOMPARE(machine->disks[0].rates.read.perSecond, 1.1e9);
    QCOMPARE(machine->disks[0].rates.write.perSecond, 1.6e9);
  }

  void names_data() {
    QTest::addColumn<QString>("asked");
    QTest::addColumn<QString>("name"); // of the machine; empty: refused
    QTest::addColumn<QString>("words");
    QTest::newRow("plain") << "h200"
                           << "H200"
                           << "";
    QTest::newRow("capitals") << "H100"
                              << "H100 80 GB"
                              << "";
    QTest::newRow("in full") << "NVIDIA H100 80GB"
                             << "H100 80 GB"
                             << "";
    QTest::newRow("with a blank") << "rtx 4090"
                                  << "RTX 4090"
                                  << "";
    QTest::newRow("GeForce") << "GeForce RTX 5090"
                             << "RTX 5090"
                             << "";
    QTest::newRow("box") << "2x-H100"
                         << "Two H100 80 GB"
                         << "";
    QTest::newRow("misspelt") << "rtx-4900"
                              << ""
                              << "did you mean rtx-4090?";
    QTest::newRow("unknown") << "cray-1"
                             << ""
                             << "2x-h100, 2x-h200, 2x-rtx-3090, 2x-rtx-4090, a100, gh200, h100, h200, rtx-3090";
    QTest::newRow("empty") << ""
                           << ""
                           << "There are: 2x-h100";
    QTest::newRow("file that is not there") << "/no/such/h200.json"
                                            << ""
                                            << "/no/such/h200.json";
    QTest::newRow("file in this folder") << "h200.json"
                                         << ""
                                         << "h200.json";
  }
  void names() {
    QFETCH(QString, asked);
    QFETCH(QString, name);
    QFETCH(QString, words);
    const auto machine = findMachine(m_files, asked.toStdString());
    QCOMPARE(machine.has_value(), !name.isEmpty());
    if (machine) {
      QCOMPARE(QString::fromStdString(machine->name), name);
    } else {
      QVERIFY2(QString::fromStdString(machine.error().message).contains(words), machine.error().message.c_str());
    }
  }

  void roundTrip_data() {
    QTest::addColumn<HardwareProfile>("profile");
    QTest::newRow("every field") << fullProfile();
    for (const std::string& name : machineNames()) {
      const auto machine = findMachine(m_files, name);
      QVERIFY(machine.has_value());
      QTest::newRow(name.c_str()) << *machine;
    }
  }
  void roundTrip() {
    QFETCH(HardwareProfile, profile);
    const Path path("/saved.json");
    QVERIFY(saveMachine(m_files, path, profile).has_value());
    const auto read = readMachine(m_files, path);
    QVERIFY2(read.has_value(), read ? "" : read.error().message.c_str());
    QCOMPARE(toJson(*read).dump(1), toJson(profile).dump(1));
    profile.hostRates.adamWBesideCopies.source = read->hostRates.adamWBesideCopies.source;
    QVERIFY(*read == profile);
  }

  void thisMachineIsSavedUnderItsHostsName() {
    HardwareProfile profile = fullProfile();
    profile.name.clear();
    QVERIFY(saveMachine(m_files, "/here.json", profile).has_value());
    QCOMPARE(readMachine(m_files, "/here.json")->name, std::string("lab7"));
  }

  void savingReplacesMachinesOnly() {
    QVERIFY(writeTextFile(m_files, "/project.json", "{\"format\": 1, \"model\": {}}").has_value());
    const Status refused = saveMachine(m_files, "/project.json", fullProfile());
    QVERIFY(!refused && refused.error().message.find("/project.json") != std::string::npos);
    QCOMPARE(*readTextFile(m_files, "/project.json"), std::string("{\"format\": 1, \"model\": {}}"));
    QVERIFY(saveMachine(m_files, "/machine.json", fullProfile()).has_value());
    const Status there = saveMachine(m_files, "/machine.json", *findMachine(m_files, "h200"));
    QVERIFY(!there && there.error().message.find("--force") != std::string::npos);
    QVERIFY(saveMachine(m_files, "/machine.json", *findMachine(m_files, "h200"), true).has_value());
    QCOMPARE(readMachine(m_files, "/machine.json")->name, std::string("H200"));
    QVERIFY(!saveMachine(m_files, "/project.json", fullProfile(), true).has_value());
  }

  void textsAreOneLine() {
    const auto machine = parsed(severalLines);
    QVERIFY2(machine.has_value(), machine ? "" : machine.error().message.c_str());
    QCOMPARE(machine->name, std::string("a b [2J"));
    QCOMPARE(machine->source, std::string("x y"));
    QCOMPARE(machine->cpu.name, std::string("c d"));
    QCOMPARE(machine->unknown.front(), std::string("e f"));
  }

  void afterAFailedSaveTheOldFileStands() {
    QVERIFY(saveMachine(m_files, "/machine.json", *findMachine(m_files, "h200")).has_value());
    for (int operation = 0; operation < 40; ++operation) {
      test::FaultyFileSystem faulty(m_files);
      faulty.failAt(operation, test::Fault::NoSpace);
      const bool saved = saveMachine(faulty, "/machine.json", fullProfile(), true).has_value();
      const auto read = readMachine(m_files, "/machine.json");
      QVERIFY2(read.has_value(), read ? "" : read.error().message.c_str());
      if (saved) return;
      QCOMPARE(read->name, std::string("H200"));
    }
    QFAIL("never saved");
  }

  void writtenByHand() {
    const auto machine = parsed(byHand);
    QVERIFY2(machine.has_value(), machine ? "" : machine.error().message.c_str());
    QCOMPARE(machine->nvidia.gpus.size(), std::size_t{2});
    QCOMPARE(machine->nvidia.gpus[1].index, 1);
    QCOMPARE(machine->nvidia.gpus[1].memoryTotal, 24 * GiB);
    QCOMPARE(machine->nvidia.gpus[1].memoryFree, 24 * GiB);
    QVERIFY(machine->nvidia.gpus[0].rates.copyIn == (Rate{25e9, RateOrigin::Entered, "my box", ""}));
    QCOMPARE(machine->nvidia.gpus[0].rates.gemmBf16.perSecond, 1.5e14);
    QVERIFY(!machine->nvidia.gpus[0].rates.copyOut.known());
    QCOMPARE(machine->memory.usable, 128 * GiB);
    QCOMPARE(machine->memory.available, 128 * GiB);
    QVERIFY(!machine->memory.lockLimit);
    QCOMPARE(machine->cpu.usableCores, 16);
    QCOMPARE(machine->disks[0].free, Bytes{2'000'000'000'000});
    QCOMPARE(machine->disks[0].ratedEndurance, Bytes{1'200'000'000'000'000});
    QVERIFY(machine->disks[0].kind == DiskKind::Nvme && !machine->disks[0].network);
    QCOMPARE(machine->hostRates.adamW.perSecond, 2.5e9);
  }

  void leastFiles_data() {
    QTest::addColumn<QString>("text");
    QTest::newRow("a GPU") << R"({"format": 1, "name": "a", "gpus": [{"memory_total": "24GiB"}]})";
    QTest::newRow("memory") << R"({"format": 1, "name": "a", "memory": {"total": 68719476736}})";
    QTest::newRow("nulls")
        << R"({"format": 1, "name": "a", "memory": {"total": 1e10, "lock_limit": null}, "gpus": null})";
    QTest::newRow("as hw --json prints it")
        << R"({"format": 1, "name": "a", "memory": {"total": 1e10}, "budgets": {"ram": {}}, "notices": ["x"]})";
  }
  void leastFiles() {
    QFETCH(QString, text);
    const auto machine = parsed(text.toStdString());
    QVERIFY2(machine.has_value(), machine ? "" : machine.error().message.c_str());
    QCOMPARE(machine->cpu.usableCores, 1);
  }

  void refused_data() {
    QTest::addColumn<QString>("text");
    QTest::addColumn<QString>("words");
    const auto row = [](const char* name, const char* text, const char* words) {
      QTest::newRow(name) << QString(text) << QString(words);
    };
    const auto with = [&](const char* name, const char* rest, const char* words) {
      QTest::newRow(name) << QString(R"({"format": 1, "name": "a", "memory": {"total": "64GiB"}, %1})").arg(rest)
                          << QString(words);
    };
    row("empty", "", "not valid JSON");
    row("a list", "[]", "holds array, expected a machine");
    row("a text", "\"h200\"", "expected a machine");
    row("no format", R"({"name": "a", "memory": {"total": 1}})", "format is missing");
    row("newer format", R"({"format": 2, "name": "a"})", "format is 2, this program reads up to 1");
    row("format 0", R"({"format": 0, "name": "a"})", "format is 0");
    row("no name", R"({"format": 1, "memory": {"total": "64GiB"}})", "name is missing");
    row("name of another type", R"({"format": 1, "name": 7, "memory": {"total": "64GiB"}})", "name is 7");
    row("no memory at all", R"({"format": 1, "name": "a", "cpu": {"cores": 4}})", "gives no memory");
    row("a GPU without memory", R"({"format": 1, "name": "a", "gpus": [{"name": "x"}]})", "gives no memory");
    row("memory as a number", R"({"format": 1, "name": "a", "memory": 64})", "memory is 64, expected an object");
    row("key twice", R"({"format": 1, "name": "a", "name": "b"})", "appears twice");
    row("project", R"({"format": 1, "name": "a", "model": {}, "memory": {"total": 1}})", "model is not a known key");
    with("misspelt key", R"("disk": [])", "disk is not a known key; did you mean disks?");
    with("misspelt deep key", R"("gpus": [{"memory_total": 1}, {"memory_totl": "24GiB"}])",
         "gpus[1].memory_totl is not a known key; did you mean gpus[1].memory_total?");
    with("misspelt rate", R"("host_rates": {"adam": 1})", "host_rates.adam is not a known key");
    with("key in a rate", R"("host_rates": {"adamw": {"per_second": 1, "when": ""}})",
         "host_rates.adamw.when is not a known key");
    with("gpus no list", R"("gpus": {})", "gpus is not a list");
    with("null GPU", R"("gpus": [null])", "gpus");
    with("GPU as a text", R"("gpus": ["rtx-4090"])", "gpus[0] is 'rtx-4090', expected an object");
    with("size of another type", R"("gpus": [{"memory_total": true}])", "gpus[0].memory_total is true");
    with("size without sense", R"("gpus": [{"memory_total": "24 gibs"}])", "gpus[0].memory_total '24 gibs' is not");
    with("negative size", R"("gpus": [{"memory_total": -1}])", "gpus[0].memory_total is -1");
    with("huge size", R"("gpus": [{"memory_total": 9223372036854775807}])", "expected at most 64.00 PiB");
    with("larger than any integer", R"("gpus": [{"memory_total": 99999999999999999999999}])", "memory_total is");
    with("infinite", R"("gpus": [{"memory_total": 1e999}])", "not valid JSON");
    with("more free than there is", R"("gpus": [{"memory_total": "8GiB", "memory_free": "9GiB"}])",
         "gpus[0].memory_free is 9.00 GiB, more than memory_total (8.00 GiB)");
    with("disk with more free", R"("disks": [{"total": "8GiB", "free": "9GiB"}])", "disks[0].free is 9.00 GiB");
    with("kind", R"("disks": [{"kind": "floppy"}])", "disks[0].kind is 'floppy', expected one of: unknown, nvme");
    with("no GPUs", R"("gpus": [{"count": 0}])", "gpus[0].count is 0");
    with("many GPUs", R"("gpus": [{"count": 40}, {"count": 40}])", "gpus[1].count makes more than 64 GPUs");
    with("cores", R"("cpu": {"cores": 1e300})", "cpu.cores is");
    with("half a core", R"("cpu": {"cores": 2.5})", "cpu.cores is 2.5");
    with("capability", R"("gpus": [{"compute_capability": "nine"}])", "gpus[0].compute_capability is no text");
    with("capability as a number", R"("gpus": [{"compute_capability": 9.0}])", "gpus[0].compute_capability is 9");
    with("negative power", R"("host_power": -5)", "host_power is -5");
    with("rate of the wrong unit", R"("host_rates": {"adamw": "5 GB/s"})",
         "'5 GB/s' is not a rate: write for example 4.7");
    with("rate without a second", R"("host_rates": {"memory": "5 GB"})", "write for example 55 GB/s");
    with("negative rate", R"("host_rates": {"memory": -5})", "host_rates.memory is -5");
    with("huge rate", R"("host_rates": {"memory": 1e22})", "host_rates.memory is 1e+22");
    with("rate without a figure", R"("host_rates": {"memory": {"origin": "measured"}})",
         "host_rates.memory.per_second is missing");
    with("rate as a list", R"("host_rates": {"memory": [1]})", "host_rates.memory is array");
    with("origin", R"("origin": "guessed")", "origin is 'guessed', expected one of: entered, assumed");
    with("unknown list", R"("unknown": [1])", "unknown is not a list of texts");
  }
  void refused() {
    QFETCH(QString, text);
    QFETCH(QString, words);
    const auto machine = parsed(text.toStdString());
    QVERIFY(!machine.has_value());
    const QString message = QString::fromStdString(machine.error().message);
    QVERIFY2(machine.error().kind == ErrorKind::BadInput, qPrintable(message));
    QVERIFY2(message.startsWith("m.json: ") && message.contains(words), qPrintable(message));
  }

  void everyTruncationIsRefused() {
    const std::string whole = toJson(fullProfile()).dump(1);
    for (std::size_t size = 0; size < whole.size(); ++size)
      QVERIFY2(!parsed(whole.substr(0, size)), std::to_string(size).c_str());
    QVERIFY(parsed(whole).has_value());
  }

  /// Every value of a full file in turn is made a thing of another type: a refusal or a profile, never anything else.
  void everyValueOfAnotherType() {
    const Json whole = toJson(fullProfile());
    const Json flat = whole.flatten();
    int refusals = 0;
    for (const auto& [pointer, value] : flat.items()) {
      for (const Json& other :
           {Json(true), Json("x"), Json(-1), Json(1e300), Json(Json::array({Json::object()})), Json{{"x", 1}}}) {
        Json changed = whole;
        changed[Json::json_pointer(pointer)] = other;
        const auto machine = profileFromJson(changed, "m.json");
        if (machine) continue;
        ++refusals;
        QVERIFY2(machine.error().kind == ErrorKind::BadInput, pointer.c_str());
      }
    }
    QVERIFY2(refusals > 5 * static_cast<int>(flat.size()) / 2, std::to_string(refusals).c_str());
  }

  void rateTexts_data() {
    QTest::addColumn<QString>("text");
    QTest::addColumn<int>("unit");
    QTest::addColumn<double>("perSecond"); // -1: refused
    const auto row = [](const char* text, RateUnit unit, double value) {
      QTest::addRow("%s (%d)", text, static_cast<int>(unit)) << QString(text) << static_cast<int>(unit) << value;
    };
    row("55 GB/s", RateUnit::Byte, 55e9);
    row("55GiB/s", RateUnit::Byte, 55.0 * static_cast<double>(GiB));
    row("1.75 TB/s", RateUnit::Byte, 1.75e12);
    row("1000/s", RateUnit::Byte, 1000);
    row("/s", RateUnit::Byte, -1);
    row("fast/s", RateUnit::Byte, -1);
    row("790 TFLOP/s", RateUnit::Flop, 790e12);
    row("790tflops", RateUnit::Flop, 790e12);
    row("1.5 PFLOP/s", RateUnit::Flop, 1.5e15);
    row("5 FLOP/s", RateUnit::Flop, 5);
    row("790 T", RateUnit::Flop, -1);
    row("790", RateUnit::Flop, -1);
    row("nan TFLOP/s", RateUnit::Flop, -1);
    row("-5 TFLOP/s", RateUnit::Flop, -1);
    row("1e200 TFLOP/s", RateUnit::Flop, -1);
    row("4.7 Gparam/s", RateUnit::Parameter, 4.7e9);
    row(" 300 Mparams/s ", RateUnit::Parameter, 300e6);
    row("4.7 GB/s", RateUnit::Parameter, -1);
    row("", RateUnit::Parameter, -1);
  }
  void rateTexts() {
    QFETCH(QString, text);
    QFETCH(int, unit);
    QFETCH(double, perSecond);
    const auto rate = parseRate(text.toStdString(), static_cast<RateUnit>(unit));
    QCOMPARE(rate.has_value(), perSecond >= 0);
    if (rate) QCOMPARE(*rate, perSecond);
  }

  void ratesForPeople() {
    QCOMPARE(formatRate(55e9, RateUnit::Byte), std::string("55.0 GB/s"));
    QCOMPARE(formatRate(4.7e9, RateUnit::Parameter), std::string("4.70 Gparam/s"));
    QCOMPARE(formatRate(790e12, RateUnit::Flop), std::string("790.0 TFLOP/s"));
    QCOMPARE(formatRate(999.99e9, RateUnit::Flop), std::string("1.00 TFLOP/s"));
    QCOMPARE(formatRate(12, RateUnit::Byte), std::string("12.0 B/s"));
  }

  void cleanup() { m_files = test::MemoryFileSystem(); }

 private:
  test::MemoryFileSystem m_files;
};

QTEST_GUILESS_MAIN(TestMachines)
#include "test_machines.moc"
