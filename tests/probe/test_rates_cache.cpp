// What is cached comes back; what is damaged, old or another machine's is told apart; faults leave the file whole.
#include "probe/rates_json.h"

#include "base/atomic_file.h"
#include "support/faulty_file_system.h"
#include "support/memory_file_system.h"

#include <QtTest>

using namespace millrace;
using namespace millrace::test;

namespace {

const Path cache = "/home/user/.cache/millrace/rates.json";
const std::string date = "2026-03-01T12:00:00Z";

WallTime after(int days) {
  return *parseWallTime(date) + std::chrono::hours(24 * days + 1);
}

Rate rate(double perSecond, const std::string& source = "probe") {
  return {perSecond, RateOrigin::Measured, source, date};
}

ProbedDisk disk(const std::string& mount, double read) {
  ProbedDisk probed;
  probed.folder = mount + "/folder";
  probed.mountPoint = mount;
  probed.device = "nvme0n1";
  probed.rates = {rate(read), rate(read / 2, "probe, through the system's cache")};
  return probed;
}

ProbeReport reportOf(const std::string& host, double base = 1e9) {
  ProbeReport report;
  report.machine = {host, "A Processor \"X\"", "cpu", 16, "0.1.0"};
  report.measuredAt = date;
  report.hostFp32 = {rate(base + 1), rate(base + 2), rate(base + 3)};
  report.hostBf16 = {rate(base + 1), rate(base + 4), rate(base + 5)};
  report.device.copyIn = rate(base + 6);
  report.device.copyOut = rate(base + 7);
  report.device.copyBoth = rate(base + 8);
  report.device.gemmFp32 = rate(base + 9.25, "probe, products of side 2048");
  report.device.gemmBf16 = rate(base + 10);
  report.device.memory = rate(base + 11);
  return report;
}

bool sameRates(const ProbeReport& a, const ProbeReport& b) {
  return a.machine == b.machine && a.measuredAt == b.measuredAt && a.hostFp32 == b.hostFp32 &&
         a.hostBf16 == b.hostBf16 && a.device == b.device && a.disks == b.disks;
}

} // namespace

class TestRatesCache : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void init() { m_files = std::make_unique<MemoryFileSystem>(); }

  void comesBack() {
    ProbeReport report = reportOf("here");
    report.disks = {disk("/mnt/a", 5e9)};
    const auto notice = cacheRates(*m_files, cache, report);
    QVERIFY2(notice.has_value(), notice ? "" : notice.error().message.c_str());
    QVERIFY(notice->empty());
    const CachedRates cached = cachedRates(*m_files, cache, report.machine, after(0));
    QVERIFY2(cached.report.has_value(), cached.notice.c_str());
    QVERIFY(sameRates(*cached.report, report));
    QVERIFY(!cached.report->device.gemmTf32.known());
    QCOMPARE(cached.days, 0);
    QVERIFY(!cached.old && cached.notice.empty());
    DiskFacts facts;
    facts.mountPoint = "/mnt/a";
    facts.device = "nvme0n1";
    const DiskRates* rates = cached.report->disk(facts);
    QVERIFY(rates && rates->read.perSecond == 5e9);
    facts.device = "sda";
    QVERIFY(!cached.report->disk(facts));
    QCOMPARE(m_files->list(cache.parent_path())->size(), std::size_t{1});
  }

  void age_data() {
    QTest::addColumn<int>("days");
    QTest::addColumn<bool>("old");
    QTest::newRow("a day") << 1 << false;
    QTest::newRow("thirty days") << 30 << false;
    QTest::newRow("thirty-one days") << 31 << true;
    QTest::newRow("years") << 900 << true;
    QTest::newRow("not yet") << -3 << true;
  }
  void age() {
    QFETCH(int, days);
    QFETCH(bool, old);
    const ProbeReport report = reportOf("here");
    QVERIFY(cacheRates(*m_files, cache, report).has_value());
    const CachedRates cached = cachedRates(*m_files, cache, report.machine, after(days));
    QVERIFY(cached.report.has_value()); // old rates are better than none
    QCOMPARE(cached.old, old);
    QCOMPARE(cached.notice.empty(), !old);
    if (days >= 0) QCOMPARE(cached.days, days);
  }

  void otherMachines_data() {
    QTest::addColumn<int>("what");
    QTest::newRow("host") << 0;
    QTest::newRow("processor") << 1;
    QTest::newRow("device") << 2;
    QTest::newRow("threads") << 3;
    QTest::newRow("version") << 4;
  }
  void otherMachines() {
    QFETCH(int, what);
    ProbeReport other = reportOf("here", 2e9);
    MachineKey& key = other.machine;
    if (what == 3)
      key.threads = 8;
    else
      *std::array{&key.host, &key.processor, &key.device, &key.host, &key.version}[static_cast<std::size_t>(what)] +=
          "2";
    const ProbeReport report = reportOf("here");
    QVERIFY(cacheRates(*m_files, cache, other).has_value());
    const CachedRates none = cachedRates(*m_files, cache, report.machine, after(0));
    QVERIFY(!none.report.has_value());
    QVERIFY(none.notice.find("never measured") != std::string::npos);
    QVERIFY(cacheRates(*m_files, cache, report).has_value());
    QVERIFY(sameRates(*cachedRates(*m_files, cache, key, after(0)).report, other));
    QVERIFY(sameRates(*cachedRates(*m_files, cache, report.machine, after(0)).report, report));
    QVERIFY(cachedMachines(*m_files, cache) == (std::vector<MachineKey>{report.machine, key})); // the newest first
  }

  void whereThereIsNoCacheThereAreNoMachines() {
    QVERIFY(cachedMachines(*m_files, cache).empty());
    QVERIFY(cachedMachines(*m_files, {}).empty());
    QVERIFY(cacheRates(*m_files, cache, reportOf("here")).has_value());
    QCOMPARE(cachedMachines(*m_files, cache).size(), std::size_t{1});
    QVERIFY(writeTextFile(*m_files, cache, "{").has_value());
    QVERIFY(cachedMachines(*m_files, cache).empty());
  }

  void newRatesReplaceOldOnes() {
    ProbeReport first = reportOf("here");
    first.disks = {disk("/mnt/a", 1e9), disk("/mnt/b", 2e9)};
    QVERIFY(cacheRates(*m_files, cache, first).has_value());
    ProbeReport second = reportOf("here", 3e9);
    second.disks = {disk("/mnt/b", 4e9), disk("/mnt/c", 5e9), disk("/mnt/a", 9e9)};
    second.disks[2].problem = "full"; // what was measured before stands
    QVERIFY(cacheRates(*m_files, cache, second).has_value());
    const CachedRates cached = cachedRates(*m_files, cache, second.machine, after(0));
    QVERIFY(cached.report->device == second.device);
    const std::vector<ProbedDisk> expected = {disk("/mnt/b", 4e9), disk("/mnt/c", 5e9), disk("/mnt/a", 1e9)};
    QVERIFY(cached.report->disks == expected);
  }

  /// What could not be measured again stays with its date, and makes the whole as old as it is.
  void whatWasNotMeasuredStays() {
    const ProbeReport first = reportOf("here");
    QVERIFY(cacheRates(*m_files, cache, first).has_value());
    ProbeReport second = reportOf("here", 3e9);
    second.measuredAt = formatWallTime(after(40));
    second.device.copyIn = {};
    second.device.gemmFp32 = {};
    second.hostFp32.memory = second.hostBf16.memory = {};
    for (Rate* rate : {&second.device.copyOut, &second.hostBf16.adamW}) rate->measuredAt = second.measuredAt;
    QVERIFY(cacheRates(*m_files, cache, second).has_value());
    const CachedRates cached = cachedRates(*m_files, cache, first.machine, after(41));
    QVERIFY(cached.report->device.copyIn == first.device.copyIn);
    QVERIFY(cached.report->device.gemmFp32 == first.device.gemmFp32);
    QVERIFY(cached.report->hostBf16.memory == first.hostFp32.memory);
    QVERIFY(cached.report->device.copyOut == second.device.copyOut);
    QVERIFY(cached.report->hostBf16.adamW == second.hostBf16.adamW);
    QVERIFY(cached.old && cached.days == 41);
  }

  /// A file that is no cache is somebody's.
  void otherFilesAreKept() {
    QVERIFY(m_files->createDirectories(cache.parent_path()).has_value());
    QVERIFY(checkRatesCache(*m_files, cache).has_value()); // nothing is there
    const std::string own = "{\"format\": 1, \"model\": {}}";
    QVERIFY(writeTextFile(*m_files, cache, own).has_value());
    const Status refused = checkRatesCache(*m_files, cache);
    QVERIFY(!refused && refused.error().kind == ErrorKind::BadInput);
    const auto notice = cacheRates(*m_files, cache, reportOf("here"));
    QVERIFY(notice && notice->find("rates.json.bad") != std::string::npos);
    QCOMPARE(*readTextFile(*m_files, cache.string() + ".bad"), own);
    QVERIFY(checkRatesCache(*m_files, cache).has_value());
  }

  void theOldestGo() {
    for (int i = 0; i < 70; ++i) QVERIFY(cacheRates(*m_files, cache, reportOf("host" + std::to_string(i))).has_value());
    QVERIFY(cachedRates(*m_files, cache, reportOf("host6").machine, after(0)).report.has_value());
    QVERIFY(!cachedRates(*m_files, cache, reportOf("host5").machine, after(0)).report.has_value());
  }

  void nothingThere() {
    const CachedRates cached = cachedRates(*m_files, cache, reportOf("here").machine);
    QVERIFY(!cached.report.has_value());
    QVERIFY(cached.notice.find("millrace bench machine") != std::string::npos);
  }

  /// Each kind of damage is told, is no error, and is gone after the next measurement.
  void damage_data() {
    QTest::addColumn<QByteArray>("from");
    QTest::addColumn<QByteArray>("to");
    const auto row = [](const char* name, const char* from, const char* to) {
      QTest::newRow(name) << QByteArray(from) << QByteArray(to);
    };
    row("empty", "*", "");
    row("no JSON", "*", "measured: fast");
    row("cut", "cut", "");
    row("a list", "*", "[]");
    row("no format", "\"format\": 1,", "");
    row("another format", "\"format\": 1,", "\"format\": 2,");
    row("no list of machines", "*", R"({"format": 1, "machines": {}})");
    row("unknown key", "\"format\": 1,", "\"format\": 1, \"more\": 1,");
    row("deep", "*", "deep");
    row("no rates", "\"rates\": {", "\"other\": {");
    row("a rate of text", "\"per_second\": 1000000006.0", "\"per_second\": \"fast\"");
    row("a negative rate", "\"per_second\": 1000000006.0", "\"per_second\": -5");
    row("no rate", "\"per_second\": 1000000006.0", "\"per_second\": 0");
    row("an endless rate", "\"per_second\": 1000000006.0", "\"per_second\": 1e300");
    row("a rate without a number", "\"per_second\": 1000000006.0,", "");
    row("no date", "\"measured_at\": \"2026-03-01T12:00:00Z\",\n      \"rates\"", "\"measured_at\": \"\", \"rates\"");
    row("a strange date", "2026-03-01T12:00:00Z", "2026-13-01T12:00:00Z");
    row("disks that are none", "\"disks\": []", "\"disks\": 3");
    row("a disk of nothing", "\"disks\": []", "\"disks\": [3]");
  }
  void damage() {
    QFETCH(QByteArray, from);
    QFETCH(QByteArray, to);
    const ProbeReport report = reportOf("here");
    QVERIFY(cacheRates(*m_files, cache, report).has_value());
    QByteArray text = readTextFile(*m_files, cache)->c_str();
    if (from == "*")
      text = to == "deep" ? QByteArray(100000, '[') : to;
    else if (from == "cut")
      text.truncate(text.size() / 2);
    else
      text.replace(text.indexOf(from), text.indexOf(from) < 0 ? 0 : from.size(), to);
    auto file = m_files->open(cache, OpenMode::Create);
    QVERIFY((*file)->write(std::as_bytes(std::span(text.constData(), static_cast<std::size_t>(text.size()))), 0));

    const bool whole = checkRatesCache(*m_files, cache).has_value();
    const CachedRates cached = cachedRates(*m_files, cache, report.machine, after(0));
    QVERIFY(!cached.report.has_value());
    QVERIFY2(cached.notice.find("damaged") != std::string::npos, cached.notice.c_str());
    const auto notice = cacheRates(*m_files, cache, report);
    QVERIFY(notice.has_value());
    QVERIFY2(notice->find("damaged") != std::string::npos, notice->c_str());
    if (const auto aside = readTextFile(*m_files, cache.string() + ".bad")) // unless one entry alone was damaged
      QCOMPARE(aside->c_str(), text.constData());
    else
      QVERIFY(whole);
    QVERIFY(sameRates(*cachedRates(*m_files, cache, report.machine, after(0)).report, report));
  }

  void unreadableIsDamagedToo() {
    const ProbeReport report = reportOf("here");
    QVERIFY(cacheRates(*m_files, cache, report).has_value());
    FaultyFileSystem files(*m_files);
    files.failAt(0, Fault::Error);
    const CachedRates cached = cachedRates(files, cache, report.machine, after(0));
    QVERIFY(!cached.report.has_value());
    QVERIFY(cached.notice.find("injected") != std::string::npos);
  }

  /// Whatever fails while writing, the cache holds the rates of before or the new ones, and says so.
  void faultsWhileWriting_data() {
    QTest::addColumn<int>("fault");
    QTest::newRow("errors") << static_cast<int>(Fault::Error);
    QTest::newRow("full") << static_cast<int>(Fault::NoSpace);
    QTest::newRow("killed") << static_cast<int>(Fault::Crash);
  }
  void faultsWhileWriting() {
    QFETCH(int, fault);
    const ProbeReport before = reportOf("here"), now = reportOf("here", 2e9), other = reportOf("there");
    int failures = 0;
    for (int at = 0;; ++at) {
      MemoryFileSystem memory;
      QVERIFY(memory.createDirectories(cache.parent_path()).has_value());
      for (Path path = cache.parent_path(); path != "/"; path = path.parent_path())
        QVERIFY(memory.syncDirectory(path.parent_path()).has_value());
      QVERIFY(cacheRates(memory, cache, other).has_value());
      QVERIFY(cacheRates(memory, cache, before).has_value());
      FaultyFileSystem files(memory);
      files.failAt(at, static_cast<Fault>(fault));
      const auto written = cacheRates(files, cache, now);
      const bool happened = files.operations() > at;
      memory.powerLoss(static_cast<Fault>(fault) == Fault::Crash ? Loss::Everything : Loss::Nothing);
      const CachedRates cached = cachedRates(memory, cache, now.machine, after(0));
      QVERIFY2(cached.report.has_value(), cached.notice.c_str());
      const bool isNew = sameRates(*cached.report, now);
      QVERIFY(isNew || sameRates(*cached.report, before));
      if (written) QVERIFY(isNew);
      if (!written) ++failures;
      // A cache that could not be read is not taken for a damaged one.
      QVERIFY(cachedRates(memory, cache, other.machine, after(0)).report.has_value());
      if (!happened) break;
    }
    QVERIFY(failures >= 3);
  }

  void tableAndJson() {
    ProbeReport report = reportOf("here");
    report.disks = {disk("/mnt/a", 5e9)};
    report.notes = {"a note"};
    report.peakMemory = 7 * MiB;
    report.seconds = 12;
    const std::string table = probeTable(report);
    for (const char* words : {"here: A Processor", "cpu, 16 threads", "1 GFLOP/s", "1000 million parameters/s",
                              "/mnt/a/folder (nvme0n1)", "4.66 GiB/s", "12.0 s, at most 7.00 MiB"})
      QVERIFY2(table.find(words) != std::string::npos, (table + words).c_str());
    QVERIFY(table.find("tf32") == std::string::npos);
    report.device.gemmTf32 = rate(272e12);
    report.device.gemmBf16 = {};
    QVERIFY(probeTable(report).find("tf32     272 TFLOP/s") != std::string::npos);
    QVERIFY(probeTable(report).find("bf16     not measured") != std::string::npos);
    const auto json = parseJson(toJson(report), "report");
    QVERIFY(json.has_value());
    QCOMPARE((*json)["rates"]["gemm_tf32"]["per_second"].get<double>(), 272e12);
    QVERIFY(!(*json)["rates"].contains("gemm_bf16"));
    QCOMPARE((*json)["notes"][0].get<std::string>(), std::string("a note"));
    QCOMPARE((*json)["peak_bytes"].get<Bytes>(), 7 * MiB);
    QCOMPARE((*json)["disks"][0]["read"]["per_second"].get<double>(), 5e9);
  }

  void times_data() {
    QTest::addColumn<QString>("text");
    QTest::addColumn<bool>("valid");
    QTest::newRow("a time") << "2026-03-01T12:34:56Z" << true;
    QTest::newRow("a leap day") << "2028-02-29T00:00:00Z" << true;
    for (const char* text :
         {"", "2026", "2026-03-01", "2026-03-01T12:00:00", "2026-03-01T12:00:00Zx", "2026-3-1T12:00:00Z", "yesterday"})
      QTest::newRow(text) << text << false;
  }
  void times() {
    QFETCH(QString, text);
    QFETCH(bool, valid);
    const auto time = parseWallTime(text.toStdString());
    QCOMPARE(time.has_value(), valid);
    if (time) QCOMPARE(formatWallTime(*time), text.toStdString());
  }

  void keyOfAMachine() {
    HardwareProfile profile;
    profile.host = "here";
    profile.cpu.name = "A Processor";
    profile.cpu.usableCores = 6;
    const MachineKey key = machineKey(profile);
    QVERIFY(key == (MachineKey{"here", "A Processor", "cpu", 6, key.version}));
    QVERIFY(!key.version.empty());
    QCOMPARE(machineKey(profile, 3, "NVIDIA H200").threads, 3);
  }

  void placeOfTheCache() {
    qputenv("XDG_CACHE_HOME", "/somewhere/cache");
    QCOMPARE(ratesCacheFile(), Path("/somewhere/cache/millrace/rates.json"));
    qputenv("XDG_CACHE_HOME", "relative"); // which the convention says to ignore
    QTemporaryDir home;
    qputenv("HOME", home.path().toUtf8());
    QCOMPARE(ratesCacheFile(), Path(home.path().toStdString()) / ".cache/millrace/rates.json");
    // A home that is not there is not made, and no place of everybody's stands in for it.
    qputenv("HOME", (home.path() + "/none").toUtf8());
    QVERIFY(ratesCacheFile().empty());
    qunsetenv("HOME");
    QVERIFY(ratesCacheFile().empty());
    const auto notice = cacheRates(*m_files, ratesCacheFile(), reportOf("here"));
    QVERIFY(notice && notice->find("XDG_CACHE_HOME") != std::string::npos);
    QVERIFY(cachedRates(*m_files, ratesCacheFile(), reportOf("here").machine).notice == *notice);
  }

 private:
  std::unique_ptr<MemoryFileSystem> m_files;
};

QTEST_GUILESS_MAIN(TestRatesCache)
#include "test_rates_cache.moc"
